"""What a guard is called by those who ask for it; to list that for a command line loads no search."""

from typing import Literal, TypeAlias, get_args

GuardName: TypeAlias = Literal["auto", "shrink", "pool"]

GUARD_NAMES: tuple[GuardName, ...] = get_args(GuardName)
