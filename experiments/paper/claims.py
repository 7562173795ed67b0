"""What a source prints beside what a script finds: every verdict is computed, and results are written as JSON.

A script of this folder has a function `run(options) -> Results` and ends with `main(__file__, run)`.
"""

import argparse
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from matplotlib.figure import Figure
from tqdm import tqdm

from thresholds import InputError
from thresholds.demo import load_demo
from thresholds.files import LabelledFile, read_labelled

from pictures import save, styled

Item = TypeVar("Item")
RESULTS = Path(__file__).resolve().parents[1] / "results"
AS_PRINTED, DIFFERS, HOLDS, FAILS = "as printed", "differs", "holds", "does not hold"
# Words for which a source gives no number are judged by these; experiments/README.md has the reasons.
STRONGLY = 0.5  # "depends strongly on": by more than half of the range that the measure has
CLOSE = 0.05  # "close to": within a twentieth
VERY_LIKELY = 0.9  # of all cases
BY_CONSTRUCTION, NOT_APPLICABLE = "holds by construction", "not applicable"


@dataclass(frozen=True)
class Claim:
    """One claim of a source and what became of it.

    `erratum` is the title of its entry in docs/errata.md; `of_files` says that it was judged on the score files given;
    `by_construction` says why what was found could not come out otherwise, and is empty for all that was measured.
    """

    source: str
    says: str
    printed: str
    found: str
    verdict: str
    erratum: str | None = None
    of_files: bool = False
    by_construction: str = ""


def printed_number(
    source: str, says: str, printed: str, found: float, *, exact: bool = False, erratum: str | None = None
) -> Claim:
    """Compare a number with what is printed: "as printed" if it rounds to the digits that are there, or is `exact`."""
    digits = Decimal(printed)
    error = 0.0 if exact else 0.5 * 10.0 ** int(digits.as_tuple().exponent) * (1 + 1e-9)
    agrees = abs(found - float(digits)) <= error
    return Claim(source, says, printed, short(found), AS_PRINTED if agrees else DIFFERS, erratum)


def statement(
    source: str,
    says: str,
    found: str,
    *,
    holds: bool,
    only_if: tuple[str, bool] | None = None,
    right: tuple[str, bool] | None = None,
    absent: tuple[str, bool] | None = None,
    by_construction: str = "",
    printed: str = "",
    erratum: str | None = None,
    of_files: bool = False,
) -> Claim:
    """Judge a statement by whether it held wherever it was tried.

    If not: "only if" a named condition, where it did hold; or wrong, if what is named in its place was found right.
    It is not applicable, whatever was found, where what it presumes is `absent`. A statement that holds by definition,
    or that is tested by the formula that it states, holds `by_construction`, for the reason given: nothing was learned.
    """
    if absent is not None and absent[1]:
        verdict = f"{NOT_APPLICABLE}: {absent[0]}"
    elif holds:
        verdict = BY_CONSTRUCTION if by_construction else HOLDS
    elif right is not None and right[1]:
        verdict = f"wrong; right: {right[0]}"
    elif only_if is not None and only_if[1]:
        verdict = f"only if {only_if[0]}"
    else:
        verdict = FAILS
    if by_construction:
        found += f"; could not come out otherwise: {by_construction}"
    return Claim(source, says, printed, without_zeros(found), verdict, erratum, of_files, by_construction)


@dataclass(frozen=True)
class Results:
    """Claims, the numbers behind them (plain values, written as JSON), pictures by file name, tables by title."""

    claims: list[Claim]
    numbers: dict[str, Any] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Options:
    """How a script is run. `quick` asks for the same claims from less work; without files the demo data are used."""

    quick: bool = False
    files: tuple[Path, ...] = ()

    def score_files(self) -> Iterator[LabelledFile]:
        """Read every score matrix of every file, or the data embedded in the package."""
        if not self.files:
            yield load_demo()
        for path in self.files:
            for key in _score_keys(path):
                yield read_labelled(path, key)

    def check(self) -> None:
        """Refuse files that are not there, or that results could not tell apart."""
        names = [path.name for path in self.files]
        for path in self.files:
            if not path.is_file():
                raise InputError(f"{path} is no file, expected scores and truth")
            if names.count(path.name) > 1:
                raise InputError(f"two files are called {path.name}, expected different names")


