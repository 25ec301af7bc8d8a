"""Pictures as SVG in the page. Colours are classes of the style sheet; text from the data is escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from unmuddle.report.content import Convergence, Estimate, RowMap
from unmuddle.report.grid import Grid
from unmuddle.report.text import clip, percent

STEPS = 6
"""Shades of a heat map."""

SIZE, SMALL, CROWD = 3.6, 2.1, 500
"""Half the width of a mark on the map; where there are more marks than the last, they are small."""

SHAPES = (
    "m-{s} 0a{s} {s} 0 1 0 {d} 0a{s} {s} 0 1 0-{d} 0z",
    "m-{s}-{s}h{d}v{d}h-{d}z",
    "m0-{l}l{l} {d}h-{e}z",
    "m0-{l}l{l} {l}l-{l} {l}l-{l}-{l}z",
    "m0 {l}l{l}-{d}h-{e}z",
    "m-{t}-{s}h{d}l-{s} {d}h-{d}z",
    "m-{l}-{t}h{e}v{s}h-{e}z",
    "m-{t}-{l}h{s}v{e}h-{s}z",
    "m-{t} 0a{t} {t} 0 1 0 {s} 0a{t} {t} 0 1 0-{s} 0z",
)
"""Marks of the classes: disc, square, triangle, diamond, triangle down, slanted, lying, standing bar; else a dot."""


def step(share: float, most: float) -> int:
    """The shade of a share, 0 only for nothing."""
    return 0 if not share > 0 else min(STEPS, max(1, math.ceil(STEPS * share / most)))


def largest_confusion(transition: Sequence[Sequence[float]]) -> float:
    """The largest chance off the diagonal, as the darkest shade; small ones stay light."""
    others = [value for i, row in enumerate(transition) for j, value in enumerate(row) if i != j]
    return max([0.4, *others])


def breakable(name: str) -> Markup:
    """A name that may go on in the next line after an underscore or a stroke."""
    parts = name.replace("/", "/\0").replace("_", "_\0").split("\0")
    return Markup("<wbr>").join(parts)


def rate_picture(rate: Estimate) -> Markup:
    """The estimate and its interval on a line."""
    low, high = (end if math.isfinite(end) else rate.value for end in (rate.low, rate.high))
    most = min(1.0, max(0.4, math.ceil(12 * high) / 10))

    def x(share: float) -> float:
        return 20 + 360 * min(share, most) / most

    ticks = Markup("").join(
        Markup(
            '<line class="tick" x1="{0}" x2="{0}" y1="22" y2="30"/><text x="{0}" y="46" class="small middle">{1}</text>'
        ).format(_n(x(tenth / 10)), percent(tenth / 10))
        for tenth in range(0, round(10 * most) + 1, 1 if most <= 0.6 else 2)
    )
    return Markup(
        '<svg class="rate" viewBox="0 0 400 52" role="img" aria-label="{}">'
        '<line class="tick" x1="20" x2="380" y1="26" y2="26"/>{}'
        '<rect class="band" x="{}" y="19" width="{}" height="14" rx="7"/>'
        '<circle class="point" cx="{}" cy="26" r="6"/></svg>'
    ).format(
        f"Estimated share of wrong labels {percent(rate.value)}, interval {percent(low)} to {percent(high)}",
        ticks,
        _n(x(low)),
        _n(max(x(high) - x(low), 2)),
        _n(x(rate.value)),
    )


def bar(estimate: Estimate, most: float) -> Markup:
    """A bar with the interval as a whisker, as wide as its share of the largest."""

    def x(value: float) -> str:
        return _n(120 * min(max(value, 0.0), most) / most)

    if not math.isfinite(estimate.value):
        return Markup("")
    whisker = Markup("")
    if math.isfinite(estimate.low):
        whisker = Markup('<path class="whisker" d="M{0} 4v6M{0} 7H{1}M{1} 4v6"/>').format(
            x(estimate.low), x(estimate.high)
        )
    return Markup(
        '<svg class="bar" viewBox="-1 0 122 14" aria-hidden="true">'
        '<rect class="fill" y="2" width="{}" height="10" rx="1"/>{}</svg>'
    ).format(x(estimate.value), whisker)


def cells_picture(grid: Grid) -> Markup:
    """Wrong cells: a line for each column of the table, rows of the table from left to right."""
    n_rows, n_columns = grid.shape
    wide, high, left, top = max(3.0, min(24.0, 720 / n_rows)), 14.0 if n_columns <= 30 else 11.0, 170.0, 4.0
    width, height = wide * n_rows, high * n_columns
    most, shades = grid.largest, dict[str, list[str]]()
    for row, (wrong, missing) in enumerate(zip(grid.wrong, grid.missing, strict=True)):
        for column, (share, hole) in enumerate(zip(wrong, missing, strict=True)):
            if share > 0 or hole > 0:
                name = f"h{step(share, most)}" if share > 0 else "hole"
                shades.setdefault(name, []).append(f"M{_n(left + wide * row)} {_n(top + high * column)}")
    size = f"h{_n(wide)}v{_n(high - 1)}h-{_n(wide)}z"
    paths = Markup("").join(
        Markup('<path class="{}" d="{}"/>').format(name, "".join(start + size for start in starts))
        for name, starts in sorted(shades.items())
    )
    names = Markup("").join(
        Markup('<text class="small end" x="{}" y="{}">{}</text>').format(
            _n(left - 8), _n(top + high * place + high / 2 + 3.5), _label(name, grid.columns_each)
        )
        for place, name in enumerate(grid.names)
    )
    rules = Markup("").join(
        Markup('<rect class="rule" x="{}" y="{}" width="{}" height="{}"/>').format(
            _n(left), _n(top + high * place), _n(width), _n(high - 1)
        )
        for place in range(n_columns)
    )
    ticks = Markup("").join(
        Markup('<text class="small middle" x="{}" y="{}">{}</text>').format(
            _n(left + wide * (row / grid.rows_each + 0.5)), _n(top + height + 16), f"{row:,}"
        )
        for row in _ticks(grid.n_rows)
    )
    ticks += Markup('<text class="small end" x="{}" y="{}">row</text>').format(_n(left - 8), _n(top + height + 16))
    return Markup(
        '<svg class="cells" viewBox="0 0 {} {}" role="img" aria-label="Wrong cells by row and column">'
        "<title>Wrong cells: columns of the table from top to bottom, rows from left to right</title>{}{}{}{}</svg>"
    ).format(_n(left + width + 24), _n(top + height + 24), rules, names, paths, ticks)


def _label(name: str, columns_each: int) -> str:
    short = name if len(name) <= 24 else f"{name[:23]}\N{HORIZONTAL ELLIPSIS}"
    return short if columns_each == 1 else f"{short[:18]} + {columns_each - 1}"


def _ticks(n_rows: int) -> Iterable[int]:
    """Five to ten round positions."""
    size = 10 ** math.floor(math.log10(max(n_rows, 10) / 5))
    each = next(size * k for k in (1, 2, 5, 10) if n_rows / (size * k) <= 10)
    return range(0, n_rows, each)


def map_picture(rows: RowMap, after: bool) -> Markup:
    """Rows as marks, coloured by given label before and by suggested label after; flagged ones have a ring."""
    places = [(_place(dot.after if after else dot.before), dot) for dot in rows.dots]
    marks: dict[int, list[str]] = {}
    for place, dot in places:
        marks.setdefault(dot.suggested if after else dot.given, []).append(f"M{place[0]} {place[1]}")
    paths = Markup("").join(
        Markup('<path class="{}" d="{}"/>').format(
            colour(rows, number), "".join(start + shape(rows, number, _size(rows)) for start in starts)
        )
        for number, starts in sorted(marks.items(), reverse=True)
    )
    rings = Markup("").join(
        Markup('<circle class="ring" cx="{}" cy="{}" r="{}"><title>{}</title></circle>').format(
            *place, _n(2 * _size(rows)), dot.issue
        )
        for place, dot in places
        if dot.issue
    )
    title = "after recovery, by suggested label" if after else "as given, by given label"
    return Markup(
        '<svg class="map{3}" viewBox="0 0 400 320" role="img" aria-label="Rows {0}"><title>Rows {0}</title>'
        '<rect class="frame" x=".5" y=".5" width="399" height="319" rx="6"/>{1}{2}</svg>'
    ).format(title, paths, rings, " crowded" if len(rows.dots) > CROWD else "")


def mark_picture(rows: RowMap, number: int) -> Markup:
    """The mark of a class, for the legend."""
    return Markup(
        '<svg class="mark" viewBox="-7 -7 14 14" aria-hidden="true"><path class="{}" d="M0 0{}"/></svg>'
    ).format(colour(rows, number), shape(rows, number))


def colour(rows: RowMap, number: int) -> str:
    """The style of a class on the map."""
    return "k-other" if _is_other(rows, number) else f"k{number}"


def shape(rows: RowMap, number: int, size: float = SIZE) -> str:
    """The outline of a mark, from its centre."""
    sizes = {"s": size, "d": 2 * size, "l": 1.25 * size, "e": 2.5 * size, "t": size / 2}
    outline = SHAPES[-1 if _is_other(rows, number) else number]
    return outline.format(**{name: _n(size) for name, size in sizes.items()})


def _size(rows: RowMap) -> float:
    return SMALL if len(rows.dots) > CROWD else SIZE


def _is_other(rows: RowMap, number: int) -> bool:
    return number >= rows.n_coloured


def _place(point: tuple[float, float]) -> tuple[str, str]:
    across, up = point
    return _n(12 + 376 * across), _n(308 - 296 * up)


def curve_picture(convergence: Convergence) -> Markup:
    """Curves over iterations, by powers of ten."""
    values = [value for _, curve in convergence.curves for value in curve if value > 0 and math.isfinite(value)]
    if not values:
        return Markup("")
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    longest = max(len(curve) for _, curve in convergence.curves)

    def x(place: int) -> str:
        return _n(50 + 540 * place / max(longest - 1, 1))

    def y(value: float, lower: float = 0.0) -> str:
        return _n(12 + 196 * (high - math.log10(value)) / (high - low) + lower)

    lines = Markup("").join(
        Markup(
            '<line class="tick" x1="50" x2="590" y1="{0}" y2="{0}"/><text class="small end" x="44" y="{1}">1e{2}</text>'
        ).format(y(10.0**power), y(10.0**power, 4), power)
        for power in range(low, high + 1)
    )
    curves = Markup("").join(
        Markup('<polyline class="curve c{}" points="{}"><title>{}</title></polyline>').format(
            number,
            " ".join(f"{x(place)},{y(value)}" for place, value in _thinned(curve) if value > 0),
            clip(name),
        )
        for number, (name, curve) in enumerate(convergence.curves)
    )
    ends = Markup(
        '<text class="small" x="50" y="228">1</text><text class="small end" x="590" y="228">{} iterations</text>'
    )
    return Markup('<svg class="curves" viewBox="0 0 600 236" role="img" aria-label="Convergence">{}{}{}</svg>').format(
        lines, curves, ends.format(longest)
    )


def _thinned(curve: Sequence[float]) -> list[tuple[int, float]]:
    """At most some 500 points of a curve, its last among them."""
    each = -(-len(curve) // 500)
    return [(place, curve[place]) for place in dict.fromkeys([*range(0, len(curve), each), len(curve) - 1])]


def _n(value: float) -> str:
    """A coordinate, short."""
    return f"{value:.1f}".removesuffix(".0")
