"""Information from nearest neighbours, in nats: entropy, divergence, mutual information, transfer entropy.

>>> import numpy, kith.information
>>> rng = numpy.random.default_rng(0)
>>> x = rng.normal(size=2000)
>>> kith.information.mutual_information(x, x + rng.normal(size=2000)).value > 0.25
True

Neighbours and counts are exact: an estimate is the same on any device, but for the last bits of the system's logarithm.
Samples are arrays of shape (n, d), or (n,) of one dimension, of any library and type that `kith.search` takes, all values
finite. Estimates are of continuous variables; each function says what it does with equal samples.
"""
from __future__ import annotations

import math
from typing import Any, NamedTuple

from . import _core
from ._arguments import Progress, _integer, _metric, _one_of, _settings, _wrong
from ._arrays import array_interface, readable
from ._kinds import kind_of
from ._missing import warn

__all__ = ["Bootstrap", "EqualSamplesWarning", "Estimate", "conditional_mutual_information", "entropy", "kl_divergence",
           "mutual_information", "mutual_information_of_columns", "transfer_entropy"]

_DIVERGENCES = ("nearest", "ball", "ball-distances")
_KRASKOVS = ("first", "second")


class EqualSamplesWarning(UserWarning):
    """Samples that others are equal to were left out of an estimate, which is of continuous variables."""


class Estimate(NamedTuple):
    """The result of an estimator.

    Attributes
    ----------
    value : float
        In nats; not cut off at 0.
    error : float
        The standard deviation of ``value`` over samples drawn anew, as `Bootstrap` finds it; NaN where none was asked for.
        Bias is no part of it.
    samples : int
        That were used.
    left_out : int
        Samples that others are equal to, where the estimator leaves them out: an `EqualSamplesWarning` says so.
    """

    value: float
    error: float
    samples: int
    left_out: int

    def __float__(self) -> float:
        return self.value


class Bootstrap(NamedTuple):
    """How the error of an estimate is found: by subsampling, a bootstrap without replacement (Politis and Romano 1994; Holmes
    and Nemenman 2019 for Kraskov's estimators). The samples are dealt out at random into disjoint parts; the variance of the
    parts' estimates, divided by their number, is that of the whole. (Samples drawn with replacement would be each other's
    neighbours at distance 0.)

    Attributes
    ----------
    repeats : int
        How often they are dealt out; 0: no error is estimated. The error is itself an estimate, within about
        ``1 / sqrt(2 * repeats * (parts - 1))`` of what it would be after many repeats.
    parts : int
        Into how many parts. More are less work, but further from the whole: the variance is taken to fall as 1 / n, and in many
        dimensions falls more slowly.
    stretch : int
        Rows side by side that stay together, as the values of a series have to that depend on one another. 0: 1, of
        `transfer_entropy` the root of its samples, rounded up.
    seed : int
        The seed of the random numbers.
    """

    repeats: int
    parts: int = 2
    stretch: int = 0
    seed: int = 0


def _bootstrap(bootstrap: int | Bootstrap) -> tuple[int, int, int, int]:
    given = bootstrap if isinstance(bootstrap, Bootstrap) else Bootstrap(bootstrap)
    repeats, parts, stretch = (_integer(getattr(given, name), "bootstrap" if name == "repeats" else f"bootstrap.{name}")
                               for name in Bootstrap._fields[:3])
    return repeats, parts, stretch, _integer(given.seed, "bootstrap.seed", -math.inf, math.inf) % 2**64


def _estimate(found: tuple[float, float, int, int]) -> Estimate:
    value, error, samples, left_out = found
    if left_out:
        warn(f"{left_out} of {samples + left_out} samples are equal to others, as rounded values are, and were left out: the "
             f"estimate is of the other {samples}. It is of continuous variables; of values that were rounded add noise of the "
             "size of the rounding", EqualSamplesWarning)
    # One NaN, so that equal estimates are equal.
    return Estimate(value, math.nan if math.isnan(error) else error, samples, left_out)


