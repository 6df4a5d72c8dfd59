"""Functions of pytorch3d and torch_cluster next to knn: gathered neighbours, balls, radii, the nearest; torch.jit.script of them."""
from __future__ import annotations

from typing import Any, Callable

import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)
import kith.torch as ours  # noqa: E402


def cloud(*shape: int, seed: int = 0) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_neighbors_that_do_not_exist() -> None:
    """Coordinates 0, and no gradient: of clouds shorter than K, of empty ones, whatever lies after their end."""
    p1 = torch.zeros(1, 1, 2)
    p2 = torch.tensor([[[5.0, 5.0], [9.0, 9.0]]], requires_grad=True)
    found = ours.knn_points(p1, p2, lengths2=torch.tensor([1]), K=2, return_nn=True)
    assert found.knn is not None and found.knn.tolist() == [[[[5, 5], [0, 0]]]]
    found.knn.sum().backward()
    assert p2.grad.tolist() == [[[1, 1], [0, 0]]]
    for garbage in (7.0, float("nan"), float("inf")):
        p2 = torch.full((1, 2, 2), garbage, requires_grad=True)
        knn = ours.knn_points(p1, p2, lengths2=torch.tensor([0]), K=2, return_nn=True).knn
        assert knn is not None and not knn.any()
        knn.sum().backward()
        assert not p2.grad.any()
    # A point with NaN is never a neighbour.
    p2 = torch.tensor([[[float("nan"), 1.0], [9.0, 9.0]]])
    found = ours.knn_points(p1, p2, K=2, return_nn=True)
    assert found.knn is not None and found.knn.tolist() == [[[[9, 9], [0, 0]]]]


def test_neighbors_of_padding() -> None:
    """Rows after lengths1 name p2[n, 0], as in pytorch3d: knn is knn_gather(p2, idx, lengths2)."""
    p1, p2 = cloud(3, 6, 3), cloud(3, 5, 3, seed=1)
    lengths1, lengths2 = torch.tensor([6, 2, 0]), torch.tensor([5, 2, 1])
    found = ours.knn_points(p1, p2, lengths1, lengths2, K=4, return_nn=True)
    assert found.knn is not None and torch.equal(found.knn, ours.knn_gather(p2, found.idx, lengths2))
    for n in range(3):
        assert not found.knn[n, :, lengths2[n]:].any() and bool((found.knn[n, :, :lengths2[n]] != 0).any())
    with pytest.raises(ValueError, match="lengths"):
        ours.knn_gather(p2, found.idx, torch.tensor([5, 2]))
    with pytest.raises(ValueError, match="clouds"):
        ours.knn_gather(p2[:2], found.idx)
    assert ours.knn_gather(p2[:, :0], found.idx, torch.tensor([0, 0, 0])).shape == (3, 6, 4, 3)


