"""cuVS' metrics: how each is searched exactly, with the distances that cuVS gives."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple, Optional

from .._values import as_defined, not_negative, rounded

_NAMES = {"sqeuclidean": "sqeuclidean", "euclidean": "euclidean", "l2": "euclidean", "l1": "cityblock", "cityblock": "cityblock",
          "inner_product": "inner_product", "chebyshev": "chebyshev", "canberra": "canberra", "cosine": "cosine", "lp": "minkowski",
          "minkowski": "minkowski", "correlation": "correlation", "hamming": "hamming", "braycurtis": "braycurtis",
          "jaccard": "jaccard", "dice": "dice", "haversine": "haversine"}


class Search(NamedTuple):
    """kith's arguments, and what makes cuVS' distances of its float64 ones, of d coordinates; None: they are."""

    arguments: dict[str, Any]
    finish: Optional[Callable[[Any, int], Any]] = None

    @as_defined
    def finished(self, values: Any, d: int, f64: bool) -> Any:
        """cuVS' distances of float64 values."""
        values = values if self.finish is None else self.finish(values, d)
        return values if f64 else rounded(values)


def _root(values: Any, d: int) -> Any:
    return not_negative(values)**0.5


_OWN = {
    # cuVS takes the logarithm of 0 as 0, and half of the sum.
    "kl_divergence": Search({"formula": "a + (q == 0 ? 0 : 0.5 * q * log(x == 0 ? q : q / x))"}),
    "jensenshannon": Search({"formula": "a + 0.5 * ((q == 0 ? 0 : q * log(q / (0.5 * (q + x)))) + "
                                        "(x == 0 ? 0 : x * log(x / (0.5 * (q + x)))))"}, _root),
    "hellinger": Search({"formula": "a - sqrt(q) * sqrt(x)", "start": 1.0}, _root),
    "russellrao": Search({"metric": "inner_product"}, lambda values, d: (d - values) / d),
}


def search_of(metric: str, p: float) -> Search:
    """How a metric of cuVS is searched; p is the exponent of "minkowski" and "lp"."""
    if metric in _OWN:
        return _OWN[metric]
    if metric not in _NAMES:
        raise ValueError(f"metric: {metric!r} is unknown; expected one of {', '.join((*_NAMES, *_OWN))}")
    return Search({"metric": _NAMES[metric], **({"p": p} if _NAMES[metric] == "minkowski" else {})})
