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


def floors(requirements: list[str]) -> dict[str, Version]:
    """Give the oldest version of each package that requirements admit."""
    parsed = [Requirement(words) for words in requirements]
    return {each.name: Version(spec.version) for each in parsed for spec in each.specifier if spec.operator == ">="}


def test_the_oldest_versions_are_those_that_are_stated() -> None:
    extras = PROJECT["optional-dependencies"]
    of_users = floors([*PROJECT["dependencies"], *extras["arrow"], *extras["sklearn"]])
    of_tests = floors([*extras["test"], *extras["integrations"]])
    assert of_users.keys() <= PINNED.keys()
    assert {name: (of_tests | of_users).get(name) for name in PINNED} == PINNED
