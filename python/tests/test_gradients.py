"""Gradients of distances, against torch's own of each metric's formula in float64."""
from __future__ import annotations

import gc
from typing import Any, Callable

import numpy as np
import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)
import kith  # noqa: E402
import kith.torch  # noqa: E402

INVERSE = torch.tensor([[2.0, 0.5, 0], [0.5, 1, 0.25], [0, 0.25, 3]], dtype=torch.float64)
VARIANCES = torch.tensor([0.5, 2.0, 3.0], dtype=torch.float64)


def cosine(q: Any, x: Any) -> Any:
    return 1 - (q * x).sum(-1) / (q.norm(dim=-1) * x.norm(dim=-1))


def jensenshannon(q: Any, x: Any) -> Any:
    q, x = q / q.sum(-1, keepdim=True), x / x.sum(-1, keepdim=True)
    mean = (q + x) / 2
    return (((q * (q / mean).log()).sum(-1) + (x * (x / mean).log()).sum(-1)) / 2).sqrt()


def haversine(q: Any, x: Any) -> Any:
    lat, lon = q[..., 0] - x[..., 0], q[..., 1] - x[..., 1]
    return 2 * ((lat / 2).sin()**2 + q[..., 0].cos() * x[..., 0].cos() * (lon / 2).sin()**2).sqrt().asin()


# Metric, its other arguments, the formula, coordinates of a point.
FORMULAS: list[tuple[str, dict[str, Any], Callable[[Any, Any], Any], int]] = [
    ("sqeuclidean", {}, lambda q, x: ((q - x)**2).sum(-1), 3),
    ("euclidean", {}, lambda q, x: ((q - x)**2).sum(-1).sqrt(), 3),
    ("cityblock", {}, lambda q, x: (q - x).abs().sum(-1), 3),
    ("chebyshev", {}, lambda q, x: (q - x).abs().amax(-1), 3),
    ("minkowski", {"p": 3.0}, lambda q, x: ((q - x).abs()**3).sum(-1)**(1 / 3), 3),
    ("minkowski", {"p": 1.5}, lambda q, x: ((q - x).abs()**1.5).sum(-1)**(1 / 1.5), 3),
    ("minkowski", {"p": 1.0}, lambda q, x: (q - x).abs().sum(-1), 3),
    ("minkowski", {"p": float("inf")}, lambda q, x: (q - x).abs().amax(-1), 3),
    ("cosine", {}, cosine, 3),
    ("inner_product", {}, lambda q, x: (q * x).sum(-1), 3),
    ("hellinger", {}, lambda q, x: (((q.sqrt() - x.sqrt())**2).sum(-1) / 2).sqrt(), 3),
    ("kl_divergence", {}, lambda q, x: (q * (q / x).log()).sum(-1), 3),
    ("jensenshannon", {}, jensenshannon, 3),
    ("mahalanobis", {"inverse_covariance": INVERSE}, lambda q, x: torch.einsum("...i,ij,...j", q - x, INVERSE, q - x).sqrt(), 3),
    ("canberra", {}, lambda q, x: ((q - x).abs() / (q.abs() + x.abs())).sum(-1), 3),
    ("braycurtis", {}, lambda q, x: (q - x).abs().sum(-1) / (q + x).abs().sum(-1), 3),
    ("correlation", {}, lambda q, x: cosine(q - q.mean(-1, keepdim=True), x - x.mean(-1, keepdim=True)), 4),
    ("haversine", {}, haversine, 2),
    ("seuclidean", {"variances": VARIANCES}, lambda q, x: ((q - x)**2 / VARIANCES).sum(-1).sqrt(), 3),
]
EACH = pytest.mark.parametrize("metric, how, formula, d", FORMULAS, ids=[f"{m}{h.get('p', '')}" for m, h, _, _ in FORMULAS])


def positive(rows: int, d: int, seed: int) -> Any:
    """Coordinates of any metric: at least 0, and radians."""
    return torch.rand((rows, d), generator=torch.Generator().manual_seed(seed), dtype=torch.float64).add(0.05).requires_grad_()


def gradients(value: Any, *of: Any) -> list[Any]:
    weights = torch.arange(1.0, value.numel() + 1, dtype=value.dtype).reshape(value.shape).cos()
    return list(torch.autograd.grad((value * weights).sum(), of))


