"""The table of claims in experiments/README.md, from the results; nothing in it is typed.

`python experiments/paper/table.py` writes it anew without running anything.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from claims import AS_PRINTED, HOLDS, NOT_APPLICABLE, RESULTS, short

HERE = Path(__file__).resolve().parent
README = HERE.parent / "README.md"
START, END = "<!-- claims: written by paper/table.py -->", "<!-- end of claims -->"


def cell(text: str) -> str:
    """Text that does not end a cell."""
    return text.replace("|", "\\|")


def section(name: str) -> str:
    """Heading, pictures and claims of one script."""
    found = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    about = (ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text("utf-8"))) or "").splitlines()[0]
    pictures = "".join(f"![{about}](results/{picture})\n\n" for picture in found["pictures"])
    lines = [f"### {about.rstrip('.')}\n", f"[{name}.py](paper/{name}.py){on_files(found)}\n"]
    lines.append(f"{pictures}| source | claim | printed | reproduced | verdict |\n|---|---|---|---|---|")
    lines += [row(claim) for claim in found["claims"]]
    return "\n".join([*lines, *(listing(title, rows) for title, rows in found["tables"].items())])


def listing(title: str, rows: list[dict[str, Any]]) -> str:
    """A table of a script's own."""
    shown = [[cell(short(x) if isinstance(x, float) else str(x)) for x in row.values()] for row in rows]
    head = [f"\n{title}:\n", f"| {' | '.join(rows[0])} |", "|---" * len(rows[0]) + "|"]
    return "\n".join([*head, *(f"| {' | '.join(cells)} |" for cells in shown)])


def on_files(found: dict[str, Any]) -> str:
    """Name the score files of a run, or say how many there are."""
    files = found["files"]
    if not files:
        return ", on the demo data" if any(claim["of_files"] for claim in found["claims"]) else ""
    return f", on {', '.join(files) if len(files) < 4 else f'{len(files)} score files'}"


def row(claim: dict[str, Any]) -> str:
    """One line; the verdict on a misprint leads to its entry."""
    cells = [cell(claim[key]) for key in ("source", "says", "printed", "found", "verdict")]
    if claim["erratum"] and claim["verdict"] not in (AS_PRINTED, HOLDS):
        cells[-1] = f"[{cells[-1]}](../docs/errata.md#{anchor(claim['erratum'])})"
    return f"| {' | '.join(cells)} |"


def anchor(title: str) -> str:
    """The address of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def tally(names: Sequence[str]) -> str:
    """How often each verdict was reached on what the sources claim; what could not come out otherwise counts apart."""
    claims = [c for name in names for c in json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["claims"]]
    ours, of_sources = ([c for c in claims if c["source"].startswith("Library") == mine] for mine in (True, False))
    unfit = [c for c in of_sources if kind(c["verdict"]) == NOT_APPLICABLE]
    fixed = [c for c in of_sources if c["by_construction"] and c not in unfit]
    measured = [c for c in of_sources if c not in fixed and c not in unfit]
    return (
        f"{len(of_sources)} claims of the sources. Judged by what could have come out otherwise, {len(measured)}:"
        f" {listed(measured)}. Fixed by construction, {len(fixed)}: {listed(fixed)}. Not applicable to the data,"
        f" {len(unfit)}. Beside them {len(ours)} of the library: {listed(ours)}."
    )


def listed(claims: list[dict[str, Any]]) -> str:
    """How many claims have each kind of verdict, the commonest first."""
    return ", ".join(f"{count} {name}" for name, count in Counter(kind(c["verdict"]) for c in claims).most_common())


def kind(verdict: str) -> str:
    """What is counted together."""
    if verdict.startswith("only if"):
        return "only under a condition"
    if verdict.startswith(NOT_APPLICABLE):
        return NOT_APPLICABLE
    return "wrong, with what is right" if verdict.startswith("wrong") else verdict


def table(names: Sequence[str]) -> str:
    """All sections, with what was found in total on top."""
    return "\n\n".join([tally(names), *map(section, names)])


def write_table(names: Sequence[str]) -> str:
    """Replace what stands between the marks in the README, and say where."""
    text = README.read_text("utf-8")
    before, rest = text.split(START)
    after = rest.split(END)[1]
    README.write_text(f"{before}{START}\n\n{table(names)}\n\n{END}{after}", "utf-8")
    return f"results are in {RESULTS}, the table in {README}"


if __name__ == "__main__":
    from run_all import SCRIPTS

    print(write_table(SCRIPTS))