def test_gradients_beside_garbage() -> None:
    """Rows without a neighbour have no gradient and give none, whatever they or the first row of p2 hold."""
    def gradients(p1: Any, p2: Any, query: Callable[..., Any], **how: Any) -> tuple[Any, Any]:
        p1, p2 = p1.clone().requires_grad_(), p2.clone().requires_grad_()
        query(p1, p2, **how).dists.sum().backward()
        return p1.grad, p2.grad

    for garbage in (float("nan"), float("inf")):
        for query, how in ((ours.knn_points, {}), (ours.knn_points, {"norm": 1}), (ours.ball_query, {"radius": 9.0})):
            p1, p2 = cloud(2, 4, 3), cloud(2, 5, 3, seed=1)
            lengths = {"lengths1": torch.tensor([2, 4]), "lengths2": torch.tensor([3, 0])}
            expected = gradients(p1, p2, query, K=4, **lengths, **how)
            p1[0, 2:], p2[0, 3:], p2[1] = garbage, garbage, garbage
            for a, b in zip(gradients(p1, p2, query, K=4, **lengths, **how), expected):
                assert torch.equal(a, b)
            # Points and queries with NaN, as data.
            p1, p2 = cloud(1, 4, 3), cloud(1, 5, 3, seed=1)
            kept = gradients(p1[:, 1:], p2[:, 1:], query, K=5, **how)
            p1[0, 0], p2[0, 0, 1] = float("nan"), float("nan")
            for a, b in zip(gradients(p1, p2, query, K=5, **how), kept):
                assert not a[:, 0].any() and torch.equal(a[:, 1:], b)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_ball_query(dtype: str) -> None:
    p1, p2 = (part.to(getattr(torch, dtype)) for part in (cloud(3, 20, 3), cloud(3, 30, 3, seed=1)))
    lengths1, lengths2 = torch.tensor([20, 7, 0]), torch.tensor([30, 2, 5])
    found = ours.ball_query(p1, p2, lengths1, lengths2, K=4, radius=1.5)
    assert found.dists.dtype == p1.dtype and found.knn is not None
    for n in range(3):
        for i in range(20):
            squares = ((p1[n, i].double() - p2[n, :lengths2[n]].double())**2).sum(1)
            inside = (squares < 2.25).nonzero().flatten()[:4] if i < lengths1[n] else torch.zeros(0, dtype=torch.int64)
            k = len(inside)
            assert found.idx[n, i].tolist() == inside.tolist() + [-1] * (4 - k)
            torch.testing.assert_close(found.dists[n, i, :k].double(), squares[inside], rtol=1e-3, atol=0)
            assert not found.dists[n, i, k:].any() and not found.knn[n, i, k:].any()
            assert torch.equal(found.knn[n, i, :k], p2[n, inside])
    # A point at the radius is outside.
    edge = ours.ball_query(torch.zeros(1, 1, 1), torch.tensor([[[1.0], [0.5]]]), K=2, radius=1.0)
    assert edge.idx.tolist() == [[[1, -1]]]
    assert ours.ball_query(p1, p2[:, :0], K=2).idx.tolist() == [[[-1, -1]] * 20] * 3
    for wrong in ({"K": 0}, {"radius": -1.0}, {"radius": float("nan")}, {"lengths2": torch.tensor([31, 1, 1])}):
        with pytest.raises(ValueError):
            ours.ball_query(p1, p2, **wrong)  # type: ignore[arg-type,unused-ignore]


def test_ball_query_has_gradients() -> None:
    p1, p2 = cloud(2, 5, 3).double().requires_grad_(), cloud(2, 6, 3, seed=1).double().requires_grad_()
    lengths = torch.tensor([5, 3]), torch.tensor([2, 6])
    assert torch.autograd.gradcheck(lambda a, b: ours.ball_query(a, b, *lengths, K=3, radius=2.0).dists, (p1, p2))
    torch.library.opcheck(torch.ops.kith.ball_query, (p1, p2, *lengths, 3, 2.0))
    compiled = torch.compile(lambda a, b: ours.ball_query(a, b, *lengths, K=3, radius=2.0), fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(p1, p2).idx, ours.ball_query(p1, p2, *lengths, K=3, radius=2.0).idx)


@pytest.mark.parametrize("padding", [float("nan"), float("inf")])
def test_no_gradient_of_what_is_no_neighbor(padding: float) -> None:
    """Padding, and rows with NaN, have none, and leave those of others alone."""
    p1, p2 = cloud(2, 5, 3).double(), cloud(2, 6, 3, seed=1).double()
    lengths = torch.tensor([5, 3]), torch.tensor([2, 6])
    padded = p1.clone(), p2.clone()
    padded[0][1, 3:], padded[1][0, 2:] = padding, padding

    def gradients(run: Any, a: Any, b: Any) -> Any:
        a, b = a.clone().requires_grad_(), b.clone().requires_grad_()
        return torch.autograd.grad(run(a, b).dists.sum(), (a, b))

    for run in (lambda a, b: ours.knn_points(a, b, *lengths, K=3), lambda a, b: ours.knn_points(a, b, *lengths, norm=1, K=3),
                lambda a, b: ours.ball_query(a, b, *lengths, K=3, radius=2.0)):
        for found, expected in zip(gradients(run, *padded), gradients(run, p1, p2)):
            assert torch.equal(found, expected)
    p1[0, 0, 1] = float("nan")
    of_p1, of_p2 = gradients(lambda a, b: ours.knn_points(a, b, K=3), p1, p2)
    assert not of_p1[0, 0].any() and bool(of_p1.isfinite().all()) and bool(of_p2.isfinite().all())