def near(found: list[Any], expected: list[Any]) -> None:
    for a, b in zip(found, expected):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)


@EACH
def test_every_call(metric: str, how: dict[str, Any], formula: Callable[[Any, Any], Any], d: int) -> None:
    x, q = positive(12, d, 0), positive(5, d, 1)
    found = kith.search(x, q, 4, metric=metric, f64=True, **how)
    plain = kith.search(x.detach(), q.detach(), 4, metric=metric, f64=True, **how)
    assert torch.equal(found.distances, plain.distances) and torch.equal(found.indices, plain.indices)
    assert found.distances.requires_grad and found.report.queries == 5 and not found.indices.requires_grad
    near(gradients(found.distances, x, q), gradients(formula(q[:, None], x[found.indices]), x, q))

    index = kith.Index(x, metric=metric, **how)
    near(gradients(index.search(q, 4, f64=True).distances, x, q), gradients(formula(q[:, None], x[found.indices]), x, q))
    for graph in (kith.graph(x, 3, metric=metric, f64=True, **how), index.graph(3, f64=True)):
        near(gradients(graph.distances, x), gradients(formula(x[:, None], x[graph.indices]), x))

    r = float(found.distances.detach().mean())
    for within in (kith.radius(x, q, r, metric=metric, f64=True, **how), index.radius(q, r, f64=True)):
        rows = torch.repeat_interleave(torch.arange(5), within.offsets.diff())
        near(gradients(within.distances, x, q), gradients(formula(q[rows], x[within.indices]), x, q))
    for within in (kith.radius_graph(x, r, metric=metric, f64=True, **how), index.radius_graph(r, f64=True),
                   kith.radius(x, None, r, metric=metric, f64=True, **how)):
        rows = torch.repeat_interleave(torch.arange(12), within.offsets.diff())
        assert len(rows)
        near(gradients(within.distances, x), gradients(formula(x[rows], x[within.indices]), x))

    near(gradients(kith.distances(x, q, metric=metric, f64=True, **how), x, q), gradients(formula(q[:, None], x[None]), x, q))
    if not how or "p" in how:
        many = kith.search_batches(x, q, [[0, 6, 0, 3], [4, 8, 3, 2]], 3, metric=metric, f64=True, **how)
        starts = torch.tensor([0, 0, 0, 4, 4])[:, None]
        near(gradients(many.distances, x, q), gradients(formula(q[:, None], x[many.indices + starts]), x, q))
    if metric != "inner_product":
        pairs, distances = kith.match(q, x, metric=metric, **how)
        near(gradients(distances, x, q), gradients(formula(q[pairs[:, 0]], x[pairs[:, 1]]), x, q))


@EACH
def test_twice_and_by_transforms(metric: str, how: dict[str, Any], formula: Callable[[Any, Any], Any], d: int) -> None:
    x, q = positive(6, d, 2), positive(3, d, 3)
    where = kith.search(x.detach(), q.detach(), 2, metric=metric, **how).indices

    def ours(x: Any, q: Any) -> Any:
        return kith.search(x, q, 2, metric=metric, f64=True, **how).distances

    def plain(x: Any, q: Any) -> Any:
        return formula(q[:, None], x[where])

    def twice(of: Any) -> list[Any]:
        first = torch.autograd.grad((of(x, q)**2).sum(), (x, q), create_graph=True)
        return list(torch.autograd.grad(sum((part * part).sum() for part in first), (x, q)))

    for a, b in zip(twice(ours), twice(plain)):
        torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-9)
    a, b = x.detach(), q.detach()
    assert torch.autograd.gradcheck(ours, (x, q))
    near([torch.func.grad(lambda a: ours(a, b).sum())(a)], [torch.func.grad(lambda a: plain(a, b).sum())(a)])
    near([torch.func.jacrev(ours, 1)(a, b)], [torch.func.jacrev(plain, 1)(a, b)])
    near([torch.func.jvp(ours, (a, b), (b[:1] + a, b))[1]], [torch.func.jvp(plain, (a, b), (b[:1] + a, b))[1]])


