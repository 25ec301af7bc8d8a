"""Build guide and results into a small static site, without network: `python docs/build.py [FOLDER]`.

Pages are Markdown. What they link to under `docs/` is copied, with all tables and figures of stored runs; a link out of
`docs/` becomes plain text, and one that leads nowhere is an error.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt

HERE = Path(__file__).parent
GUIDE = ("index", "report", "trust", "large", "method")
RESULTS = ("results/claims.md", "results/README.md", "theory.md", "solver.md", "baselines.md")
GROUPS = {"Guide": tuple(f"guide/{name}.md" for name in GUIDE), "Results": RESULTS}
"""Pages in the order of reading."""

OPTIONAL = ("results/claims.md",)
"""Made by a command, and left out where it was not run."""

STORED = (".html", ".png", ".svg", ".csv")
"""What of `docs/results` is copied whether or not a page links to it."""

LINK = re.compile(r'(?<=[\s"])(href|src)="([^"]*)"')
ELSEWHERE = re.compile(r"https:|data:")


@dataclass(frozen=True)
class Page:
    """A page of the site, from a file under `docs/`."""

    source: str
    group: str
    title: str
    html: str

    @property
    def file(self) -> str:
        """Its file in the site."""
        name = self.source.removeprefix("guide/").replace("README.md", "index.md")
        return name.removesuffix(".md") + ".html"

    @property
    def anchors(self) -> list[str]:
        """Names of its headings."""
        return re.findall(r'<h[23] id="([^"]*)"', self.html)

    def to(self, file: str) -> str:
        """A link to another file of the site."""
        return posixpath.relpath(file, posixpath.dirname(self.file))


def read(docs: Path, source: str, group: str) -> Page:
    """A page from its Markdown; the first heading is its title."""
    text = (docs / source).read_text(encoding="utf-8")
    title = re.match(r"# (.+)\n", text)
    if title is None:
        raise SystemExit(f"{source} must begin with a heading: put a line '# Title' at its top.")
    html = MarkdownIt("commonmark").enable("table").render(text)
    html = re.sub(
        r"<(h[23])>(.*?)</\1>", lambda found: f'<{found[1]} id="{anchor(found[2])}">{found[2]}</{found[1]}>', html
    )
    return Page(source, group, title[1], html)


def anchor(heading: str) -> str:
    """The name of a heading in links, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", re.sub(r"<[^>]*>", "", heading).lower()).replace(" ", "-")


def refuse(source: str, link: str) -> SystemExit:
    """The error of a link that leads nowhere."""
    return SystemExit(f"{source}: a link must lead to a page and heading or to a file; {link!r} does not. Mend it.")


class Site:
    """Pages with their links resolved, and the files that are copied beside them."""

    def __init__(self, docs: Path) -> None:
        self._docs = docs.resolve()
        found = [(group, source) for group, sources in GROUPS.items() for source in sources]
        there = [pair for pair in found if pair[1] not in OPTIONAL or (docs / pair[1]).exists()]
        self._read = {source: read(docs, source, group) for group, source in there}
        self.copied = {path.relative_to(docs).as_posix() for path in docs.glob("results/**/*") if path.suffix in STORED}
        self.pages = [self._resolve_links(page) for page in self._read.values()]
        for file in sorted(self.copied):
            self._check_copy(file)

    def _resolve_links(self, page: Page) -> Page:
        html = re.sub(
            r'<a href="([^"]*)">(.*?)</a>', lambda found: self._keep_or_drop(page, *found.groups()), page.html
        )
        return replace(page, html=LINK.sub(lambda found: f'{found[1]}="{self._resolve(page, found[2])}"', html))

    def _keep_or_drop(self, page: Page, link: str, words: str) -> str:
        """A link as it is, or only its words if it leads to a file outside `docs/`."""
        outside = not ELSEWHERE.match(link) and self._locate(page.source, link) is None
        return words if outside else f'<a href="{link}">{words}</a>'

    def _locate(self, source: str, link: str) -> str | None:
        """The file that is meant, seen from `docs/`; None if it is outside."""
        file = link.partition("#")[0]
        path = Path(os.path.normpath(self._docs / Path(source).parent / file)) if file else self._docs / source
        if not path.exists():
            raise refuse(source, link)
        return path.relative_to(self._docs).as_posix() if path.is_relative_to(self._docs) else None

    def _resolve(self, page: Page, link: str) -> str:
        if ELSEWHERE.match(link):
            return link
        found, name = self._locate(page.source, link), link.partition("#")[2]
        if found is None:
            raise refuse(page.source, link)
        if found in self._read:
            if name and name not in self._read[found].anchors:
                raise refuse(page.source, link)
            return page.to(self._read[found].file) + (f"#{name}" if name else "")
        return page.to(self._copy(page, found, link))

    def _copy(self, page: Page, found: str, link: str) -> str:
        """A file that is copied; a stored run's page in HTML if it has one."""
        made = found.removesuffix(".md") + ".html"
        found = made if found.endswith(".md") and (self._docs / made).exists() else found
        if not (self._docs / found).is_file():
            raise refuse(page.source, link)
        self.copied.add(found)
        return found

    def _check_copy(self, file: str) -> None:
        """Links of pages that stored runs made lead to files that are copied too."""
        if not file.endswith(".html"):
            return
        for _, link in LINK.findall((self._docs / file).read_text(encoding="utf-8")):
            aim = posixpath.normpath(posixpath.join(posixpath.dirname(file), link.partition("#")[0]))
            if link and not link.startswith("#") and not ELSEWHERE.match(link) and aim not in self.copied:
                raise refuse(file, link)

    def write(self, folder: Path) -> list[Path]:
        """All files; returns the pages."""
        environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
        template = environment.get_template("page.html")
        for file in sorted(self.copied):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self._docs / file, folder / file)
        groups = {name: [page for page in self.pages if page.group == name] for name in GROUPS}
        for page, following in zip(self.pages, [*self.pages[1:], None], strict=True):
            path = folder / page.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(template.render(page=page, groups=groups, following=following), encoding="utf-8")
        return [folder / page.file for page in self.pages]


def build(folder: Path, docs: Path = HERE) -> list[Path]:
    """Write the site; returns its pages."""
    return Site(docs).write(folder)


if __name__ == "__main__":
    files = build(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "build" / "site")
    print(f"Written: {files[0]} and {len(files) - 1} more pages")
