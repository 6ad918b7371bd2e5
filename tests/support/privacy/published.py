"""Everything that a release publishes."""

import dphist as dh
from dphist.report import report_html, summary_text, table_csv


def everything_published(release: dh.Release) -> str:
    parts = [release.to_json(), repr(release), summary_text(release), table_csv(release)]
    return "\n".join([*parts, report_html(release)])