def test_vmap() -> None:
    clouds, asked = torch.rand(4, 9, 3), torch.rand(4, 5, 3)
    found = torch.func.vmap(lambda x, q: tuple(kith.search(x, q, 2)))(clouds, asked)
    for i in range(4):
        assert all(torch.equal(a[i], b) for a, b in zip(found, kith.search(clouds[i], asked[i], 2)))
    shared = torch.func.vmap(lambda q: kith.search(clouds[0], q, 2).distances)(asked)
    assert torch.equal(shared[3], kith.search(clouds[0], asked[3], 2).distances)
    slopes = torch.func.vmap(torch.func.grad(lambda x, q: kith.search(x, q, 2).distances.sum()))(clouds, asked)
    x = clouds[1].clone().requires_grad_()
    kith.search(x, asked[1], 2).distances.sum().backward()
    torch.testing.assert_close(slopes[1], x.grad)
    bits = torch.randint(0, 2, (4, 9, 6)).float()
    near_bits = torch.func.vmap(lambda x: kith.graph(x, 2, metric="hamming").indices)(bits)  # which has no gradient
    assert torch.equal(near_bits[2], kith.graph(bits[2], 2, metric="hamming").indices)
    with pytest.raises(ValueError, match="^metric: 'hamming' has no gradient"):
        torch.func.jvp(lambda x: kith.graph(x, 2, metric="hamming").distances, (bits[0],), (bits[1],))
    with pytest.raises(ValueError, match="vmap"):
        torch.func.vmap(lambda q: kith.radius(clouds[0], q, 1).distances)(asked)


@pytest.mark.parametrize("norm", [1, 2])
def test_knn_points(norm: int) -> None:
    p1, p2 = torch.rand(2, 5, 3, dtype=torch.float64), torch.rand(2, 7, 3, dtype=torch.float64)
    lengths = torch.tensor([5, 2]), torch.tensor([1, 7])

    def dists(a: Any, b: Any) -> Any:
        return kith.torch.knn_points(a, b, *lengths, norm=norm, K=3).dists

    def loss(a: Any, b: Any) -> Any:
        return (dists(a, b)**2).sum()

    a, b = p1.clone().requires_grad_(), p2.clone().requires_grad_()
    loss(a, b).backward()
    near(list(torch.func.grad(loss, (0, 1))(p1, p2)), [a.grad, b.grad])
    assert torch.autograd.gradcheck(dists, (a, b)) and torch.autograd.gradgradcheck(dists, (a, b))
    many = torch.func.vmap(dists, (1, None))(torch.stack([p1, p1 + 1], 1), p2)
    assert torch.equal(many[1], dists(p1 + 1, p2))
    slopes = torch.func.vmap(torch.func.grad(loss), (0, None))(torch.stack([p1, p1 + 1]), p2)
    torch.testing.assert_close(slopes[0], a.grad)


@pytest.mark.parametrize("metric, how, formula, d", FORMULAS)
def test_nothing_is_nan(metric: str, how: dict[str, Any], formula: Callable[[Any, Any], Any], d: int) -> None:
    """Equal vectors, zeros, rows with NaN, neighbours that do not exist: once and twice."""
    x = torch.rand(6, d, dtype=torch.float64)
    x[1] = x[0]
    x[2] = 0
    x[3] = 0.25
    nan = x.clone()
    nan[0, 1] = torch.nan
    for points, k in ((x, 6), (x[:3], 5), (nan, 6)):
        of, asked = points.clone().requires_grad_(), points.clone().requires_grad_()
        found = kith.search(of, asked, k, metric=metric, f64=True, missing="ignore", **how)
        there = (found.indices >= 0) & found.distances.isfinite()
        first = torch.autograd.grad(found.distances[there].sum(), (of, asked), create_graph=True)
        second = torch.autograd.grad(sum((part**2).sum() for part in first), (of, asked), allow_unused=True)
        for part in (*first, *second):
            assert part is None or part.isfinite().all()
        if points is nan:
            assert not first[0][0].any() and not first[1][0].any()
    graph = kith.graph(x.clone().requires_grad_(), 3, include_self=True, metric=metric, f64=True, **how)
    assert graph.distances.requires_grad


