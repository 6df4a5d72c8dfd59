"""Information from nearest neighbours, in nats: entropy, divergence, mutual information, transfer entropy.

>>> import numpy, kith.information
>>> rng = numpy.random.default_rng(0)
>>> x = rng.normal(size=2000)
>>> kith.information.mutual_information(x, x + rng.normal(size=2000)).value > 0.25
True

Neighbours and counts are exact: an estimate is the same on any device, but for the last bits of the system's logarithm. Samples are arrays of shape (n, d), or
(n,) of one dimension, of any library and type that `kith.search` takes, all values finite. What is estimated is of
continuous variables; each function says what it does with equal samples.
"""
from __future__ import annotations

from typing import Any, NamedTuple

from . import _core
from ._arguments import Progress, _integer, _metric, _settings
from ._arrays import array_interface, readable
from ._kinds import kind_of

__all__ = ["Estimate", "conditional_mutual_information", "entropy", "kl_divergence", "mutual_information", "transfer_entropy"]

_DIVERGENCES = ("nearest", "ball", "ball-distances")
_KRASKOVS = ("first", "second")


class Estimate(NamedTuple):
    """What an estimator found.

    Attributes
    ----------
    value : float
        In nats; not cut off at 0.
    error : float
        The standard deviation of ``value`` where the terms that it is the mean of are drawn again with replacement: the
        bootstrap's, in closed form. Neighbours of different samples overlap, so it is a little too small.
    samples : int
        That were used.
    left_out : int
        Samples that others are equal to, where the estimator leaves them out.
    """

    value: float
    error: float
    samples: int
    left_out: int

    def __float__(self) -> float:
        return self.value


def _samples(array: Any, name: str, first: Any = None) -> tuple[Any, Any]:
    """The array as it was given, and with two dimensions for the core, which works on the stream of the first."""
    array = readable(array, name)
    if len(array.shape) == 1:
        array = array.reshape(-1, 1)
    if len(array.shape) != 2:
        raise ValueError(f"{name}: expected 1 or 2 dimensions, got {len(array.shape)}")
    return array, array_interface(array, name, _stream(array if first is None else first))


def _stream(array: Any) -> int:
    return kind_of(array).stream(array)


def _of(like: Any, device: str, threads: int, memory: int, progress: Progress) -> _core.Settings:
    return _settings(True, device, memory, threads, "", "", _stream(like), progress)


def _number(name: str, value: str, names: tuple[str, ...]) -> int:
    if value not in names:
        raise ValueError(f"{name}: {value!r}; expected one of {', '.join(names)}")
    return names.index(value)


def _metric_of(metric: str, p: float) -> _core.MetricSettings:
    return _metric(metric, p, None, None, False, None, 0.0)


def entropy(x: Any, k: int = 3, *, metric: str = "euclidean", p: float = 2.0, device: str = "auto", threads: int = 0,
            memory: int = 0, progress: Progress = None) -> Estimate:
    """The differential entropy of a sample (Kozachenko and Leonenko 1987).

    Parameters
    ----------
    x : array of shape (n, d) or (n,)
        The samples.
    k : int
        Whose distance is taken: the k-th nearest other sample's; below n. A larger k has less variance and more bias.
    metric : str
        ``"euclidean"``, ``"cityblock"``, ``"chebyshev"`` or ``"minkowski"`` of exponent ``p``.
    device, threads, memory, progress
        As in `kith.search`.

    Returns
    -------
    Estimate
        Samples with k others equal to them are left out.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument.

    Examples
    --------
    >>> import numpy, kith.information
    >>> uniform = numpy.random.default_rng(0).random(4000)   # of entropy 0
    >>> abs(kith.information.entropy(uniform).value) < 0.05
    True
    """
    array, x = _samples(x, "x")
    return Estimate(*_core.entropy(x, _integer(k, "k"), _metric_of(metric, p), _of(array, device, threads, memory, progress)))


def kl_divergence(x: Any, y: Any, k: int = 3, *, form: str = "nearest", metric: str = "euclidean", p: float = 2.0,
                  device: str = "auto", threads: int = 0, memory: int = 0, progress: Progress = None) -> Estimate:
    """The Kullback-Leibler divergence D(P || Q) of what two samples are from.

    Parameters
    ----------
    x : array of shape (n, d) or (n,)
        Samples of P.
    y : array of shape (m, d) or (m,)
        Samples of Q.
    k : int
        Below n, at most m.
    form : str
        ``"nearest"``: by the k-th nearest of both (Garcia et al. 2008, eq. 2); ``"ball"``: by the numbers of both within
        one ball, the larger of the two (Wang, Kulkarni and Verdu 2009), of less bias where the densities differ;
        ``"ball-distances"``: by both.
    metric, p, device, threads, memory, progress
        As in `entropy`.

    Returns
    -------
    Estimate
        Samples of x whose k-th neighbour in x or in y is equal to them are left out.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument.

    Examples
    --------
    >>> import numpy, kith.information
    >>> rng = numpy.random.default_rng(0)
    >>> x, y = rng.normal(size=(2000, 2)), rng.normal(1, 1, (2000, 2))   # of divergence 1
    >>> abs(kith.information.kl_divergence(x, y, 5).value - 1) < 0.2
    True
    """
    array, x = _samples(x, "x")
    _, y = _samples(y, "y", array)
    return Estimate(*_core.kl_divergence(x, y, _integer(k, "k"), _number("form", form, _DIVERGENCES), _metric_of(metric, p),
                                         _of(array, device, threads, memory, progress)))


