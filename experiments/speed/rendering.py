"""Tables of ratios as Markdown, and in the docs: each stands between two marks."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from measuring import Ratio, Row

SPEED_TABLE, BEST_CUTS = "speed table", "best cuts"  # what stands between marks
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
    return "\n".join([*lines, "", described(machine)]) + "\n"


def described(machine: dict[str, str]) -> str:
    """Give versions and the processor."""
    words = ", ".join(f"{name} {value}" for name, value in machine.items())
    return textwrap.fill(f"({words}.)", WIDTH, break_on_hyphens=False)


def comparisons(checks: Sequence[Ratio]) -> str:
    """Give the list of compared results."""
    lines = ["| results compared | largest difference | |", "|---|---:|---|"]
    lines += [f"| {check.name} | {check.value:.1g} | {'' if check.holds else '**differs**'} |" for check in checks]
    return "\n".join(lines) + "\n"


def page(rows: Sequence[Row], checks: Sequence[Ratio], machine: dict[str, str]) -> str:
    """Give all of the results."""
    return f"""# Speed, as measured

Made by `python experiments/speed/table.py`, in one run; do not edit. [README.md](README.md) says how.

{between_marks(SPEED_TABLE, table(rows, machine))}

## Results compared

{comparisons(checks)}"""


def marks(part: str) -> tuple[str, str]:
    """Give the lines between which a part of a page stands."""
    return f"<!-- {part} -->\n", f"<!-- end of {part} -->"


def between_marks(part: str, text: str) -> str:
    """Put a text between its marks."""
    start, end = marks(part)
    return start + text + end


def split_at_marks(path: Path, part: str) -> tuple[str, str, str]:
    """Give what comes before, between and after the marks of a page."""
    start, end = marks(part)
    text = path.read_text()
    if text.count(start) != 1 or text.count(end) != 1:
        raise SystemExit(f"{path}: expected one line {start.strip()} and one line {end}")
    before, rest = text.split(start)
    inside, after = rest.split(end)
    return before, inside, after


def fill_page(shown: Path, results: Path, part: str) -> None:
    """Copy a part of the results into a page of the docs."""
    before, _, after = split_at_marks(shown, part)
    shown.write_text(before + between_marks(part, split_at_marks(results, part)[1]) + after)