def test_other_calls_within_transforms_say_so() -> None:
    for call in (lambda x: kith.Index(x).search(x, 1).distances, lambda x: kith.radius_counts(x, None, 1).counts,
                 lambda x: kith.topk(x, 1).values):
        with pytest.raises(TypeError, match="^(points|values): has no memory within a transform of torch.func"):
            torch.func.vmap(call)(torch.rand(2, 9, 3))


def test_of_nothing() -> None:
    """At distance 0 the derivative is 0; ties of chebyshev are shared, as torch.amax has them."""
    x = torch.tensor([[1.0, 1], [0, 0]], requires_grad=True)
    for how in ({"metric": "euclidean"}, {"metric": "cityblock"}, {"metric": "chebyshev"}, {"metric": "canberra"},
                {"metric": "minkowski", "p": 3}):
        slope, = torch.autograd.grad(kith.search(x, torch.ones(1, 2), 1, **how).distances.sum(), x)
        assert not slope.any()
    slope, = torch.autograd.grad(kith.search(x[1:], torch.ones(1, 2), 1, metric="chebyshev").distances.sum(), x)
    assert torch.equal(slope, torch.tensor([[0.0, 0], [-0.5, -0.5]]))
    huge = torch.tensor([[3e160, 0.0]], dtype=torch.float64, requires_grad=True)
    slope, = torch.autograd.grad(kith.search(huge, huge.detach() * 0 - 4e160, 1, metric="euclidean").distances.sum(), huge)
    torch.testing.assert_close(slope, torch.tensor([[7.0, 4.0]], dtype=torch.float64) / 65**0.5)


@pytest.mark.parametrize("metric, name", [("mahalanobis", "inverse_covariance"), ("seuclidean", "variances")])
def test_estimated_parameters(metric: str, name: str) -> None:
    x, q = positive(9, 3, 4), positive(4, 3, 5)
    estimate = torch.from_numpy(getattr(kith, name)(x.detach()))
    estimated = gradients(kith.search(x, q, 2, metric=metric, f64=True).distances, x, q)
    given = gradients(kith.search(x, q, 2, metric=metric, f64=True, **{name: estimate}).distances, x, q)
    near(estimated, given)
    with pytest.raises(ValueError, match=f"^{name}: requires a gradient"):
        kith.search(x, q, 2, metric=metric, **{name: estimate.requires_grad_()})


def test_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    from kith import _derivatives
    x, q = positive(30, 3, 6), positive(11, 3, 7)
    whole = gradients(kith.search(x, q, 7, metric="cosine", f64=True).distances, x, q)
    monkeypatch.setattr(_derivatives, "_AT_ONCE", 13)
    near(gradients(kith.search(x, q, 7, metric="cosine", f64=True).distances, x, q), whole)
    torch.func.jvp(lambda q: kith.distances(x.detach(), q), (q.detach(),), (q.detach(),))


def test_types() -> None:
    x, q = torch.rand(20, 4), torch.rand(6, 4, dtype=torch.bfloat16, requires_grad=True)
    bytes_ = (x * 20).to(torch.uint8)
    for points in (x, x.half(), bytes_, x.numpy()):
        found = kith.search(points, q, 3)
        found.distances.sum().backward()
        assert q.grad is not None and q.grad.dtype == torch.bfloat16 and q.grad.any()
    x.requires_grad_()
    kith.search(x, q.detach(), 3).distances.sum().backward()
    assert x.grad is not None
    with torch.no_grad():
        assert not kith.search(x, q, 3).distances.requires_grad
    with pytest.raises(TypeError, match="points: require a gradient, which results of queries"):
        kith.search(x, q.detach().float().numpy(), 3)