def mutual_information(x: Any, y: Any, k: int = 3, *, form: str = "first", device: str = "auto", threads: int = 0,
                       memory: int = 0, progress: Progress = None) -> Estimate:
    """The mutual information of two variables (Kraskov, Stoegbauer and Grassberger 2004), in the maximum norm.

    Parameters
    ----------
    x, y : arrays of shape (n, d) or (n,), of any two d
        Rows of the same number belong together.
    k : int
        Below n.
    form : str
        ``"first"`` or ``"second"`` of their estimators (eqs. 8 and 9).
    device, threads, memory, progress
        As in `kith.search`.

    Returns
    -------
    Estimate
        A sample with k others equal to it in x and in y takes as k how many these are, and counts those that are equal
        to it (as Gao et al. 2017 do for mixtures of discrete and continuous variables).

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument.

    Examples
    --------
    >>> import numpy, kith.information
    >>> die = numpy.arange(6000) % 6
    >>> round(kith.information.mutual_information(die, die % 2).value, 2)   # log 2
    0.69
    """
    array, x = _samples(x, "x")
    _, y = _samples(y, "y", array)
    return Estimate(*_core.mutual_information(x, y, _integer(k, "k"), _number("form", form, _KRASKOVS),
                                              _of(array, device, threads, memory, progress)))


def conditional_mutual_information(x: Any, y: Any, z: Any, k: int = 3, *, device: str = "auto", threads: int = 0,
                                   memory: int = 0, progress: Progress = None) -> Estimate:
    """The mutual information of x and y given z (Frenzel and Pompe 2007), in the maximum norm.

    Parameters
    ----------
    x, y, z : arrays of shape (n, d) or (n,), of any three d
        Rows of the same number belong together.
    k, device, threads, memory, progress
        As in `mutual_information`.

    Returns
    -------
    Estimate
        Equal samples as in `mutual_information`.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument.

    Examples
    --------
    >>> import numpy, kith.information
    >>> rng = numpy.random.default_rng(0)
    >>> z = rng.normal(size=3000)
    >>> x, y = z + rng.normal(size=3000), z + rng.normal(size=3000)   # independent, given z
    >>> abs(kith.information.conditional_mutual_information(x, y, z).value) < 0.05
    True
    """
    array, x = _samples(x, "x")
    _, y = _samples(y, "y", array)
    _, z = _samples(z, "z", array)
    return Estimate(*_core.conditional_mutual_information(x, y, z, _integer(k, "k"),
                                                          _of(array, device, threads, memory, progress)))


def transfer_entropy(source: Any, target: Any, k: int = 3, *, source_lags: int = 1, target_lags: int = 1,
                     device: str = "auto", threads: int = 0, memory: int = 0, progress: Progress = None) -> Estimate:
    """What the past of one series says about the next value of another beyond that one's own past (Schreiber 2000).

    Parameters
    ----------
    source, target : arrays of shape (n, d) or (n,)
        Rows in the order of time, evenly spaced.
    k : int
        Below n less the longer past.
    source_lags, target_lags : int
        How many rows of each make its past.
    device, threads, memory, progress
        As in `kith.search`.

    Returns
    -------
    Estimate
        `conditional_mutual_information` of target[t] and the source's past, given the target's.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument.

    Examples
    --------
    >>> import numpy, kith.information
    >>> rng = numpy.random.default_rng(0)
    >>> x = rng.normal(size=3000)
    >>> y = numpy.roll(x, 1) + rng.normal(size=3000)   # follows x
    >>> kith.information.transfer_entropy(x, y).value > 0.2, kith.information.transfer_entropy(y, x).value < 0.05
    (True, True)
    """
    array, source = _samples(source, "source")
    _, target = _samples(target, "target", array)
    return Estimate(*_core.transfer_entropy(source, target, _integer(k, "k"), _integer(source_lags, "source_lags"),
                                            _integer(target_lags, "target_lags"),
                                            _of(array, device, threads, memory, progress)))
