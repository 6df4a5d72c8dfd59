"""kith.verify: what calls return is exact as it is, what was tampered with is not, and the verdict is that of the command line."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kith

GENERATOR = np.random.default_rng(11)
POINTS = GENERATOR.random((60, 4)).astype(np.float32)
QUERIES = GENERATOR.random((9, 4)).astype(np.float32)
GRID = GENERATOR.integers(0, 3, (80, 2)).astype(np.float32)


def test_results_as_they_are() -> None:
    found, graph = kith.search(POINTS, QUERIES, 5), kith.graph(POINTS, 5)
    assert kith.verify(POINTS, QUERIES, found).verdict == "exact"
    assert kith.verify(POINTS, QUERIES, *found).exact
    assert kith.verify(POINTS, QUERIES, *reversed(found)).exact
    assert kith.verify(POINTS, QUERIES, found.indices).distances == "not compared"
    assert kith.verify(POINTS, QUERIES, indices=found.indices, distances=found.distances).distances == "f32"
    assert kith.verify(POINTS, QUERIES, found.indices, None).exact
    assert kith.verify(POINTS, QUERIES, tuple(found)).exact
    assert kith.verify(POINTS, QUERIES, [list(map(int, row)) for row in found.indices]).exact
    assert kith.verify(POINTS, QUERIES, found.indices.astype(np.uint32), found.distances.astype(np.float64)).distances == "f32"
    assert kith.verify(POINTS, QUERIES, kith.search(POINTS, QUERIES, 5, f64=True)).distances == "f64"
    assert kith.verify(POINTS, None, *graph).exact and kith.verify(POINTS, None, graph).exact
    assert not kith.verify(POINTS, None, graph).include_self
    own = kith.verify(POINTS, None, kith.graph(POINTS, 5, include_self=True))
    assert own.exact and own.include_self
    assert kith.verify(POINTS, None, graph, include_self=True).reasons[0][2].startswith("the row begins with id")


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("valid", [0, 1, 3])
def test_graphs_without_neighbours(include_self: bool, valid: int) -> None:
    points = POINTS[:3].copy()
    points[valid:, 1] = np.nan
    for x in (points, points[:1]):
        for k in (1, 4):
            found = kith.graph(x, k, include_self=include_self)
            assert kith.verify(x, None, found).verdict == "exact"
            assert kith.verify(x, None, found, include_self=include_self).exact
    listed = kith.graph(points, 2, include_self=include_self).indices.copy()
    if valid < 3:
        listed[2, 0] = 2
        assert list(kith.verify(points, None, listed).wrong_rows) == [2]


def test_ties_are_counted_and_exact() -> None:
    distances, indices = kith.search(GRID, GRID, 12)
    row = next(i for i, row in enumerate(distances) if row[3] == row[4])
    indices[row, [3, 4]] = indices[row, [4, 3]]
    found = kith.verify(GRID, GRID, distances, indices)
    assert (found.exact, found.tied, found.recall, list(found.wrong_rows)) == (True, 1, 1.0, [])
    assert found.verdict == "exact up to ties listed in another order"


def test_wrong_rows_and_reasons() -> None:
    distances, indices = kith.search(POINTS, QUERIES, 5)
    other = distances.copy()
    other[:] = 777
    found = kith.verify(POINTS, QUERIES, other, indices)
    assert not found.exact and found.verdict == "NOT exact" and found.recall == 1
    assert list(found.wrong_rows) == list(range(9))
    assert found.reasons[0][:2] == (0, 0) and "777" in found.reasons[0][2]
    close = distances.copy()
    close[3, 1] *= np.float32(1 + 2**-14)
    assert list(kith.verify(POINTS, QUERIES, close, indices).wrong_rows) == [3]
    assert kith.verify(POINTS, QUERIES, close, indices, of_others=True).distances == "nearly"
    assert kith.verify(POINTS, QUERIES, close, indices, of_others=True).exact
    for place, index, why in ((1, 60, "none of the 60"), (1, -2, "id -2"), (1, int(indices[0, 0]), "twice"), (4, -1, "place 5")):
        listed = indices.copy()
        listed[0, place] = index
        found = kith.verify(POINTS, QUERIES, listed)
        assert list(found.wrong_rows) == [0] and why in found.reasons[0][2]
    huge = indices.astype(np.uint64)
    huge[2, 4] = 2**64 - 1  # no -1
    assert list(kith.verify(POINTS, QUERIES, huge).wrong_rows) == [2]


def test_refused() -> None:
    distances, indices = kith.search(POINTS, QUERIES, 5)
    cases: list[tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
        ((), {}, TypeError, "indices"), ((indices, distances, indices), {}, TypeError, "3 arrays"),
        ((indices,), {"indices": indices}, TypeError, "given twice"),
        ((indices, distances), {"distances": distances}, TypeError, "given twice"),
        ((indices, indices), {}, TypeError, "distances: expected float32"), ((distances,), {}, TypeError, "indices"),
        ((indices, distances[:, :3]), {}, ValueError, "shape"), ((indices[:3],), {}, ValueError, "3 rows for 9 queries"),
        ((indices,), {"include_self": 1}, TypeError, "include_self"), ((indices,), {"metric": "nosuch"}, ValueError, "nosuch")]
    for found, named, error, words in cases:
        with pytest.raises(error, match=words):
            kith.verify(POINTS, QUERIES, *found, **named)
