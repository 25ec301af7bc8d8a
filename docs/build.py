"""Build the user guide into a small static site, without network: `python docs/build.py [FOLDER]`."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt

HERE = Path(__file__).parent
PAGES = ("index", "report", "trust", "large", "method")
"""In the order of reading."""

REPOSITORY = "../../"
"""What a link out of the guide begins with; such files are not in the site and become plain text."""


@dataclass(frozen=True)
class Page:
    """A page of the guide."""

    name: str
    title: str
    html: str

    @property
    def file(self) -> str:
        """Its file in the site."""
        return f"{self.name}.html"


def read(name: str) -> Page:
    """A page from its Markdown; the first heading is its title."""
    source = (HERE / "guide" / f"{name}.md").read_text(encoding="utf-8")
    title = re.match(r"# (.+)\n", source)
    if title is None:
        raise SystemExit(f"{name}.md must begin with a heading: put a line '# Title' at its top.")
    html = MarkdownIt("commonmark").enable("table").render(source)
    html = re.sub(rf'<a href="{re.escape(REPOSITORY)}[^"]*">(.*?)</a>', r"\1", html)
    html = re.sub(r"<h2>(.*?)</h2>", lambda found: f'<h2 id="{anchor(found[1])}">{found[1]}</h2>', html)
    return Page(name, title[1], re.sub(r'href="(\w+)\.md', r'href="\1.html', html))


def anchor(heading: str) -> str:
    """The name of a heading in links, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", re.sub(r"<[^>]*>", "", heading).lower()).replace(" ", "-")


def check(pages: list[Page]) -> None:
    """Every link must lead somewhere."""
    places = {f"{page.file}#{name}" for page in pages for name in ["", *re.findall(r'id="([^"]*)"', page.html)]}
    for page in pages:
        for link in re.findall(r'href="([^"]*)"', page.html):
            file, _, name = link.partition("#")
            if not link.startswith("https://") and f"{file or page.file}#{name}" not in places:
                raise SystemExit(f"{page.name}.md: a link must lead to a page and heading; {link!r} does not. Mend it.")


def build(folder: Path) -> list[Path]:
    """Write the site; returns its files."""
    pages = [read(name) for name in PAGES]
    check(pages)
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
    template = environment.get_template("page.html")
    folder.mkdir(parents=True, exist_ok=True)
    for place, page in enumerate(pages):
        following = pages[place + 1] if place + 1 < len(pages) else None
        made = template.render(page=page, pages=pages, following=following)
        (folder / page.file).write_text(made, encoding="utf-8")
    return [folder / page.file for page in pages]


if __name__ == "__main__":
    files = build(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "build" / "guide")
    print(f"Written: {files[0]} and {len(files) - 1} more pages")
