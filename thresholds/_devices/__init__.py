"""What if my scores are on a GPU? They are decided there, by operations of the array API alone.

Arrays in host memory go through the compiled kernels instead; what is here gives the same
decisions. Only figures per label, and a few sampled cells, ever leave the device.
"""

from typing import TYPE_CHECKING

from thresholds._devices.namespaces import (
    dtype_name,
    is_tensor,
    known_to_numpy,
    namespace_on_device,
)
from thresholds._names import when_used

if TYPE_CHECKING:
    from thresholds._devices.cells import (
        bad_cell_in_words,
        checked_probabilities,
        checked_scores,
        rows,
        sample,
    )
    from thresholds._devices.deciding import decide, highest, inside, rescale

__all__ = [
    "bad_cell_in_words",
    "checked_probabilities",
    "checked_scores",
    "decide",
    "dtype_name",
    "highest",
    "inside",
    "is_tensor",
    "known_to_numpy",
    "namespace_on_device",
    "rescale",
    "rows",
    "sample",
]

_HOME = {
    "bad_cell_in_words": "cells",
    "checked_probabilities": "cells",
    "checked_scores": "cells",
    "decide": "deciding",
    "highest": "deciding",
    "inside": "deciding",
    "rescale": "deciding",
    "rows": "cells",
    "sample": "cells",
}

# Of scores in host memory only this is asked: whether they are elsewhere.
__getattr__ = when_used(__name__, _HOME)
