"""What was found, to read and to send: one HTML file, and pictures for notebooks."""

from unmuddle.report.content import Report
from unmuddle.report.displays import CellIssuesDisplay, ConvergenceDisplay, LabelIssuesDisplay
from unmuddle.report.notebook import summary_html
from unmuddle.report.page import render, write_report

__all__ = [
    "CellIssuesDisplay",
    "ConvergenceDisplay",
    "LabelIssuesDisplay",
    "Report",
    "render",
    "summary_html",
    "write_report",
]
