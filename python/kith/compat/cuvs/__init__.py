"""cuVS' brute-force search: ``from kith.compat.cuvs import brute_force``; also `pairwise_distance`, `filters`, `Resources`, and
cuVS' own modules `neighbors`, `distance` and `common`.

Arrays may be of any library and device, and results are of the queries' kind on their device. Distances are those of cuVS, also
where scipy has others: `kl_divergence` is half of it, with the logarithm of 0 as 0; `jensenshannon` and `hellinger` do not scale
rows to sum 1; `russellrao` multiplies coordinates. `bitwise_hamming` and prefilters other than ``filters.no_filter()`` are refused.
"""
from __future__ import annotations

from . import brute_force, filters
from .common import Resources
from .distance import pairwise_distance

__all__ = ["Resources", "brute_force", "filters", "pairwise_distance"]