def pairs(x: Any, y: Any, r: float, of_x: Any, of_y: Any) -> list[tuple[int, int]]:
    """All, by the definition: rows of y, and of x in order of distance."""
    squares = ((y.double()[:, None] - x.double()[None])**2).sum(2)
    squares[of_y[:, None] != of_x[None]] = float("inf")
    return [(i, int(j)) for i in range(len(y)) for j in squares[i].argsort(stable=True) if squares[i, j] < r * r]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("batches", ["none", "some", "gaps"])
def test_radius(batches: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = (part.to(getattr(torch, dtype)) for part in (cloud(60, 2), cloud(25, 2, seed=1)))
    of_x, of_y = {"none": (torch.zeros(60, dtype=torch.int64), torch.zeros(25, dtype=torch.int64)),
                  "some": (torch.arange(60) // 20, torch.arange(25) // 9),
                  "gaps": (torch.arange(60) // 20 * 3, torch.arange(25) // 9 + 1)}[batches]
    given = {} if batches == "none" else {"batch_x": of_x, "batch_y": of_y}
    expected = pairs(x, y, 0.8, of_x, of_y)
    for most in (1 << 25, 10):  # by candidates, and by a search of each example
        monkeypatch.setattr("kith._torch_cluster._MOST", most)
        assert list(map(tuple, ours.radius(x, y, 0.8, **given, max_num_neighbors=60).T.tolist())) == expected
        few = ours.radius(x, y, 0.8, **given, max_num_neighbors=3).T.tolist()
        assert few == [list(pair) for i in range(25) for pair in [pair for pair in expected if pair[0] == i][:3]]
        among = ours.radius(x, x, 0.8, of_x, of_x, max_num_neighbors=60, ignore_same_index=True)
        assert list(map(tuple, among.T.tolist())) == [pair for pair in pairs(x, x, 0.8, of_x, of_x) if pair[0] != pair[1]]
        assert torch.equal(ours.radius_graph(x, 0.8, of_x, max_num_neighbors=60), among.flip(0))
        one = ours.radius_graph(x, 100.0, of_x, max_num_neighbors=1, flow="target_to_source")
        assert one[0].tolist() == list(range(60))
    assert ours.radius_graph(x, 0.8, of_x, loop=True).shape[1] >= 60


def test_edges_of_radii() -> None:
    x = torch.tensor([0.0, 1.0, 2.0])
    assert ours.radius(x, x[:1], 1.0).tolist() == [[0], [0]]  # strictly nearer
    assert ours.radius(x, x[:0], 1.0).shape == ours.radius(x[:0], x, 1.0).shape == (2, 0)
    assert ours.radius(x, x, 5.0, max_num_neighbors=0).shape == ours.radius(x, x, 0.0).shape == (2, 0)
    duplicates = torch.zeros(6, 2)
    assert ours.radius_graph(duplicates, 1.0, max_num_neighbors=1)[1].tolist() == list(range(6))
    assert ours.knn_graph(duplicates, 2)[1].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    for wrong in ({"r": -1.0}, {"r": float("nan")}, {"r": 1.0, "max_num_neighbors": -1}, {"r": 1.0, "batch_size": 0}):
        with pytest.raises(ValueError):
            ours.radius(x, x, **wrong)  # type: ignore[arg-type,unused-ignore]
    with pytest.raises(ValueError, match="flow"):
        ours.radius_graph(x, 1.0, flow="down")


def test_batches() -> None:
    """batch_size as torch_cluster takes it; one batch alone where there are several examples is an error."""
    x, y = cloud(40, 3), cloud(12, 3, seed=1)
    of_x, of_y = torch.arange(40) // 20, torch.arange(12) // 6
    both = ours.knn(x, y, 3, of_x, of_y)
    assert torch.equal(ours.knn(x, y, 3, of_x, of_y, batch_size=2), both)
    assert torch.equal(ours.knn(x, y, 3, of_x, of_y, batch_size=5), both)
    assert torch.equal(ours.knn(x, y, 3, of_x, of_y, batch_size=1), ours.knn(x, y, 3))
    assert torch.equal(ours.knn(x, y, 3, of_x * 0), ours.knn(x, y, 3))
    third = ours.knn(x, y, 3, of_x * 2, of_y * 2, batch_size=2)
    assert torch.equal(third, both[:, both[0] < 6])  # rows of later examples are left out
    for alone in ({"batch_x": of_x}, {"batch_y": of_y}, {"batch_size": 2}):
        with pytest.raises(ValueError, match="expected both"):
            ours.knn(x, y, 3, **alone)  # type: ignore[arg-type,unused-ignore]
        with pytest.raises(ValueError, match="expected both"):
            ours.radius(x, y, 3.0, **alone)  # type: ignore[arg-type,unused-ignore]
    assert torch.equal(ours.knn_graph(x, 3, of_x, batch_size=1), ours.knn_graph(x, 3))


def test_nearest() -> None:
    x, y = cloud(50, 3), cloud(9, 3, seed=1)
    assert torch.equal(ours.nearest(x, y), torch.cdist(x.double(), y.double()).argmin(1))
    of_x, of_y = torch.arange(50) // 25, torch.arange(9) // 5
    found = ours.nearest(x, y, of_x, of_y)
    assert torch.equal(of_y[found], of_x)
    assert torch.equal(ours.nearest(x, y, of_x * 0), ours.nearest(x, y))
    assert ours.nearest(x[:0], y).shape == (0,)
    for batches in ((of_x.flip(0), of_y), (of_x, of_y.flip(0))):
        with pytest.raises(ValueError, match="is not sorted"):
            ours.nearest(x, y, *batches)
    with pytest.raises(ValueError, match="do not occur in 'batch_y'"):
        ours.nearest(x, y, of_x, of_y * 2)
    x[3, 1] = float("nan")
    with pytest.raises(ValueError, match="row 3"):
        ours.nearest(x, y)


def test_scripted() -> None:
    x, y = cloud(40, 3), cloud(12, 3, seed=1)
    of_x, of_y = torch.arange(40) // 20, torch.arange(12) // 6
    calls: list[tuple[Any, Any, dict[str, Any]]] = [
            (ours.knn, (x, y, 3), {}), (ours.knn, (x, y, 3, of_x, of_y), {"cosine": True}), (ours.knn_graph, (x, 3), {}),
            (ours.knn_graph, (x, 3, of_x, True, "target_to_source"), {"batch_size": 2}), (ours.radius, (x, y, 1), {}),
            (ours.radius, (x, y, 0.7, of_x, of_y), {"max_num_neighbors": 2}), (ours.radius_graph, (x, 1.5), {}),
            (ours.radius_graph, (x, 1.5, of_x), {"loop": True, "flow": "target_to_source"})]
    for function, arguments, named in calls:
        scripted = torch.jit.script(function)  # type: ignore[no-untyped-call,unused-ignore]
        assert torch.equal(scripted(*arguments, **named), function(*arguments, **named))  # type: ignore[operator,unused-ignore]
    with pytest.raises(Exception, match="flow is down"):
        torch.jit.script(ours.knn_graph)(x, 3, flow="down")  # type: ignore[no-untyped-call,operator,unused-ignore]


def test_operators_keep_their_promises() -> None:
    x, y = cloud(40, 3), cloud(12, 3, seed=1)
    of_x, of_y = torch.arange(40) // 20, torch.arange(12) // 6
    torch.library.opcheck(torch.ops.kith.radius, (x, y, 0.8, of_x, of_y, 4, None, False))
    torch.library.opcheck(torch.ops.kith.knn_graph, (x, 3, of_x))
    import torch._dynamo as dynamo
    functions: list[Callable[[Any, Any], Any]] = [lambda a, b: ours.radius(a, b, 0.8, of_x, of_y) + 0,
                                                  lambda a, b: ours.knn_graph(a, 3, of_x) + 0]
    with dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        for function in functions:
            assert torch.equal(torch.compile(function, fullgraph=True, backend="aot_eager")(x, y), function(x, y))
