"""The arguments of `kith.search`, all of each. Other calls take them under the same names and with the same meaning.

Parameters
----------
points : array of shape (n, d)
    numpy, torch, cupy, jax or anything with DLPack or the buffer protocol, in host memory or on a CUDA device, of
    float16, bfloat16, float32, float64, int8 or uint8 (bool counts as uint8). It is not copied unless it has to be:
    other integers become float32 or float64 that hold the same values. A point with NaN is never returned (``missing``).
queries : array of shape (q, d)
    Likewise. A query with NaN has no neighbours.
k : int
    At least 1. Neighbours that do not exist have index -1: of no points all of them.
metric : str
    ``"sqeuclidean"``, ``"euclidean"``, ``"cosine"``, ``"inner_product"``, ``"cityblock"`` or any other name or alias
    that ``kith.info()`` lists; scipy's names and definitions, with the exceptions that are documented.
p : float
    The exponent of ``"minkowski"``, at least 1.
inverse_covariance : array of shape (d, d), optional
    For ``"mahalanobis"``; by default the inverse of the points' sample covariance.
variances : array of shape (d,), optional
    For ``"seuclidean"``; by default the points' own.
packed_bits : bool
    ``"hamming"``, ``"jaccard"``, ``"dice"``: rows of uint8 hold 8 bits per element.
formula : str, optional
    In place of a metric: the next value of the distance from ``a`` (its value so far), ``q`` and ``x``
    (coordinates), from ``start`` on, as in ``"a + fabs(q - x)"``.
start : float
    The value of ``a`` at a formula's first coordinate.
f64 : bool
    Distances as float64 in place of float32. The order of the neighbours is the same.
out : (distances, indices), optional
    Arrays to write to, C-contiguous, of shape (q, k): float32 (``f64``: float64) and int64, on one device;
    distances may be None.
device : str
    ``"auto"``: where the data are, else a GPU if there is one; ``"cpu"``, ``"cuda"``, ``"cuda:1"``;
    ``"cuda:0,1"`` or ``"cuda:all"`` share the work among GPUs.
memory : int
    Bytes of workspace; 0: most of what is free.
threads : int
    Those of the CPU; 0: all that the process has.
path, isa : str
    A path or instruction set by name; the planner's choice by default. They never change the answer, but that `distances`
    takes a distance kernel of the papers as a path, which estimates.
stream : int, optional
    The CUDA stream on which the work is ordered; by default the current one of the queries' library.
progress : bool or callable, optional
    True: a bar, by tqdm where it is installed. A callable is given pairs done, pairs in all, seconds and the stage,
    some times a second; returning False ends the call with Cancelled.
selector : str
    A selector by name, as of `kith.topk`: all distances, and of each query's the nearest by that one. It never changes
    the answer.
missing : str
    The treatment of rows of points or queries that hold a NaN. ``"warn"``: a `MissingValuesWarning` says how many,
    and ``.report.nan_points`` and ``.nan_queries`` count them; ``"raise"``: a ValueError; ``"ignore"``: nothing, and
    they are not looked for.

Returns
-------
Neighbors
    ``(distances, indices)``, arrays of the queries' kind on their device, and ``.report``. The bits are the same on
    every device. Distances of torch's tensors that require a gradient have one, at the neighbours found, with respect
    to points and queries: in every metric but ``"hamming"``, ``"jaccard"``, ``"dice"`` and formulas, which are refused
    then. Compiled functions (``torch.compile``) call ``torch.ops.kith.search``.

Raises
------
ValueError, TypeError, MemoryError, DeviceError, Cancelled
    Naming the argument. Ctrl-C ends a long search with KeyboardInterrupt.
"""
from __future__ import annotations

__all__: list[str] = []
