"""Tables of text cells, as aligned lines and as HTML."""

from collections.abc import Collection, Sequence
from html import escape

Lines = Sequence[tuple[str, ...]]


def as_text(head: Lines, body: Lines, left: Collection[int] = (0,)) -> str:
    """Align cells in columns: those whose numbers are in `left` to the left, the others to the right."""
    head, body = ([tuple(" ".join(cell.split()) for cell in cells) for cells in lines] for lines in (head, body))
    widths = [max(len(cell) for cell in column) for column in zip(*head, *body, strict=True)]

    def line(cells: tuple[str, ...]) -> str:
        sides = (f"{cell:{'<' if k in left else '>'}{widths[k]}}" for k, cell in enumerate(cells))
        return "  ".join(sides).rstrip()

    return "\n".join([*map(line, head), "  ".join("-" * width for width in widths), *map(line, body)])


def as_html(head: Lines, body: Lines) -> str:
    """Give an HTML table; cells are escaped."""
    rows = [_row(cells, tag) for lines, tag in ((head, "th"), (body, "td")) for cells in lines]
    return f"<table><thead>{''.join(rows[: len(head)])}</thead><tbody>{''.join(rows[len(head) :])}</tbody></table>"


def _row(cells: tuple[str, ...], tag: str) -> str:
    """Give one row."""
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
