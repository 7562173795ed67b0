"""The table of all ratios as Markdown, and in the docs."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from measuring import Ratio, Row

START, END = "<!-- speed table -->", "<!-- end of speed table -->"
WIDTH = 120


def number(value: float) -> str:
    """Give three digits, or all of a whole number."""
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def required(row: Ratio) -> str:
    """Give the bound in words."""
    if row.at_least is None and row.at_most is None:
        return ""
    bound = f"at least {row.at_least:g}" if row.at_least is not None else f"at most {row.at_most:g}"
    return bound if row.holds else f"{bound}: **missed**"


def table(rows: Sequence[Row], machine: dict[str, str]) -> str:
    """Give the table and, below it, the machine."""
    lines = ["| data | ratio | found | required |", "|---|---|---:|---|"]
    lines += [f"| {row.on} | {row.name} | {number(row.value)} | {required(row)} |" for row in rows]
    words = ", ".join(f"{name} {value}" for name, value in machine.items())
    return "\n".join([*lines, "", textwrap.fill(f"({words}.)", WIDTH, break_on_hyphens=False)]) + "\n"


def comparisons(checks: Sequence[Ratio]) -> str:
    """Give the list of compared results."""
    lines = ["| results compared | largest difference | |", "|---|---:|---|"]
    lines += [f"| {check.name} | {check.value:.1g} | {'' if check.holds else '**differs**'} |" for check in checks]
    return "\n".join(lines) + "\n"


def page(rows: Sequence[Row], checks: Sequence[Ratio], machine: dict[str, str]) -> str:
    """Give all of the results."""
    return f"""# Speed, as measured

Made by `python experiments/speed/table.py`, in one run; do not edit. [README.md](README.md) says how.

{START}
{table(rows, machine)}{END}

## Results compared

{comparisons(checks)}"""


def between_marks(text: str, name: str) -> tuple[str, str, str]:
    """Give what comes before, between and after the marks."""
    if text.count(START) != 1 or text.count(END) != 1:
        raise SystemExit(f"{name}: expected one line {START} and one line {END}")
    before, rest = text.split(START)
    inside, after = rest.split(END)
    return before, inside, after


def fill_page(shown: Path, results: Path) -> None:
    """Copy the table of the results into a page of the docs."""
    before, _, after = between_marks(shown.read_text(), str(shown))
    inside = between_marks(results.read_text(), str(results))[1]
    shown.write_text(before + START + inside + END + after)