def _score_keys(path: Path) -> Sequence[str | None]:
    """The score matrices of a file by name: an `.npz` may have several, other files have one."""
    if path.suffix != ".npz":
        return [None]
    with np.load(path) as file:
        names = {name.removesuffix("_data") for name in file.files if name.startswith("y_score")}
    keys = sorted(name for name in names if not name.endswith(("_indices", "_indptr", "_shape")))
    return keys or [None]  # then reading says what is missing


def dense(matrix: Any) -> Any:
    """A matrix of a file as an array."""
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


def progress(items: Iterable[Item], title: str, total: int | None = None) -> Iterable[Item]:
    """Show a bar on a terminal for whatever takes longer than a second."""
    return tqdm(items, title, total, leave=False, delay=1, disable=None)


def without_zeros(text: str) -> str:
    """Numbers below one start at the point, as in the sources."""
    return re.sub(r"(?<![\w.,])0(\.\d)", r"\1", text)


def short(value: float) -> str:
    """Four significant digits, without a leading zero before the point."""
    return without_zeros(f"{value:.4g}")


def plain(value: Any) -> Any:
    """Turn NumPy values into Python's, floats to six significant digits, so that results differ only if they do."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else str(value)
    return value


def perform(script: str | Path, run: Callable[[Options], Results], options: Options, folder: Path) -> Results:
    """Run one experiment and write `NAME.json` and its pictures to the folder."""
    with styled():
        results = run(options)
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in results.figures.items():
            save(figure, folder / name)
    document = {
        "script": Path(script).name,
        "quick": options.quick,
        "files": {path.name: sha256(path.read_bytes()).hexdigest() for path in options.files},
        "pictures": list(results.figures),
        "tables": plain(results.tables),
        "claims": [asdict(claim) for claim in results.claims],
        "numbers": plain(results.numbers),
    }
    (folder / f"{Path(script).stem}.json").write_text(as_json(document), "utf-8")
    return results


def as_json(document: dict[str, Any]) -> str:
    """Write each claim, and each entry of the numbers, on a line of its own."""
    head = [f"{json.dumps(key)}: {_line(document[key])}" for key in ("script", "quick", "files", "pictures", "tables")]
    claims = ",\n  ".join(map(_line, document["claims"]))
    numbers = ",\n  ".join(f"{json.dumps(key)}: {_line(item)}" for key, item in document["numbers"].items())
    body = ",\n ".join([*head, f'"claims": [\n  {claims}\n ]', f'"numbers": {{\n  {numbers}\n }}'])
    return f"{{\n {body}\n}}\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """End with one line for bad input, and quietly for Ctrl-C."""
    try:
        yield
    except (InputError, OSError) as error:
        raise SystemExit(f"error: {error}") from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def main(script: str, run: Callable[[Options], Results]) -> None:
    """Run one script from the command line and print its claims."""
    parser = argparse.ArgumentParser(description=f"{Path(script).name}: see its first lines")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="scores and truth; default: the demo data")
    parser.add_argument("--quick", action="store_true", help="the same claims from less work, checked more loosely")
    parser.add_argument("--output", type=Path, help="folder for results (default: %(default)s)", default=RESULTS)
    given = parser.parse_args()
    options, folder = Options(given.quick, tuple(given.files)), given.output.resolve()
    with one_line_errors():
        options.check()
        results = perform(script, run, options, RESULTS / "quick" if given.quick and folder == RESULTS else folder)
    for claim in results.claims:
        printed = f"printed {claim.printed}; " if claim.printed else ""
        print(f"{claim.source}: {claim.says}\n    {printed}found {claim.found}: {claim.verdict}")
