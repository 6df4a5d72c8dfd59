"""Derivatives of metrics, in torch's operations: differentiable themselves, and finite wherever the distance is.

A slope takes coordinates of pairs, q and x of shape (m, d), and gives the derivative of each distance with respect to q and
to x. None stands for the second where that is the first with the other sign. Where a distance has none (two equal vectors, a
zero vector under the cosine, a coordinate of 0 under a root or a logarithm) it is 0. So it is for a coordinate whose |q - x| is 0.
Several coordinates that are the largest of chebyshev share it, as torch.amax has it.
"""
from __future__ import annotations

import math
from typing import Any, Callable, Optional

import torch
from torch import Tensor

from ._gradients import Form

Pair = tuple[Tensor, Optional[Tensor]]
# For points and queries, from which a metric may estimate its parameters, the slope of pairs.
Slope = Callable[[Tensor, Tensor], Callable[[Tensor, Tensor], Pair]]


def _over(a: Tensor, b: Tensor) -> Tensor:
    """a / b, and 0 where b is 0."""
    none = b == 0
    return torch.where(none, 0, a / torch.where(none, 1, b))


def _root(x: Tensor) -> Tensor:
    none = x <= 0
    return torch.where(none, 0, torch.where(none, 1, x).sqrt())


def _norm(v: Tensor) -> tuple[Tensor, Tensor]:
    """Vectors of length 1, or 0, and the lengths: none overflows or underflows on the way."""
    scale = v.detach().abs().amax(-1, keepdim=True)
    scaled = v / torch.where(scale == 0, 1, scale)
    length = _root((scaled * scaled).sum(-1, keepdim=True))  # at least 1, or 0
    return scaled * _over(torch.ones_like(length), length), length * scale


def _both_ways(slope: Tensor) -> Pair:
    return slope, None


def _sqeuclidean(q: Tensor, x: Tensor) -> Pair:
    return _both_ways(2 * (q - x))


def _euclidean(q: Tensor, x: Tensor) -> Pair:
    return _both_ways(_norm(q - x)[0])


def _cityblock(q: Tensor, x: Tensor) -> Pair:
    return _both_ways((q - x).sign())


def _chebyshev(q: Tensor, x: Tensor) -> Pair:
    size = (q - x).abs()
    largest = (size == size.amax(-1, keepdim=True)).to(q.dtype)
    return _both_ways((q - x).sign() * largest / largest.sum(-1, keepdim=True))


def _minkowski(form: Form) -> Slope:
    p = float(form.p)
    if p == 1:
        return _plain(_cityblock)
    if math.isinf(p):
        return _plain(_chebyshev)

    def of_pairs(q: Tensor, x: Tensor) -> Pair:
        difference = q - x
        size = difference.abs()
        size = _over(size, size.detach().amax(-1, keepdim=True))
        none = size == 0
        size = torch.where(none, 1, size)
        length = torch.where(none, 0, size**p).sum(-1, keepdim=True)
        length = torch.where(length == 0, 1, length) ** (1 / p)
        return _both_ways(difference.sign() * torch.where(none, 0, (size / length) ** (p - 1)))

    return lambda points, queries: of_pairs


def _cosine(q: Tensor, x: Tensor) -> Pair:
    return _angles(q, x)