def test_what_has_no_gradient_says_so() -> None:
    x = torch.randint(0, 2, (20, 4)).float().requires_grad_()
    refused: list[dict[str, Any]] = [{"metric": name} for name in ("hamming", "jaccard", "dice")]
    for how in (*refused, {"formula": "a + fabs(q - x)"}):
        with pytest.raises(ValueError, match="^metric: '(hamming|jaccard|dice|formula)' has no gradient"):
            kith.search(x, x, 2, **how)
        kith.search(x.detach(), x.detach(), 2, **how)
    with pytest.raises(ValueError, match="^out: no gradient"):
        kith.search(x, x, 2, out=(torch.empty(20, 2), torch.empty(20, 2, dtype=torch.int64)))
    with pytest.raises(ValueError, match="^points: requires a gradient, which radius_blocks would drop"):
        kith.radius_blocks(x, None, 1)
    with pytest.raises(ValueError, match="^queries: requires a gradient, which kith.shards would drop"):
        kith.shards.search(x.detach(), 0, x, 2)
    for alias in ("l2", "manhattan", "linf", "ip", "kl", "js", "angular", "lp", "l2sq"):
        assert kith.search(x, x, 2, metric=alias).distances.requires_grad


@pytest.mark.parametrize("metric, name", [("mahalanobis", "inverse_covariance"), ("seuclidean", "variances")])
def test_parameters_have_no_gradient_and_say_so(metric: str, name: str) -> None:
    """Also where nothing else asks for one."""
    points = torch.rand(10, 3, dtype=torch.float64)
    parameter = (INVERSE if name == "inverse_covariance" else VARIANCES).clone().requires_grad_()
    how: dict[str, Any] = {"metric": metric, name: parameter}
    for call in (lambda: kith.search(points, points, 2, **how), lambda: kith.graph(points, 2, **how),
                 lambda: kith.Index(points, **how), lambda: kith.distances(points, points, **how),
                 lambda: kith.radius(points, points, 1.0, **how), lambda: kith.match(points, points, **how)):
        with pytest.raises(ValueError, match=f"^{name}: requires a gradient"):
            call()
        with torch.no_grad():
            call()


def test_an_index_without_a_metric() -> None:
    """Squares of a search, Euclidean distances within a radius."""
    x, q = positive(12, 3, 10), positive(5, 3, 11)
    index = kith.Index(x)
    for found, named, of in ((index.search(q, 3, f64=True), kith.search(x, q, 3, metric="sqeuclidean", f64=True), (x, q)),
                             (index.radius(q, 0.8, f64=True), kith.radius(x, q, 0.8, metric="euclidean", f64=True), (x, q)),
                             (index.radius_graph(0.8, f64=True), kith.radius_graph(x, 0.8, f64=True), (x,))):
        assert len(found.distances) and torch.equal(found.distances, named.distances)
        near(gradients(found.distances, *of), gradients(named.distances, *of))


def test_an_index_needs_its_points() -> None:
    x, q = torch.rand(20, 4), torch.rand(6, 4, requires_grad=True)
    index = kith.Index(x, metric="cosine")
    assert index.search(q, 3).distances.requires_grad
    with torch.no_grad():
        x[0, 0] += 1
    with pytest.raises(ValueError, match="changed in place"):
        index.search(q, 3)
    index = kith.Index(torch.rand(20, 4))
    gc.collect()
    with pytest.raises(ValueError, match="gone"):
        index.search(q, 3)
    index.search(q.detach(), 3)
    array = np.random.default_rng(0).random((20, 4), np.float32)
    assert kith.Index(array).search(q, 3).distances.requires_grad


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "minkowski", "mahalanobis", "seuclidean"])
def test_operators(metric: str) -> None:
    """torch.ops.kith.search and graph: eager, and within compiled functions."""
    x, q = positive(12, 3, 8), positive(5, 3, 9)
    how: dict[str, Any] = {"metric": metric, "f64": True, **({"p": 3.0} if metric == "minkowski" else {})}

    def loss(x: Any, q: Any) -> Any:
        found = torch.ops.kith.search(x, q, 3, **how)[0]
        return found.sum() + (torch.ops.kith.graph(x, 2, **how)[0]**2).sum()

    found = kith.search(x, q, 3, **how).distances
    expected = torch.autograd.grad(found.sum() + (kith.graph(x, 2, **how).distances**2).sum(), (x, q))
    near(list(torch.autograd.grad(loss(x, q), (x, q))), list(expected))
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    near(list(torch.autograd.grad(compiled(x, q), (x, q))), list(expected))
    torch.library.opcheck(torch.ops.kith.search, (x, q, 3), how)
    torch.library.opcheck(torch.ops.kith.graph, (x, 3), {**how, "include_self": True})
