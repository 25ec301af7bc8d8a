"""The site: pages of guide and results, files of stored runs beside them, and links that all lead somewhere."""

import re
from urllib.parse import urldefrag

import pytest

from site_builder import load_builder

builder = load_builder()


@pytest.fixture(name="docs")
def _docs(tmp_path):
    """A small `docs/` in a repository of its own; every page has one line."""
    docs = tmp_path / "repository" / "docs"
    for sources in builder.GROUPS.values():
        for source in sources:
            write(docs / source, f"# Title of {source}\n\n## A heading, with `code`\n")
    write(tmp_path / "repository" / "setup.txt", "outside")
    write(docs / "results" / "table" / "runs.md", "# Not a page\n")
    write(docs / "results" / "table" / "runs.html", '<img src="runs.svg"> <a href="#top">up</a>')
    for name in ("runs.svg", "runs.csv", "cells.jsonl", "other.md"):
        write(docs / "results" / "table" / name, name)
    return docs


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def add(docs, source, text):
    write(docs / source, (docs / source).read_text("utf-8") + text)


def test_every_link_of_the_built_site_leads_to_a_file_and_heading_of_it(tmp_path):
    """Of the true docs; links are followed here as a browser does."""
    files = builder.build(tmp_path / "site")
    assert [path.name for path in files[: len(builder.GUIDE)]] == [f"{name}.html" for name in builder.GUIDE]
    count = 0
    for path in (tmp_path / "site").rglob("*.html"):
        text = path.read_text("utf-8")
        if path in files:
            assert text.count("<h1>") == 1
            assert ">Guide<" in text
            assert ">Results<" in text
        for link in re.findall(r'(?:src|href)="(?!https:|data:)([^"]*)"', text):
            file, name = urldefrag(link)
            aim = (path.parent / file).resolve() if file else path
            assert aim.is_relative_to(tmp_path / "site"), (path, link)
            assert aim.is_file(), (path, link)
            assert not name or f'id="{name}"' in aim.read_text("utf-8"), (path, link)
            count += 1
    assert count > 100


def test_links_between_pages_and_to_files_are_rewritten_for_where_the_files_are(docs, tmp_path):
    add(
        docs,
        "guide/report.md",
        "[a](../results/README.md#a-heading-with-code) [b](index.md) ![c](../results/table/runs.svg)\n",
    )
    add(
        docs,
        "results/README.md",
        "[d](../guide/index.md) [e](table/runs.md) [f](table/cells.jsonl) [g](table/other.md)\n",
    )
    add(docs, "results/README.md", "[**h**](../../setup.txt) [i](https://example.org/) [j](#a-heading-with-code)\n")
    builder.build(tmp_path / "site", docs)
    report, results = ((tmp_path / "site" / name).read_text("utf-8") for name in ("report.html", "results/index.html"))
    assert '<a href="results/index.html#a-heading-with-code">a</a> <a href="index.html">b</a>' in report
    assert '<img src="results/table/runs.svg" alt="c"' in report
    assert '<a href="../index.html">d</a> <a href="table/runs.html">e</a> <a href="table/cells.jsonl">f</a>' in results
    assert '<a href="table/other.md">g</a>' in results
    assert '<strong>h</strong> <a href="https://example.org/">i</a>' in results
    assert '<a href="index.html#a-heading-with-code">j</a>' in results
    copied = {path.name for path in (tmp_path / "site" / "results" / "table").iterdir()}
    assert copied == {"runs.html", "runs.svg", "runs.csv", "cells.jsonl", "other.md"}


@pytest.mark.parametrize(
    "link",
    ["[a](nowhere.md)", "[a](index.md#nowhere)", "![a](nowhere.svg)", "[a](../../nowhere.txt)", "[a](../results/table)",
     "![a](../../setup.txt)", "[a](#nowhere)"],
)  # fmt: skip
def test_a_link_that_leads_nowhere_is_refused_by_name(docs, tmp_path, link):
    builder.build(tmp_path / "site", docs)
    add(docs, "guide/trust.md", f"{link}\n")
    aim = link.partition("(")[2].rstrip(")")
    with pytest.raises(SystemExit, match=f"guide/trust.md: .*{re.escape(aim)}"):
        builder.build(tmp_path / "site", docs)


def test_a_picture_that_a_stored_page_lacks_is_refused(docs, tmp_path):
    (docs / "results" / "table" / "runs.svg").unlink()
    with pytest.raises(SystemExit, match=r"results/table/runs.html: .*'runs.svg'"):
        builder.build(tmp_path / "site", docs)


def test_the_page_of_claims_is_left_out_until_it_is_made_and_other_pages_are_not(docs, tmp_path):
    with_claims = builder.build(tmp_path / "one", docs)
    (docs / "results" / "claims.md").unlink()
    without = builder.build(tmp_path / "two", docs)
    assert {path.name for path in with_claims} - {path.name for path in without} == {"claims.html"}
    assert "claims" not in without[0].read_text("utf-8")
    (docs / "theory.md").unlink()
    with pytest.raises(FileNotFoundError):
        builder.build(tmp_path / "three", docs)
