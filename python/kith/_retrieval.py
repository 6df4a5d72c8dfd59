"""retrieve: images into order by the Kullback-Leibler divergences of their patches; image_features: those patches."""
from __future__ import annotations

from typing import Any, NamedTuple, Sequence

import numpy as np

from . import _core
from ._arguments import Progress, _flag, _host, _integer, _metric, _one_of, _settings
from ._arrays import array_interface, readable
from ._kinds import kind_of

_FORMS = ("nearest", "ball", "ball-distances")


class Retrieved(NamedTuple):
    """The result of `retrieve`.

    Attributes
    ----------
    divergences : array of shape (asked, images)
        float64, nats: of the image that asks from each, summed over the scales; 0 of itself. Where all samples of a
        scale are left out, -inf if each has k equal ones in the other image (a duplicate, at k = 1), else NaN (an image
        all of whose samples are equal).
    order : array of shape (asked, images - 1)
        int64: the other images, the nearest first, those of NaN last.
    asked : array of shape (asked,)
        int64: the images that ask.
    left_out : int
        Samples that others are equal to, over all divergences.
    """

    divergences: np.ndarray[Any, Any]
    order: np.ndarray[Any, Any]
    asked: np.ndarray[Any, Any]
    left_out: int

    def precision(self, labels: Any, first: int) -> float:
        """The share of the first this many images that have the label of the one that asks; labels: of each image."""
        labels = np.asarray(labels)
        if labels.shape != (self.divergences.shape[1],):
            raise ValueError(f"labels: {labels.shape}; expected one of each of {self.divergences.shape[1]} images")
        if not 1 <= first <= self.order.shape[1]:
            raise ValueError(f"first: {first}; expected 1 to {self.order.shape[1]}")
        return float((labels[self.order[:, :first]] == labels[self.asked][:, None]).mean())


def image_features(image: Any, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    """The samples of an image, at three scales (as Garcia, Debreuve and Barlaud 2008 compare images).

    Parameters
    ----------
    image : array of shape (height, width) or (height, width, 3)
        Grey, or RGB; both sides at least 32. To whole-numbered pixels (uint8, int8) noise within half a level is added, as
        equal samples have no distance.
    seed : int
        The seed of that noise. Each image of a collection has to have another: of the same noise flat areas are alike, and divergences
        too small.

    Returns
    -------
    list of three arrays
        float32. For two bands of the luminance's Laplacian pyramid 3 x 3 coefficients with the 3 x 3 at the same place of the
        next coarser band: up to 4,800 and 2,400 x 18. For what the pyramid leaves, 3 x 3 pixels of luminance and
        chrominances: up to 1,200 x 27 (x 9 of a grey image). For 320 x 240 pixels just as many.

    Raises
    ------
    ValueError, TypeError
        Naming the image: of another shape, or too small.

    Examples
    --------
    >>> import numpy, kith
    >>> images = numpy.random.default_rng(0).integers(0, 256, (2, 240, 320, 3), dtype=numpy.uint8)
    >>> sets = [kith.image_features(image, seed=number) for number, image in enumerate(images)]
    >>> [features.shape for features in sets[0]]
    [(4800, 18), (2400, 18), (1200, 27)]
    """
    array = _host(image, "image")
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim != 2 and (array.ndim != 3 or array.shape[2] != 3):
        raise ValueError(f"image: {array.shape}; expected (height, width) or (height, width, 3)")
    channels = 1 if array.ndim == 2 else 3
    pixels = readable(array.reshape(len(array), array.shape[1] * channels), "image")
    return list(_core.image_features(pixels, channels, _integer(seed, "seed", 0, 2**64 - 1)))


def _scales(image: Any, name: str) -> list[Any]:
    """An image's samples; an array is one scale."""
    if getattr(image, "ndim", None) == 2:
        return [readable(image, name)]
    if not isinstance(image, (list, tuple)):
        raise TypeError(f"{name}: expected a list of arrays, one of each scale, got {type(image).__name__}")
    return [readable(scale, name) for scale in image]


def retrieve(images: Sequence[Any], k: int = 10, *, asked: Sequence[int] | np.ndarray[Any, Any] | None = None,
             form: str = "nearest", both_ways: bool = False, metric: str = "euclidean", p: float = 2.0, inverse_covariance: Any = None,
             variances: Any = None, device: str = "auto", threads: int = 0, memory: int = 0, path: str = "",
             selector: str = "", progress: Progress = None) -> Retrieved:
    """Images in the order of their patches' divergences (Garcia, Debreuve and Barlaud 2008; Piro et al. 2008).

    Parameters
    ----------
    images : list of lists of arrays
        For each image its samples by scale, as `image_features` gives them: (n, d), the same d at a scale. An array (n, d)
        in place of a list is one scale.
    k : int
        The neighbour whose distance is taken; below each n.
    asked : list or array of int, optional
        The images that ask; all of them where it is not given.
    form, metric, p, inverse_covariance, variances
        As in `kith.information.kl_divergence`, of which the divergences are, summed over the scales.
    both_ways : bool
        Add the divergence of the other image from the one that asks.
    device, threads, memory, path, selector, progress
        As in `search`.

    Returns
    -------
    Retrieved

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError, Cancelled

    Examples
    --------
    >>> import numpy, kith
    >>> rng = numpy.random.default_rng(0)
    >>> images = [[rng.normal(kind, 1, (300, 4)), rng.normal(kind, 1, (100, 6))] for kind in (0, 1, 0, 1)]
    >>> found = kith.retrieve(images, k=5)
    >>> found.order[:, 0], found.precision([0, 1, 0, 1], 1)
    (array([2, 3, 0, 1]), 1.0)
    """
    if asked is not None and len(asked) == 0:
        raise ValueError("asked: no images; expected one or more, or None for all")
    number = _one_of(form, "form", _FORMS)
    held = [_scales(image, f"images[{i}]") for i, image in enumerate(images)]
    first = held[0][0] if held and held[0] else np.empty((0, 0))
    stream = kind_of(first).stream(first)
    divergences, order, who, left_out = _core.retrieve(
        [[array_interface(scale, f"images[{i}]", stream) for scale in image] for i, image in enumerate(held)],
        _integer(k, "k"), number,
        _flag(both_ways, "both_ways"), [] if asked is None else [_integer(i, "asked") for i in asked],
        _metric(metric, p, inverse_covariance, variances, False, None, 0.0),
        _settings(True, device, memory, threads, path, "", stream, progress, selector))
    return Retrieved(divergences, order.view(np.int64), who.view(np.int64), left_out)
