"""Plots, the HTML report and the terminal's summary, from Release objects only."""

from dphist.report.html import report_html, write_report
from dphist.report.plots import plot
from dphist.report.summary import summary_text

__all__ = ["plot", "report_html", "summary_text", "write_report"]