def _angles(q: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    (q, q_length), (x, x_length) = _norm(q), _norm(x)
    cosine = (q * x).sum(-1, keepdim=True)
    there = (q_length != 0) & (x_length != 0)  # a zero vector is at distance 1 of everything
    return (torch.where(there, _over(cosine * q - x, q_length), 0), torch.where(there, _over(cosine * x - q, x_length), 0))


def _inner_product(q: Tensor, x: Tensor) -> Pair:
    return x, q


def _centred(v: Tensor) -> Tensor:
    """Less the mean; exactly 0 where all coordinates are equal."""
    v = v - v[:, :1]
    return v - v.mean(-1, keepdim=True)


def _correlation(q: Tensor, x: Tensor) -> Pair:
    of_q, of_x = _angles(_centred(q), _centred(x))
    return of_q - of_q.mean(-1, keepdim=True), of_x - of_x.mean(-1, keepdim=True)


def _hellinger(q: Tensor, x: Tensor) -> Pair:
    root_q, root_x = _root(q), _root(x)
    unit = _norm(root_q - root_x)[0] / (2 * math.sqrt(2))
    return _over(unit, root_q), _over(-unit, root_x)


def _logarithm(a: Tensor, b: Tensor) -> Tensor:
    """log(a / b), and 0 where one of them is 0."""
    none = (a <= 0) | (b <= 0)
    return torch.where(none, 0, torch.where(none, 1, a).log() - torch.where(none, 1, b).log())


def _kl_divergence(q: Tensor, x: Tensor) -> Pair:
    both = (q > 0) & (x > 0)
    return torch.where(both, _logarithm(q, x) + 1, 0), torch.where(both, _over(-q, x), 0)


def _jensenshannon(q: Tensor, x: Tensor) -> Pair:
    q_sum, x_sum = q.sum(-1, keepdim=True), x.sum(-1, keepdim=True)
    q, x = _over(q, q_sum), _over(x, x_sum)
    mean = (q + x) / 2
    log_q, log_x = _logarithm(q, mean), _logarithm(x, mean)
    distance = _root((q * log_q + x * log_x).sum(-1, keepdim=True) / 2)
    return _of_shares(_over(log_q, 4 * distance), q, q_sum), _of_shares(_over(log_x, 4 * distance), x, x_sum)


def _of_shares(slope: Tensor, shares: Tensor, total: Tensor) -> Tensor:
    """The slope by values, from that by their shares of the total."""
    return _over(slope - (slope * shares).sum(-1, keepdim=True), total)


def _canberra(q: Tensor, x: Tensor) -> Pair:
    size = q.abs() + x.abs()
    share, sign = _over((q - x).abs(), size), (q - x).sign()
    return _over(sign - share * q.sign(), size), _over(-sign - share * x.sign(), size)


def _braycurtis(q: Tensor, x: Tensor) -> Pair:
    below = (q + x).abs().sum(-1, keepdim=True)
    share = _over((q - x).abs().sum(-1, keepdim=True), below)
    sign, of_sum = (q - x).sign(), share * (q + x).sign()
    return _over(sign - of_sum, below), _over(-sign - of_sum, below)


def _haversine(q: Tensor, x: Tensor) -> Pair:
    (q_lat, q_lon), (x_lat, x_lon) = q.unbind(-1), x.unbind(-1)
    lat, lon = q_lat - x_lat, q_lon - x_lon
    across = (lon / 2).sin() ** 2
    h = ((lat / 2).sin() ** 2 + q_lat.cos() * x_lat.cos() * across).clamp(0, 1)
    along_lat, along_lon = lat.sin() / 2, q_lat.cos() * x_lat.cos() * lon.sin() / 2
    root = _root(h * (1 - h))[:, None]
    return (_over(torch.stack([along_lat - q_lat.sin() * x_lat.cos() * across, along_lon], -1), root),
            _over(torch.stack([-along_lat - q_lat.cos() * x_lat.sin() * across, -along_lon], -1), root))


def _there(points: Tensor) -> tuple[Tensor, Tensor]:
    """In float64, and which rows hold no NaN and no infinity: those that parameters are estimated from."""
    points = points.detach().to(torch.float64)
    there = points.isfinite().all(-1, keepdim=True)
    return torch.where(there, points, 0), there


def _moments(points: Tensor) -> tuple[Tensor, Tensor]:
    """Points less their mean, and the divisor of their covariance."""
    points, there = _there(points)
    count = there.sum()
    return torch.where(there, points - points.sum(0) / count, 0), count - 1


def _mahalanobis(form: Form) -> Slope:
    given = form.inverse_covariance

    def with_points(points: Tensor, queries: Tensor) -> Callable[[Tensor, Tensor], Pair]:
        if given is None:
            centred, divisor = _moments(points)
            inverse = torch.linalg.inv(centred.T @ centred / divisor)
        else:
            inverse = torch.as_tensor(given).detach().to(torch.float64)
        inverse = ((inverse + inverse.T) / 2).to(queries.device)

        def of_pairs(q: Tensor, x: Tensor) -> Pair:
            difference = q - x
            image = difference @ inverse.to(q.dtype)
            return _both_ways(_over(image, _root((difference * image).sum(-1, keepdim=True))))

        return of_pairs

    return with_points


def _seuclidean(form: Form) -> Slope:
    given = form.variances

    def with_points(points: Tensor, queries: Tensor) -> Callable[[Tensor, Tensor], Pair]:
        if given is None:
            centred, divisor = _moments(points)
            variances = (centred * centred).sum(0) / divisor
        else:
            variances = torch.as_tensor(given).detach().to(torch.float64).reshape(-1)
        deviations = variances.sqrt().to(queries.device)

        def of_pairs(q: Tensor, x: Tensor) -> Pair:
            by = deviations.to(q.dtype)
            return _both_ways(_norm((q - x) / by)[0] / by)

        return of_pairs

    return with_points


def _plain(of_pairs: Callable[[Tensor, Tensor], Pair]) -> Slope:
    return lambda points, queries: of_pairs


def _of(of_pairs: Callable[[Tensor, Tensor], Pair]) -> Callable[[Form], Slope]:
    return lambda form: _plain(of_pairs)


# By the names of include/kith/metrics.def; those that count coordinates, and formulas, have no derivative here.
SLOPES: dict[str, Callable[[Form], Slope]] = {
    "sqeuclidean": _of(_sqeuclidean), "euclidean": _of(_euclidean), "cityblock": _of(_cityblock),
    "chebyshev": _of(_chebyshev), "minkowski": _minkowski, "cosine": _of(_cosine), "inner_product": _of(_inner_product),
    "hellinger": _of(_hellinger), "kl_divergence": _of(_kl_divergence), "jensenshannon": _of(_jensenshannon),
    "mahalanobis": _mahalanobis, "canberra": _of(_canberra), "braycurtis": _of(_braycurtis),
    "correlation": _of(_correlation), "haversine": _of(_haversine), "seuclidean": _seuclidean}
