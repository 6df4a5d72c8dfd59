"""cuvs.neighbors is kith.compat.cuvs.neighbors."""
from types import SimpleNamespace
from typing import Any

from kith.compat.cuvs.neighbors import brute_force as _ours
from kith.compat.cuvs.neighbors import filters  # noqa: F401
from pylibraft.common import device_ndarray


def _search(*arguments: Any, **named: Any) -> Any:
    return tuple(device_ndarray(part) for part in _ours.search(*arguments, **named))


brute_force = SimpleNamespace(build=_ours.build, search=_search, save=_ours.save, load=_ours.load, Index=_ours.Index)
