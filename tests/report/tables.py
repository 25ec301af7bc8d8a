"""Small tables with known faults, and a parser that knows nothing of our templates."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd

from unmuddle import HybridCleaner
from unmuddle.cleaning import Cleaned

NASTY = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "two\nlines\r\n\tand a tab",
    "=cmd|' /C calc'!A0",
    "\N{GRINNING FACE}\N{ZERO WIDTH JOINER}\N{GRINNING FACE}",
    "\N{HEBREW LETTER SHIN}\N{HEBREW LETTER LAMED} \N{RIGHT-TO-LEFT OVERRIDE}evil",
    "</style></title></textarea><b>bold</b>",
    "{{ 7 * 7 }}{% raw %}",
    "a" * 10_000,
    "\x00\x07 &amp; ]]> <!--",
)

VOID = {"meta", "link", "br", "input", "img", "hr", "wbr"}


@dataclass(frozen=True)
class Case:
    """A table, its cleaner and what came out."""

    X: Any
    y: Any
    cleaner: HybridCleaner
    cleaned: Cleaned


def three_blobs(n: int = 80, d: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three classes far apart, correlated columns, some cells and labels wrong."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    centres = 5.0 * np.stack([np.zeros(d), np.ones(d), np.where(np.arange(d) % 2, 1, -1)])
    X = rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(n, d)) + centres[y]
    X[rng.integers(n, size=12), rng.integers(d, size=12)] += 15.0
    given = y.copy()
    given[[3, 10, 21, 40]] = (given[[3, 10, 21, 40]] + 1) % 3
    return X, given


def plain_case() -> Case:
    X, y = three_blobs(seed=1)
    frame = pd.DataFrame(X.round(3), columns=[f"column {place}" for place in range(X.shape[1])])
    frame.iloc[7, 2] = np.nan
    return _fit(frame, pd.Series(np.array(["cat", "dog", "emu"])[y]))


def nasty_case() -> Case:
    """Names, labels, index and cells are all out to break the page."""
    X, y = three_blobs(n=80, d=len(NASTY))
    frame = pd.DataFrame(X, columns=list(NASTY))
    for place, text in enumerate(NASTY[:4]):
        frame[f"text {place} {text[:20]}"] = np.where(np.arange(len(frame)) % 3 == 0, text, NASTY[-1 - place])
    frame.index = [f"{NASTY[place % len(NASTY)]} {place}" for place in range(len(frame))]
    return _fit(frame, pd.Series(np.array([NASTY[0], NASTY[8], NASTY[5]], dtype=object)[y], index=frame.index))


def _fit(X: pd.DataFrame, y: pd.Series) -> Case:
    cleaner = HybridCleaner(random_state=0)
    return Case(X, y, cleaner, cleaner.fit_clean(X, y))


@dataclass
class Page(HTMLParser):
    """Elements of a page with their attributes; it must be well nested."""

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    tables: dict[str, list[list[str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.table = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.elements.append((tag, named))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.table = named.get("id") or f"table {len(self.tables)}"
            self.tables[self.table] = []
        elif tag == "tr":
            self.tables[self.table].append([])
        elif tag in ("td", "th"):
            self.tables[self.table][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if {"td", "th"} & set(self.open):
            self.tables[self.table][-1][-1] += data


def parse(html: str) -> Page:
    page = Page()
    page.feed(html)
    page.close()
    assert page.open == []
    return page
