"""torch.ops.kith.*: schemas, fake tensors, gradients, and functions that torch.compile takes whole."""
from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)
import kith  # noqa: E402
import kith.torch as ours  # noqa: E402


def cloud(*shape: int, seed: int = 0) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_operators_keep_their_promises() -> None:
    x, y = cloud(50, 4), cloud(9, 4, seed=1)
    check = torch.library.opcheck
    check(torch.ops.kith.search, (x, y, 3), {"metric": "minkowski", "p": 3.0, "f64": True})
    check(torch.ops.kith.graph, (x, 3), {"include_self": True, "metric": "cosine"})
    check(torch.ops.kith.topk, (x, 2, 0, False, True))
    check(torch.ops.kith.topk, (x.clone().requires_grad_(), 2))
    p1, p2 = cloud(2, 10, 3).requires_grad_(), cloud(2, 12, 3, seed=1).requires_grad_()
    check(torch.ops.kith.knn_points, (p1, p2, torch.tensor([10, 3]), None, 2, 4))
    check(torch.ops.kith.knn, (x, y, 3, torch.arange(50) // 25, torch.arange(9) // 5, False))


def test_options() -> None:
    x, y = cloud(50, 4), cloud(9, 4, seed=1)
    distances, indices = torch.ops.kith.search(x, y, 3, metric="inner_product", f64=True)
    expected = kith.search(x, y, 3, metric="inner_product", f64=True)
    assert distances.dtype == torch.float64 and torch.equal(indices, expected.indices)
    assert torch.equal(distances, expected.distances)
    assert torch.equal(torch.ops.kith.graph(x, 4)[1], kith.graph(x, 4).indices)
    values, places = torch.ops.kith.topk(x, 3, 0, False)
    assert torch.equal(values, x.topk(3, 0, largest=False).values) and torch.equal(x.gather(0, places), values)
    bits = torch.randint(0, 256, (40, 4), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    found = torch.ops.kith.search(bits, bits, 2, metric="hamming", packed_bits=True)
    assert torch.equal(found[1], kith.search(bits, bits, 2, metric="hamming", packed_bits=True).indices)


def test_gradients() -> None:
    values = cloud(3, 9).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda v: torch.ops.kith.topk(v, 4, 1)[0], (values,))
    assert torch.autograd.gradcheck(lambda v: torch.ops.kith.topk(v, 2, 0, False)[0], (values,))
    p1, p2 = cloud(2, 5, 3).double().requires_grad_(), cloud(2, 6, 3, seed=1).double().requires_grad_()
    for norm in (1, 2):
        def dists(a: Any, b: Any, norm: int = norm) -> Any:
            return ours.knn_points(a, b, torch.tensor([5, 2]), torch.tensor([1, 6]), norm=norm, K=3).dists
        assert torch.autograd.gradcheck(dists, (p1, p2))


def test_whole_functions_are_compiled() -> None:
    """fullgraph=True raises where the graph would break."""
    p1, p2 = cloud(2, 20, 3), cloud(2, 30, 3, seed=1)
    lengths = torch.tensor([20, 7])

    def loss(a: Any, b: Any) -> Any:
        found = ours.knn_points(a, b, lengths1=lengths, K=4, return_nn=True)
        assert found.knn is not None
        return found.dists.sqrt().sum() + found.knn.mean(), found.idx

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    a, b = p1.clone().requires_grad_(), p2.clone().requires_grad_()
    ours_, idx = compiled(a, b)
    ours_.backward()
    c, d = p1.clone().requires_grad_(), p2.clone().requires_grad_()
    eager, expected = loss(c, d)
    eager.backward()
    assert torch.equal(idx, expected) and torch.equal(ours_, eager)
    torch.testing.assert_close(a.grad, c.grad, equal_nan=True)
    torch.testing.assert_close(b.grad, d.grad, equal_nan=True)

    def search(x: Any, y: Any) -> Any:
        distances, indices = torch.ops.kith.search(x, y, 3, metric="euclidean")
        values, places = torch.ops.kith.topk(distances, 2, largest=True)
        return values * 2, indices.gather(1, places)

    for got, want in zip(torch.compile(search, fullgraph=True, backend="aot_eager")(p1[0], p2[0]), search(p1[0], p2[0])):
        assert torch.equal(got, want)


def test_edges_of_a_compiled_function() -> None:
    """How many they are depends on the data, which torch.compile has to be told."""
    import torch._dynamo as dynamo
    x, y = cloud(40, 3), cloud(15, 3, seed=1)
    batch_x, batch_y = torch.arange(40) // 20, torch.arange(15) // 8
    with dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(lambda a, b: ours.knn(a, b, 5, batch_x, batch_y) + 0, fullgraph=True, backend="aot_eager")
        assert torch.equal(compiled(x, y), ours.knn(x, y, 5, batch_x, batch_y))


def test_types_and_layouts_of_clouds() -> None:
    p1, p2 = cloud(3, 8, 4).round(), cloud(3, 9, 4, seed=1).round()
    expected = ours.knn_points(p1, p2, K=3)
    for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int32, torch.int64):
        found = ours.knn_points(p1.to(dtype), p2.to(dtype), K=3)
        assert found.dists.dtype == dtype and torch.equal(found.idx, expected.idx)
        assert torch.equal(found.dists.double(), expected.dists.double())
    mixed = ours.knn_points(p1.half(), p2.double(), K=3)
    assert mixed.dists.dtype == torch.float16 and torch.equal(mixed.idx, expected.idx)
    strided = ours.knn_points(p1.transpose(1, 2).contiguous().transpose(1, 2), p2.flip(1).flip(1), K=3)
    assert torch.equal(strided.idx, expected.idx)
    for narrow in (torch.int8, torch.int32):
        found = ours.knn_points(p1, p2, torch.tensor([8, 2, 0]).to(narrow), torch.tensor([9, 9, 1]).to(narrow), K=3)
        assert torch.equal(found.idx[0], expected.idx[0]) and not found.dists[2].any()
    with pytest.raises(ValueError, match="K is 0"):
        ours.knn_points(p1, p2, K=0)
    with pytest.raises(ValueError, match="lengths2: expected 3 numbers from 0 to 0"):
        ours.knn_points(p1, p2[:, :0], lengths2=torch.tensor([0, 1, 0]))
