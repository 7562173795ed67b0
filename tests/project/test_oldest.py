"""The versions that `make test-oldest` installs are the oldest that pyproject.toml states."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINNED = {
    name: Version(version)
    for name, version in re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "tests" / "oldest.txt").read_text(), re.MULTILINE)
}


OF_ITS_TIME = ("pyparsing",)  # what an old version needs, and this project does not


def floors(requirements: list[str]) -> dict[str, Version]:
    """Give the oldest version of each package that requirements admit."""
    parsed = [Requirement(words) for words in requirements]
    return {each.name: Version(spec.version) for each in parsed for spec in each.specifier if spec.operator == ">="}


def test_the_oldest_versions_are_those_that_are_stated() -> None:
    extras = PROJECT["optional-dependencies"]
    tested = ("arrow", "plot", "report", "sklearn")
    of_users = floors([*PROJECT["dependencies"], *(line for extra in tested for line in extras[extra])])
    of_tests = floors([*extras["test"], *extras["integrations"]])
    assert of_users.keys() <= PINNED.keys()
    pinned = {name: version for name, version in PINNED.items() if name not in OF_ITS_TIME}
    assert {name: (of_tests | of_users).get(name) for name in pinned} == pinned
