"""The page of a report, in one file that asks nobody for anything.

What the first screen and the lists say is written into the page here, so that it can be read and printed without a
script. The figures of all labels, their sentences and their curves are packed; the script shows a few at a time.

Nothing leaves the page: its Content-Security-Policy allows no request at all, and of styles and scripts only those
whose hashes it names. Names of labels are text everywhere: the template escapes them, and the script writes no HTML.
"""

import base64
import hashlib
import math
from functools import cache
from importlib.resources import files
from typing import Any

from thresholds._results.text import on_one_line
from thresholds._results.words import in_percent, percent
from thresholds.errors import need
from thresholds.report.content import Content
from thresholds.report.page.columns import curve_columns, label_columns, titles_of
from thresholds.report.page.packing import in_base64, packed

# Bytes of a page: at most `MOST_BYTES`, and for each label above `MANY_LABELS` so many more. Curves are left out where
# they would make it larger; names never are.
MOST_BYTES = 1_000_000
MANY_LABELS = 8_000
BYTES_A_LABEL = 60

_MOST_NAMES = 200  # of labels that only one of two rules has
_NOTHING = "–"  # in place of NaN
_NO_BREAK = "\N{NO-BREAK SPACE}"


def render(content: Content) -> str:
    """Return the page as HTML, with as many curves as its size allows."""
    labels = in_base64(packed(label_columns(content)))
    without_curves = _filled(content, labels, "", len(content.curves))
    most = MOST_BYTES + BYTES_A_LABEL * max(content.labels.size - MANY_LABELS, 0)
    curves, n_curves = _curves_within(content, most - len(without_curves.encode()))
    return _filled(content, labels, curves, n_curves)


def _curves_within(content: Content, n_bytes: int) -> tuple[str, int]:
    """Pack as many curves as so many bytes hold, the most important first, and say how many."""
    n_curves = len(content.curves)
    while n_curves > 0:
        written = in_base64(packed(curve_columns(content.curves, n_curves)))
        if len(written) <= n_bytes:
            return written, n_curves
        # As many as would fit if all were as long, and a hundredth less, as they are not.
        n_curves = int(0.99 * n_curves * max(n_bytes, 0) / len(written))
    return "", 0


def _filled(content: Content, labels: str, curves: str, n_curves: int) -> str:
    """Fill the template."""
    style = _text_of("page.css")
    script = _text_of("page.js")
    text: str = _template().render(
        content=content,
        curves=curves,
        f=f"F{content.beta:g}",
        labels=labels,
        most_names=_MOST_NAMES,
        n_curves=n_curves,
        policy=_policy(style, script),
        script=script,
        style=style,
        titles=titles_of(content),
    )
    return text


@cache
def _template() -> Any:
    """Return the template, compiled."""
    need("jinja2", "a report")
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "count": "{:,.0f}".format,
        "figure": _figure,
        "level": _level,
        "line": _line,
        "of_hundred": _of_hundred,
        "percent": _percent,
        "signed": _signed,
        "threshold": _threshold,
    }
    return environment.from_string(_text_of("page.html.j2"))


def _text_of(name: str) -> str:
    """Return the text of a file of this folder."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Forbid all requests, all code but ours, and to make HTML from text."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data:",  # of the icon, without which a browser asks the server for one
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _hash(text: str) -> str:
    """Return what the policy calls a style or a script by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _line(text: Any) -> str:
    """Return a name, or another text from outside, on one line and without control characters."""
    return on_one_line(str(text))


def _figure(value: Any) -> str:
    """Return a figure from 0 to 1 in three digits."""
    return _NOTHING if value is None or math.isnan(value) else f"{value:.3f}"


def _signed(value: Any) -> str:
    """Return a difference in three digits, with its sign."""
    return _NOTHING if math.isnan(value) else f"{value:+.3f}".replace("-", "−")


def _of_hundred(share: Any) -> str:
    """Return how many of 100; of two that are equally near the larger one, as the script does."""
    return _NOTHING if math.isnan(share) else f"{math.floor(100 * share + 0.5)}"


def _percent(share: Any) -> str:
    """Return a share as sentences have it."""
    return _NOTHING if math.isnan(share) else percent(share).replace(" ", _NO_BREAK)


def _level(confidence: Any) -> str:
    """Return a confidence in per cent."""
    return in_percent(confidence).replace(" ", _NO_BREAK)


def _threshold(value: Any) -> str:
    """Return a threshold in four digits; one that no score reaches never marks a row."""
    if math.isnan(value):
        return _NOTHING
    if math.isinf(value):
        return "never" if value > 0 else "always"
    return f"{value:.4g}"
