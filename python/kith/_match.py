"""match: which rows of two sets of features belong together."""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _core, _gradients
from ._arguments import Progress, _flag, _metric, _number, _rows, _settings
from ._arrays import array_interface, readable
from ._gradients import Form, tracked
from ._kinds import kind_of
from ._missing import told


class Matches(NamedTuple):
    """The rows that belong together: ``pairs, distances = kith.match(...)``.

    Attributes
    ----------
    pairs : array of shape (m, 2)
        int64: rows of ``a``, ascending, and their matches in ``b``.
    distances : array of shape (m,)
        float64.
    """

    pairs: Any
    distances: Any


def match(a: Any, b: Any, *, ratio: float | None = None, mutual: bool = False, metric: str = "euclidean", p: float = 2.0,
          inverse_covariance: Any = None, variances: Any = None, packed_bits: bool = False, device: str = "auto", threads: int = 0,
          memory: int = 0, path: str = "", selector: str = "", progress: Progress = None, missing: str = "warn") -> Matches:
    """The nearest row of ``b`` of each row of ``a``, where the tests that are asked for keep it.

    Parameters
    ----------
    a, b : arrays of shape (n, d) and (m, d)
        Features, as `search` takes points. A row with NaN has no match.
    ratio : float, optional
        In (0, 1]: the distance is to be below this times that of the second nearest (Lowe 2004: 0.8), in float64. 1
        keeps what has no equal.
    mutual : bool
        The row of ``a`` is to be the nearest of its match as well.
    metric, p, inverse_covariance, variances, packed_bits, device, threads, memory, path, selector, progress, missing
        As in `search`; binary features (ORB, BRIEF) are ``metric="hamming", packed_bits=True``. ``"inner_product"`` takes
        no ratio; ``"seuclidean"`` and ``"mahalanobis"`` are given their parameters.

    Returns
    -------
    Matches
        ``(pairs, distances)``, arrays of a's kind on its device. For equally near rows the first is the match.
        Gradients as of `search`.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument.

    Examples
    --------
    >>> import numpy, kith
    >>> a = numpy.array([[0.0, 0], [5, 5]])
    >>> b = numpy.array([[5.0, 6], [9, 9], [0, 1]])
    >>> kith.match(a, b, ratio=0.8, mutual=True).pairs
    array([[0, 2],
           [1, 0]])
    """
    def found(b: Any, a: Any) -> Matches:
        like, kind = a, kind_of(a)
        stream = kind.stream(like)
        a, b = readable(a, "a"), readable(b, "b")
        _rows(a, "a"), _rows(b, "b")
        pairs, distances, nan_a, nan_b = _core.match(
            array_interface(a, "a", stream), array_interface(b, "b", stream),
            None if ratio is None else _number(ratio, "ratio"), _flag(mutual, "mutual"),
            _metric(metric, p, inverse_covariance, variances, packed_bits, None, 0.0),
            _settings(True, device, memory, threads, path, "", stream, progress, selector, missing))
        if missing != "ignore":
            told(missing, ("a", nan_a, a), ("b", nan_b, b))
        pairs = pairs.view(np.int64)  # numpy's own integer of 64 bits
        return Matches(kind.of_numpy(like, pairs), kind.of_numpy(like, distances))

    if not tracked(a, b):
        return found(b, a)
    form = Form(metric, p, inverse_covariance, variances)
    return _gradients.matches(found, b, a, form)  # type: ignore[no-any-return]
