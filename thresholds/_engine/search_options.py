"""What a search maximises, where it puts thresholds, and how it runs."""

from dataclasses import dataclass

from thresholds._checks import Average, Placement


@dataclass(frozen=True)
class SearchOptions:
    """The options of a fit that every search reads, under the names that they have there."""

    average: Average
    beta: float = 1.0
    zero_division: float = 0.0
    placement: Placement = "low"
    n_jobs: int | None = -1
    progress: bool = False
