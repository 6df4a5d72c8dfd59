"""kith.torch: operators under torch.compile's checks, pytorch3d's and torch_cluster's functions by their definitions."""
from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)
import kith  # noqa: E402
import kith.torch as ours  # noqa: E402


def cloud(*shape: int, seed: int = 0) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_operators() -> None:
    x = cloud(50, 4)
    torch.library.opcheck(torch.ops.kith.search, (x, x[:5], 3))
    torch.library.opcheck(torch.ops.kith.topk, (x, 2, 0))
    distances, indices = torch.ops.kith.search(x, x[:5], 3, metric="euclidean")
    expected = torch.cdist(x[:5].double(), x.double()).topk(3, largest=False)
    assert torch.equal(indices, expected.indices)
    torch.testing.assert_close(distances, expected.values.float(), atol=1e-6, rtol=1e-5)


def test_compiled_operators() -> None:
    """Compiled whole, without a break of the graph, as part of other work; also of a number of rows that changes."""
    def step(points: Any, queries: Any) -> Any:
        distances, indices = torch.ops.kith.search(points * 2, queries + 1, 5)
        values, _ = torch.ops.kith.topk(-distances, 2)
        return indices + 1, values.exp()

    compiled = torch.compile(step, fullgraph=True)
    for rows in (40, 40, 17, 9):
        points, queries = cloud(300, 8), cloud(rows, 8, seed=rows)
        found, expected = compiled(points, queries), step(points, queries)
        assert torch.equal(found[0], expected[0])
        torch.testing.assert_close(found[1], expected[1])


@pytest.mark.parametrize("norm", [1, 2])
def test_knn_points(norm: int) -> None:
    p1, p2 = cloud(3, 20, 3).double().requires_grad_(), cloud(3, 30, 3, seed=1).double().requires_grad_()
    lengths1, lengths2 = torch.tensor([20, 7, 0]), torch.tensor([30, 2, 5])
    found = ours.knn_points(p1, p2, lengths1, lengths2, norm=norm, K=4, return_nn=True)
    assert found.dists.shape == found.idx.shape == (3, 20, 4) and found.knn is not None and found.knn.shape == (3, 20, 4, 3)
    for n in range(3):
        a, b = p1[n, :lengths1[n]].detach(), p2[n, :lengths2[n]].detach()
        if not len(a):
            assert not found.dists[n].any()
            continue
        every = ((a[:, None] - b[None]).abs() ** norm).sum(2)
        k = min(4, len(b))
        nearest = every.topk(k, largest=False)
        assert torch.equal(found.idx[n, :len(a), :k], nearest.indices)
        torch.testing.assert_close(found.dists[n, :len(a), :k], nearest.values, rtol=1e-6, atol=1e-6)
        assert not found.dists[n, :, k:].any()
    weights = cloud(3, 20, 4, seed=2).double()
    (found.dists * weights).sum().backward()
    expected1, expected2 = p1.detach().clone().requires_grad_(), p2.detach().clone().requires_grad_()
    gathered = ours.knn_gather(expected2, found.idx)
    known = (found.dists.detach() != 0).double()
    (((expected1[:, :, None] - gathered).abs() ** norm).sum(3) * weights * known).sum().backward()
    torch.testing.assert_close(p1.grad, expected1.grad)
    torch.testing.assert_close(p2.grad, expected2.grad)


@pytest.mark.parametrize("gradient", [False, True])
def test_knn_points_are_searches(gradient: bool) -> None:
    """The bits of a search of each cloud, NaN and ties among them; what does not exist is at index and distance 0."""
    p1, p2 = cloud(4, 50, 3).round(), cloud(4, 60, 3, seed=1).round()
    p2[1, 3, 0] = p1[2, 4, 1] = float("nan")
    lengths1, lengths2 = torch.tensor([50, 40, 50, 50]), torch.tensor([60, 8, 60, 0])
    found = ours.knn_points(p1.requires_grad_(gradient), p2, lengths1, lengths2, K=9)
    assert found.dists.requires_grad == gradient
    p1 = p1.detach()
    for n in range(4):
        dists, idx = torch.zeros(50, 9), torch.zeros(50, 9, dtype=torch.int64)
        if lengths2[n]:
            alone = kith.search(p2[n, :lengths2[n]], p1[n, :lengths1[n]], 9)
            missing = alone.indices < 0
            dists[:lengths1[n]] = alone.distances.masked_fill(missing, 0)
            idx[:lengths1[n]] = alone.indices.masked_fill(missing, 0)
        assert torch.equal(found.idx[n], idx) and torch.equal(found.dists[n], dists)