def _samples(array: Any, name: str, first: Any = None) -> tuple[Any, Any]:
    """The array as it was given, and with two dimensions for the core, which works on the stream of the first."""
    array = readable(array, name)
    if not hasattr(array, "shape"):
        raise _wrong(array, name, "an array")
    if len(array.shape) == 1:
        array = array.reshape(-1, 1)
    if len(array.shape) != 2:
        raise ValueError(f"{name}: expected 1 or 2 dimensions, got {len(array.shape)}")
    return array, array_interface(array, name, _stream(array if first is None else first))


def _stream(array: Any) -> int:
    return kind_of(array).stream(array)


def _of(like: Any, device: str, threads: int, memory: int, path: str, selector: str, progress: Progress) -> _core.Settings:
    return _settings(True, device, memory, threads, path, "", _stream(like), progress, selector)


def _metric_of(metric: str, p: float, inverse_covariance: Any = None, variances: Any = None) -> _core.MetricSettings:
    return _metric(metric, p, inverse_covariance, variances, False, None, 0.0)


def entropy(x: Any, k: int = 3, *, metric: str = "euclidean", p: float = 2.0, bootstrap: int | Bootstrap = 0,
            device: str = "auto", threads: int = 0, memory: int = 0,
            path: str = "", selector: str = "", progress: Progress = None) -> Estimate:
    """The differential entropy of a sample (Kozachenko and Leonenko 1987).

    Parameters
    ----------
    x : array of shape (n, d) or (n,)
        The samples.
    k : int
        Whose distance is taken: the k-th nearest other sample's; below n. A larger k has less variance and more bias.
    metric : str
        ``"euclidean"``, ``"cityblock"``, ``"chebyshev"`` or ``"minkowski"`` of exponent ``p``.
    bootstrap : int or Bootstrap
        For an ``error``: how many times the samples are dealt out into two parts that are estimated, or more precisely a
        `Bootstrap`. 0: none.
    device, threads, memory, path, selector, progress
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
    return _estimate(_core.entropy(x, _integer(k, "k"), _metric_of(metric, p), _bootstrap(bootstrap),
                                   _of(array, device, threads, memory, path, selector, progress)))


def kl_divergence(x: Any, y: Any, k: int = 3, *, form: str = "nearest", metric: str = "euclidean", p: float = 2.0,
                  inverse_covariance: Any = None, variances: Any = None, bootstrap: int | Bootstrap = 0,
                  device: str = "auto", threads: int = 0, memory: int = 0,
                  path: str = "", selector: str = "", progress: Progress = None) -> Estimate:
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
        ``"nearest"``: by the k-th nearest of both (Garcia et al. 2008, eq. 2). ``"ball"``: by the numbers of both within
        one ball, the larger of the two (Wang, Kulkarni and Verdu 2009), of less bias where the densities differ.
        ``"ball-distances"``: by both.
    metric : str
        As in `entropy`, or ``"seuclidean"`` with its ``variances``, one of each column, or ``"mahalanobis"`` with its
        ``inverse_covariance`` of shape (d, d): of two samples neither is estimated.
    p, bootstrap, device, threads, memory, path, selector, progress
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
    return _estimate(_core.kl_divergence(x, y, _integer(k, "k"), _one_of(form, "form", _DIVERGENCES),
                                         _metric_of(metric, p, inverse_covariance, variances), _bootstrap(bootstrap),
                                         _of(array, device, threads, memory, path, selector, progress)))


def mutual_information(x: Any, y: Any, k: int = 3, *, form: str = "first", bootstrap: int | Bootstrap = 0,
                       device: str = "auto", threads: int = 0, memory: int = 0,
                       path: str = "", selector: str = "", progress: Progress = None) -> Estimate:
    """The mutual information of two variables (Kraskov, Stoegbauer and Grassberger 2004), in the maximum norm.

    A variable of several columns is one variable: what all of them together say about the other. The information of each column by
    itself, as scikit-learn's `mutual_info_regression` has it, is `mutual_information_of_columns`.

    Parameters
    ----------
    x, y : arrays of shape (n, d) or (n,), of any two d
        Rows of the same number belong together.
    k : int
        Below n.
    form : str
        ``"first"`` or ``"second"`` of their estimators (eqs. 8 and 9).
    bootstrap
        As in `entropy`.
    device, threads, memory, path, selector, progress
        As in `kith.search`.

    Returns
    -------
    Estimate
        A sample with k others equal to it in x and in y takes their number as k. It counts the samples that are equal
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
    return _estimate(_core.mutual_information(x, y, _integer(k, "k"), _one_of(form, "form", _KRASKOVS), _bootstrap(bootstrap),
                                              _of(array, device, threads, memory, path, selector, progress)))


