"""What a package index shows: README.md without links that lead nowhere there."""

import re
from pathlib import Path
from typing import Any

try:
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ImportError:  # The tests read `long_description` where nothing is built.
    MetadataHookInterface = object

ADDRESS = ""  # of the repository's files, ending in "/", once there is one: links then lead there

_LINK = re.compile(r"!?\[([^\]]*)\]\((?!https?:)([^)#]*)(#[^)]*)?\)")  # relative ones, pictures among them
_SOURCES = "Files named here, as docs/files.md, are in the source distribution.\n\n"


def long_description(readme: str, address: str = ADDRESS) -> str:
    """Turn relative links into absolute ones; without an address into plain text that names the file."""

    def absolute(link: re.Match[str]) -> str:
        text, path, anchor = link.group(1, 2, 3)
        if address:
            return f"[{text}]({address}{path}{anchor or ''})"
        return path if text in path else f"{text} ({path})"

    title, rest = readme.split("\n\n", 1)
    note = "" if address else _SOURCES
    return f"{title}\n\n{note}{_LINK.sub(absolute, rest)}"


class LongDescription(MetadataHookInterface):  # type: ignore[misc]
    """Hands the description to Hatchling, which finds this class by its base."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the readme."""
        text = long_description((Path(self.root) / "README.md").read_text(encoding="utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