def test_knn_points_in_double() -> None:
    p1, p2 = cloud(1, 4, 3).double().requires_grad_(), cloud(1, 6, 3, seed=1).double().requires_grad_()
    torch.autograd.gradcheck(lambda a, b: ours.knn_points(a, b, K=2).dists, (p1, p2))
    far = ours.knn_points(torch.zeros(1, 1, 1).double(), torch.tensor([[[1e-30], [1e30]]], dtype=torch.float64), K=2).dists
    torch.testing.assert_close(far.flatten(), torch.tensor([1e-60, 1e60], dtype=torch.float64), atol=0, rtol=1e-15)


def test_lengths_and_batches_are_checked() -> None:
    x = cloud(1, 5, 3)
    with pytest.raises(ValueError, match="lengths1"):
        ours.knn_points(x, x, torch.tensor([6]))
    with pytest.raises(ValueError, match="lengths2"):
        ours.knn_points(x, x, torch.tensor([5]), torch.tensor([-1]))
    with pytest.raises(ValueError, match="lengths2: expected 1 numbers, got shape"):
        ours.knn_points(x, x, torch.tensor([5]), torch.tensor([1, 1]))
    with pytest.raises(ValueError, match="batch"):
        ours.knn(x[0], x[0], 2, torch.zeros(3, dtype=torch.int64), torch.zeros(5, dtype=torch.int64))
    knn = ours.knn_points(x, x[:, :0], K=2, return_nn=True).knn
    assert knn is not None and knn.shape == (1, 5, 2, 3)


def test_knn() -> None:
    x, y = cloud(40, 3), cloud(15, 3, seed=1)
    batch_x, batch_y = torch.arange(40) // 20, torch.arange(15) // 8
    rows, neighbors = ours.knn(x, y, 25, batch_x, batch_y)
    assert len(rows) == 15 * 20
    assert torch.equal(batch_y[rows], batch_x[neighbors])
    for narrow in (torch.int8, torch.uint8, torch.int16, torch.int32):
        assert torch.equal(ours.knn(x, y, 25, batch_x.to(narrow), batch_y.to(narrow)), torch.stack([rows, neighbors]))
    # Examples of points alone, of queries alone, and of neither.
    rows, neighbors = ours.knn(x, y, 2, 3 * batch_x, 3 * batch_y + 3)
    assert torch.equal(rows, torch.arange(8).repeat_interleave(2)) and bool((neighbors >= 20).all())
    rows, neighbors = ours.knn(x, y, 3)
    expected = torch.cdist(y.double(), x.double()).topk(3, largest=False).indices
    assert torch.equal(neighbors.view(15, 3), expected) and torch.equal(rows, torch.arange(15).repeat_interleave(3))
    assert ours.knn(x, y, 3, cosine=True).shape == (2, 45)
    assert ours.knn(x, y[:0], 3).shape == (2, 0)
    with pytest.raises(ValueError, match="ascending"):
        ours.knn(x, y, 3, batch_x.flip(0), batch_y)


def test_knn_graph() -> None:
    x = cloud(30, 3)
    x[10:20] = x[10]  # duplicates: the point itself may not be among its k + 1 nearest
    for loop in (False, True):
        neighbors, rows = ours.knn_graph(x, 4, loop=loop)
        assert len(rows) == 120 and bool((rows == neighbors).any()) == loop
    assert torch.equal(ours.knn_graph(x, 4, flow="target_to_source"), ours.knn_graph(x, 4).flip(0))
    assert ours.knn_graph(x[:2], 4).tolist() == [[1, 0], [0, 1]]
    with pytest.raises(ValueError, match="flow"):
        ours.knn_graph(x, 4, flow="down")
