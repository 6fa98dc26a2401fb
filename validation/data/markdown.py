"""A validation of data as Markdown, for the KFP page."""

from driveflow.pages.markdown import plain
from validation.data.page import in_order
from validation.data.report import DataReport

_MARK = {"PASS": "✅", "BLOCK": "⛔", "NEEDS REVIEW": "⚠️", "NOT JUDGED": "▫️"}


def data_markdown(report: DataReport, title: str = "Data") -> str:
    """Return the verdict, its reason and every check."""
    counted = ", ".join(f"{count:,} {name}" for name, count in report.counts.items())
    against = f", against `{report.against_id[:16]}`" if report.against_id else ""
    rows = [
        f"| {plain(check.name)} | {_MARK[check.outcome]} {check.outcome} | {_number(check.value)} | "
        f"{_number(check.review)} | {_number(check.block)} | {check.found:,} of {check.n:,} | "
        f"{plain(check.reason, longest=400)} |"
        for check in in_order(report.checks)
    ]
    lines = [
        f"# {_MARK[report.verdict]} {report.verdict}: data of {plain(title)}",
        "",
        plain(report.reason, longest=2_000),
        "",
        f"Snapshot `{report.snapshot_id[:16]}`: {counted}{against}.",
        "",
        "| check | outcome | value | review over | block over | found | why |",
        "|" + " --- |" * 7,
        *rows,
    ]
    return "\n".join(lines) + "\n"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
