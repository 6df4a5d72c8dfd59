"""cuvs.neighbors: brute_force and filters."""
from __future__ import annotations

from . import brute_force, filters

__all__ = ["brute_force", "filters"]
