"""A fitted cleaner in a notebook: what it found, in a few lines."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup
from sklearn.utils.validation import check_is_fitted

from unmuddle.cleaning import HybridCleaner
from unmuddle.report.text import chance, percent, shown

FIRST = 5
"""Wrong labels that a summary lists."""


def summary_html(cleaner: HybridCleaner) -> str:
    """A fragment of HTML: counts, the estimated noise rate, and the surest wrong labels."""
    check_is_fitted(cleaner, "label_issues_")
    lines, report = cleaner.label_issues_, cleaner.noise_report_
    flagged = lines[lines["flag"].astype(bool)].sort_values("confidence", ascending=False, kind="stable")
    rate = report.loc[report["quantity"] == "noise rate"].iloc[0]
    said = Markup(
        "<p><b>{:,}</b> of {:,} labels and <b>{:,}</b> of {:,} cells look wrong; about {} of all labels are wrong by "
        "estimate ({} to {}).</p>"
    ).format(
        len(flagged), int(lines["given"].notna().sum()), len(cleaner.cell_issues_), cleaner.cell_scores_.size,
        *(percent(float(rate[name])) for name in ("estimate", "low", "high")),
    )  # fmt: skip
    return str(Markup('<div class="unmuddle-summary">{}{}</div>').format(said, _surest(flagged.head(FIRST))))


def _surest(flagged: Any) -> Markup:
    if flagged.empty:
        return Markup("")
    rows = Markup("").join(
        Markup("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>").format(
            shown(line.index, 40), shown(line.given, 40), shown(line.suggested, 40), chance(float(line.confidence))
        )
        for line in flagged.itertuples(index=False)
    )
    return Markup(
        '<table><thead><tr><th scope="col">row</th><th scope="col">given</th><th scope="col">suggested</th>'
        '<th scope="col">confidence</th></tr></thead><tbody>{}</tbody></table>'
    ).format(rows)