def mutual_information_of_columns(x: Any, y: Any, k: int = 3, *, form: str = "first", bootstrap: int | Bootstrap = 0,
                                  device: str = "auto", threads: int = 0, memory: int = 0, path: str = "",
                                  selector: str = "", progress: Progress = None) -> list[Estimate]:
    """The mutual information of y and each column of x by itself: which of many features say something about a target.

    scikit-learn's `mutual_info_regression` without the noise that it adds to the values, their scaling, and its maximum with 0.

    Parameters
    ----------
    x : array of shape (n, d)
        The features.
    y : array of shape (n,) or (n, m)
        The target: one variable, of however many columns.
    k, form, bootstrap, device, threads, memory, path, selector, progress
        As in `mutual_information`.

    Returns
    -------
    list of Estimate
        One of each column.

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled
        Naming the argument.

    Examples
    --------
    >>> import numpy, kith.information
    >>> rng = numpy.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 2))
    >>> [round(each.value, 1) for each in kith.information.mutual_information_of_columns(x, x[:, 0] + rng.normal(size=2000))]
    [0.3, 0.0]
    """
    x = _samples(x, "x")[0]
    return [mutual_information(x[:, i:i + 1], y, k, form=form, bootstrap=bootstrap, device=device, threads=threads,
                               memory=memory, path=path, selector=selector, progress=progress) for i in range(x.shape[1])]


def conditional_mutual_information(x: Any, y: Any, z: Any, k: int = 3, *, bootstrap: int | Bootstrap = 0,
                                   device: str = "auto", threads: int = 0, memory: int = 0,
                                   path: str = "", selector: str = "", progress: Progress = None) -> Estimate:
    """The mutual information of x and y given z (Frenzel and Pompe 2007), in the maximum norm.

    Parameters
    ----------
    x, y, z : arrays of shape (n, d) or (n,), of any three d
        Rows of the same number belong together.
    k, bootstrap, device, threads, memory, path, selector, progress
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
    return _estimate(_core.conditional_mutual_information(x, y, z, _integer(k, "k"), _bootstrap(bootstrap),
                                                          _of(array, device, threads, memory, path, selector, progress)))


def transfer_entropy(source: Any, target: Any, k: int = 3, *, source_lags: int = 1, target_lags: int = 1,
                     bootstrap: int | Bootstrap = 0, device: str = "auto", threads: int = 0, memory: int = 0,
                     path: str = "", selector: str = "", progress: Progress = None) -> Estimate:
    """The information in the past of one series about the next value of another beyond that one's own past (Schreiber 2000).

    Parameters
    ----------
    source, target : arrays of shape (n, d) or (n,)
        Rows in the order of time, evenly spaced.
    k : int
        Below n less the longer past.
    source_lags, target_lags : int
        How many rows of each make its past.
    bootstrap
        As in `entropy`.
    device, threads, memory, path, selector, progress
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
    return _estimate(_core.transfer_entropy(source, target, _integer(k, "k"), _integer(source_lags, "source_lags"),
                                            _integer(target_lags, "target_lags"), _bootstrap(bootstrap),
                                            _of(array, device, threads, memory, path, selector, progress)))
