"""Text of results: how wide it is, where it is broken, how a name is shortened, and how columns are aligned.

Text is `WIDTH` columns wide, whatever the terminal, so that it is the same everywhere. Sentences are broken at spaces.
In a table that would be wider sentences are broken within their columns, and names are shortened.
"""

import unicodedata
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, islice, zip_longest

from thresholds._results.words import counted

WIDTH = 100  # columns of text
LONGEST_NAME = 60  # columns of a name

_NARROWEST_NAMES = 12  # columns that a table of many columns leaves to names
_NARROWEST_SENTENCES = 16
_HANG = "  "  # before what follows of a sentence that is broken

Lines = Sequence[tuple[str, ...]]


def aligned(head: Lines, body: Lines, left: Collection[int] = (0,)) -> str:
    """Align cells in columns: those whose numbers are in `left` to the left, the others to the right."""
    head = [cells_on_one_line(cells, left) for cells in head]
    body = [cells_on_one_line(cells, left) for cells in body]
    natural = [max(map(columns_of, column)) for column in zip(*head, *body, strict=True)]
    widths = _fitted(natural, left)

    # The cells of a row may take several lines, the others being empty there.
    def lines(cells: tuple[str, ...]) -> Iterator[str]:
        broken = [
            _cell_lines(cell, widths[k])
            if _has_sentences(k, left)
            else [shortened(cell, widths[k])]
            for k, cell in enumerate(cells)
        ]
        for parts in zip_longest(*broken, fillvalue=""):
            sides = (_aligned(part, widths[k], k in left) for k, part in enumerate(parts))
            yield "  ".join(sides).rstrip()

    rule = "  ".join("-" * width for width in widths)
    return "\n".join([*chain(*map(lines, head)), rule, *chain(*map(lines, body))])


def _has_sentences(column: int, left: Collection[int]) -> bool:
    """Whether the cells of a column are broken where they are long; those of others are shortened."""
    return column in left and column > 0


def cells_on_one_line(cells: tuple[str, ...], left: Collection[int]) -> tuple[str, ...]:
    """Return cells as they are shown where there is room enough."""
    shown = map(on_one_line, cells)
    return tuple(
        cell if _has_sentences(k, left) else shortened(cell) for k, cell in enumerate(shown)
    )


def _fitted(widths: Sequence[int], left: Collection[int]) -> list[int]:
    """Return widths of columns that are no more than `WIDTH` in all, as far as words can be narrowed."""
    fitted = list(widths)
    excess = sum(fitted) + 2 * (len(fitted) - 1) - WIDTH

    # Sentences first, the widest before others; then names.
    of_sentences = [k for k in range(len(fitted)) if _has_sentences(k, left)]
    of_names = [0] if 0 in left else []
    for narrowest, columns in (
        (_NARROWEST_SENTENCES, of_sentences),
        (_NARROWEST_NAMES, of_names),
    ):
        while excess > 0 and columns:
            widest = max(columns, key=fitted.__getitem__)
            if fitted[widest] <= narrowest:
                break
            fitted[widest] -= 1
            excess -= 1
    return fitted


def _aligned(text: str, width: int, to_left: bool) -> str:
    """Fill a cell up to a width."""
    space = " " * (width - columns_of(text))
    return f"{text}{space}" if to_left else f"{space}{text}"


def columns_of(text: str) -> int:
    """Return how many columns of a terminal a text takes: wide characters take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_columns_of_one, text))


def _columns_of_one(character: str) -> int:
    """Return how many columns a character takes."""
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrapped(text: str) -> str:
    """Break lines that are wider than `WIDTH` at spaces; what follows of a line is indented.

    A word that is wider, such as a path, stays whole.
    """
    return "\n".join("\n".join(_lines_of(line)) for line in text.split("\n"))


def unwrapped(text: str) -> str:
    """Return text as it was before `wrapped`, if none of its lines was indented so."""
    return text.replace(f"\n{_HANG}", " ")


def _lines_of(line: str) -> Iterator[str]:
    """Break a line at spaces."""
    while columns_of(line) > WIDTH:
        n_indent = len(line) - len(line.lstrip())
        end = len(_start_of(line, WIDTH))
        at = line.rfind(" ", n_indent, end + 1)
        if at < 0:
            at = line.find(" ", end)
        if at < 0:
            break
        yield line[:at].rstrip()
        line = _HANG + line[at:].lstrip()
    yield line


def _cell_lines(cell: str, width: int) -> Iterator[str]:
    """Break a cell at spaces, and words that are too long anywhere."""
    while columns_of(cell) > width:
        end = len(_start_of(cell, width))
        at = cell.rfind(" ", 0, end + 1)
        if at < 0:
            at = end
        yield cell[:at].rstrip()
        cell = cell[at:].lstrip()
    yield cell


def _start_of(text: str, width: int) -> str:
    """Return as much of a text as `width` columns hold, and no more characters than columns."""
    end = taken = 0
    for character in text:
        taken += max(_columns_of_one(character), 1)
        if taken > width:
            break
        end += 1
    return text[:end]


def shortened(text: str, width: int = LONGEST_NAME) -> str:
    """Return a name as it is, or what it begins and ends with if it takes more than `width` columns."""
    if max(len(text), columns_of(text)) <= width:
        return text
    n_last = (width - 3) // 3
    first = _start_of(text, width - 3 - n_last)
    last = _start_of(text[::-1], n_last)[::-1]
    return f"{first}...{last}"


def on_one_line(cell: str) -> str:
    """Turn white space into spaces, and what a terminal would obey into escapes."""
    text = " ".join(cell.split())
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shown_name(name: object) -> str:
    """Return a name on one line, shortened, as sentences have it; they say so where there is none."""
    return shortened(on_one_line(str(name))) or "(no name)"


def first_names(names: Collection[object], k: int) -> str:
    """List the first k names, and say how many more there are."""
    return and_others([shown_name(name) for name in islice(names, k)], len(names))


def and_others(shown: Sequence[str], n: int) -> str:
    """List those of n things that are shown, and say how many more there are."""
    n_others = n - len(shown)
    return ", ".join(shown) + (f" and {counted(n_others, 'other')}" if n_others else "")
