"""cuvs.distance is kith.compat.cuvs.distance."""
from typing import Any

from kith.compat.cuvs.distance import pairwise_distance as _ours
from pylibraft.common import device_ndarray


def pairwise_distance(*arguments: Any, **named: Any) -> Any:
    """As an array of cuVS."""
    return device_ndarray(_ours(*arguments, **named))
