"""Tables and sentences as HTML, Markdown and LaTeX: whatever a name has in it, it breaks none of them."""

import re
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from thresholds._results.tables import Table
from thresholds._results.text import Lines, cells_on_one_line, on_one_line

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()<>|~&$@#!])")
_LIGATURES = re.compile(r"([-',])(?=\1)")  # such as a dash for two hyphens
_LATEX = {character: f"\\{character}" for character in "{}$&#%_"} | {
    "\\": r"\textbackslash{}",
    "^": r"\^{}",
    "~": r"\~{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",  # \textquotedbl is unknown in LaTeX's own encoding
    "`": "{}`",
    "[": "{[}",  # at the beginning of a line it would be an option of the end of the line above
    "*": "{*}",  # and this, too
}


class Markup(NamedTuple):
    """How sentences and tables are written."""

    sentence: Callable[[str], str]
    table: Callable[[Table], str]
    between: str  # parts


def html_of(text: str) -> str:
    """Return a sentence as an HTML paragraph, nothing for no text."""
    return f"<p>{escape(text, quote=False)}</p>".replace("\n", "<br>") if text else ""


def html_table(table: Table) -> str:
    """Return an HTML table, its cells escaped, between its title and its note."""

    def row(cells: tuple[str, ...], tag: str) -> str:
        shown = []
        for k, cell in enumerate(cells_on_one_line(cells, table.left)):
            style = ' style="text-align: left"' if k in table.left else ""
            shown.append(f"<{tag}{style}>{escape(cell)}</{tag}>")
        return f"<tr>{''.join(shown)}</tr>"

    head = "".join(row(cells, "th") for cells in table.head)
    body = "".join(row(cells, "td") for cells in table.body)
    cells = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
    return f"{html_of(table.title)}{cells}{html_of(table.note)}"


def markdown_of(text: str) -> str:
    """Return text with what Markdown would obey escaped."""
    return _MARKDOWN.sub(r"\\\1", text)


def markdown_table(table: Table) -> str:
    """Return a table as GitHub and pandoc read it: a head of one line, words escaped."""
    lines = [_in_one(table.head), *table.body]
    head, *body = [[markdown_of(on_one_line(cell)) for cell in cells] for cells in lines]
    sides = [":--" if k in table.left else "--:" for k in range(len(head))]
    rows = (f"| {' | '.join(cells)} |" for cells in (head, sides, *body))
    parts = (markdown_of(table.title), "\n".join(rows), markdown_of(table.note))
    return "\n\n".join(filter(None, parts))


def latex_of(text: str) -> str:
    """Return text with what LaTeX would obey escaped."""
    escaped = "".join(_LATEX.get(character, character) for character in text)
    return _LIGATURES.sub(r"\1{}", escaped)


def latex_table(table: Table) -> str:
    r"""Return a `tabular` that needs no package, its words escaped; title and note stand around it."""

    def line(cells: tuple[str, ...]) -> str:
        return " & ".join(latex_of(on_one_line(cell)) for cell in cells) + r" \\"

    sides = "".join("l" if k in table.left else "r" for k in range(len(table.head[0])))
    rows = [
        rf"\begin{{tabular}}{{{sides}}}",
        *map(line, table.head),
        r"\hline",
        *map(line, table.body),
        r"\end{tabular}",
    ]
    parts = (latex_of(table.title), "\n".join(rows), latex_of(table.note))
    return "\n\n".join(filter(None, parts))


def _in_one(head: Lines) -> tuple[str, ...]:
    """Return a head of several lines as one."""
    columns: Sequence[tuple[str, ...]] = [*zip(*head, strict=True)]
    return tuple(" ".join(filter(None, lines)) for lines in columns)


HTML = Markup(html_of, html_table, "")
MARKDOWN = Markup(markdown_of, markdown_table, "\n\n")
LATEX = Markup(latex_of, latex_table, "\n\n")
