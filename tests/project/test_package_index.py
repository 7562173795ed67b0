"""What a package index shows of the project: a description whose links all lead somewhere."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
long_description = runpy.run_path(str(ROOT / "hatch_build.py"))["long_description"]
TARGETS = re.compile(r"\]\(([^)]*)\)")


def test_the_description_is_made_by_the_hook() -> None:
    assert "readme" in PROJECT["project"]["dynamic"]
    assert "custom" in PROJECT["tool"]["hatch"]["metadata"]["hooks"]


def test_no_link_is_relative() -> None:
    links = TARGETS.findall(long_description(README))
    assert links
    assert all(link.startswith("https://") for link in links)


def test_files_that_were_linked_are_named_and_in_the_source_distribution() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    relative = {link.partition("#")[0] for link in TARGETS.findall(README) if not link.startswith("https:")}
    assert "docs/platypus.svg" in relative
    for path in relative:
        assert path in long_description(README)
        assert (ROOT / path).is_file()
        assert any(f"/{path}".startswith(part) for part in included)


def test_an_address_makes_links_absolute() -> None:
    text = long_description(README, "https://example.org/")
    assert "[results](https://example.org/experiments/README.md#what-the-sources-claim-run)" in text
    assert all(link.startswith("https://") for link in TARGETS.findall(text))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("see [docs/files.md](docs/files.md)", "see docs/files.md"),
        ("[the\nlicence](LICENSE)", "the\nlicence (LICENSE)"),
        ("![a curve](docs/curve.svg)", "a curve (docs/curve.svg)"),
        ("[results](a.md#here)", "results (a.md)"),
        ("[paper](https://arxiv.org/abs/1)", "[paper](https://arxiv.org/abs/1)"),
    ],
)
def test_a_link_becomes_words(written: str, shown: str) -> None:
    assert long_description(f"# title\n\n{written}").endswith(f"\n\n{shown}")


def test_the_authors_are_those_of_the_licence() -> None:
    (author,) = PROJECT["project"]["authors"]
    assert author["name"] in (ROOT / "LICENSE").read_text()
