"""Searches in shards and their merge, against one search."""
from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from oracle import small

import kith
import kith.shards

POINTS, QUERIES = small(300, 5), small(20, 5, 1)
POINTS[11], QUERIES[4, 0] = np.nan, np.nan


def of_parts(cuts: list[int], k: int, graph: bool, **how: Any) -> list[kith.shards.Partial]:
    parts = []
    for first, last in zip([0, *cuts], [*cuts, 300]):
        shard = POINTS[first:last]
        parts.append(kith.shards.graph(shard, first, POINTS[40:90], 40, k, **how) if graph
                     else kith.shards.search(shard, first, QUERIES, k, **how))
    return parts


@pytest.mark.parametrize("how", [{}, {"metric": "euclidean"}, {"metric": "inner_product"}, {"metric": "minkowski", "p": 1.5},
                                 {"metric": "seuclidean", "variances": np.arange(1.0, 6.0)}, {"formula": "a + fabs(q - x)"}])
@pytest.mark.parametrize("graph", [False, True])
def test_one_search(how: dict[str, Any], graph: bool) -> None:
    for k in (1, 7, 50, 310):
        parts = of_parts([3, 60, 61, 200], k, graph, **how)
        for f64 in (False, True):
            expected = kith.graph(POINTS, k, f64=f64, **how) if graph else kith.search(POINTS, QUERIES, k, f64=f64, **how)
            rows = slice(40, 90) if graph else slice(None)
            for order in (parts, parts[::-1], parts[2:] + parts[:2], parts + parts):
                found = kith.shards.finish(kith.shards.merge(*order), f64=f64, **how)
                np.testing.assert_array_equal(found.indices, expected.indices[rows])
                assert found.distances.tobytes() == expected.distances[rows].tobytes()


def test_partial() -> None:
    part = kith.shards.search(POINTS, 0, QUERIES, 3)
    other = pickle.loads(pickle.dumps(part))
    for array in other[:2]:
        array.flags.writeable = False  # as schedulers hand them over
    found = kith.shards.finish(kith.shards.merge(part, other))
    np.testing.assert_array_equal(found.indices, kith.search(POINTS, QUERIES, 3).indices)


def radius_parts(cuts: list[int], r: Any, graph: bool, **how: Any) -> list[kith.shards.RadiusPartial]:
    return [kith.shards.radius_graph(POINTS[first:last], first, POINTS[40:90], 40, r, **how) if graph
            else kith.shards.radius(POINTS[first:last], first, QUERIES, r, **how)
            for first, last in zip([0, *cuts], [*cuts, 300])]


@pytest.mark.parametrize("how", [{}, {"metric": "euclidean"}, {"metric": "inner_product"}, {"metric": "seuclidean", "variances": np.arange(1.0, 6.0)},
                                 {"formula": "a + fabs(q - x)"}])
@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("opened", [False, True])
def test_one_radius(how: dict[str, Any], graph: bool, opened: bool) -> None:
    rows = 50 if graph else 20
    # Each reaches a neighbour's distance exactly, which an open radius leaves out.
    each = kith.search(POINTS, POINTS[40:90] if graph else QUERIES, 30, f64=True, **how).distances[:, -1]
    each[~np.isfinite(each)] = 1.0
    radii: list[Any] = [float(np.median(each)), each, np.inf if how.get("metric") != "inner_product" else -np.inf]
    for r in radii:
        parts = radius_parts([3, 60, 61, 200], r, graph, open=opened, **how)
        for f64 in (False, True):
            if graph:
                all_r = np.zeros(300) if np.ndim(r) else r
                if np.ndim(r):
                    all_r[40:90] = r
                whole = kith.radius_graph(POINTS, all_r, open=opened, f64=f64, **how)
                expected = whole.rows()[40:90]
            else:
                expected = kith.radius(POINTS, QUERIES, r, open=opened, f64=f64, **how).rows()
            for order in (parts, parts[::-1]):
                found = kith.shards.merge_radius(*order, f64=f64, **how)
                assert len(found.offsets) == rows + 1
                for (distances, indices), (want, of) in zip(found.rows(), expected):
                    np.testing.assert_array_equal(indices, of)
                    assert distances.tobytes() == want.tobytes() and distances.dtype == want.dtype
        counts = [kith.shards.radius_counts(POINTS[first:last], first, POINTS[40:90] if graph else QUERIES, r,
                                            first_query=40 if graph else None, open=opened, **how).counts
                  for first, last in ((0, 61), (61, 300))]
        np.testing.assert_array_equal(sum(counts), [len(indices) for _, indices in expected])


def test_radius_partial() -> None:
    part, other = radius_parts([120], 2.0, False)
    part = pickle.loads(pickle.dumps(part))
    for array in part[:3]:
        array.flags.writeable = False
    lists = kith.shards.RadiusPartial(other.indices.tolist(), other.keys.tolist(), other.offsets.tolist(), other.dimensions)
    found, expected = kith.shards.merge_radius(part, lists), kith.radius(POINTS, QUERIES, 2.0)
    for array, want in zip(found, expected):
        np.testing.assert_array_equal(array, want)
    for changed in ({"offsets": part.offsets + 1}, {"offsets": part.offsets[::-1].copy()}, {"keys": part.keys[:-1]},
                    {"indices": part.indices[:, None]}, {"offsets": part.offsets[:0]}):
        with pytest.raises(ValueError, match="parts"):
            kith.shards.merge_radius(part._replace(**changed), other)
    arrays: Any = other[:3]
    with pytest.raises(TypeError, match="RadiusPartial"):
        kith.shards.merge_radius(part, arrays)
    with pytest.raises(ValueError, match="dimensions"):
        kith.shards.merge_radius(part, other._replace(dimensions=4))


@pytest.mark.parametrize("call, words", [
    (lambda: kith.shards.radius(POINTS, -1, QUERIES, 1.0), "first_point"), (lambda: kith.shards.radius(POINTS, 0, QUERIES, -1.0), "r: -1"),
    (lambda: kith.shards.radius(POINTS, 0, QUERIES, [1.0, 2.0]), "each of 20"),
    (lambda: kith.shards.radius(POINTS, 0, QUERIES, 1.0, metric="seuclidean"), "variances"),
    (lambda: kith.shards.radius_graph(POINTS, 0, POINTS, -1, 1.0), "first_query"),
    (lambda: kith.shards.radius_counts(POINTS, 0, POINTS, 1.0, first_query=-1), "first_query"),
    (lambda: kith.shards.merge_radius(), "at least one"),
    (lambda: kith.shards.merge_radius(kith.shards.radius(POINTS, 0, QUERIES, 1.0), kith.shards.radius(POINTS, 0, QUERIES[:3], 1.0)), "expected"),
    (lambda: kith.shards.search(POINTS, -1, QUERIES, 3), "first_point"), (lambda: kith.shards.search(POINTS, 0, QUERIES, 0), "k is 0"),
    (lambda: kith.shards.search(POINTS, 0, QUERIES, 3, metric="seuclidean"), "variances"),
    (lambda: kith.shards.search(POINTS, 0, QUERIES, 3, metric="mahalanobis"), "inverse_covariance"),
    (lambda: kith.shards.graph(POINTS, 0, POINTS, -1, 3), "first_query"), (lambda: kith.shards.merge(), "at least one"),
    (lambda: kith.shards.merge(kith.shards.search(POINTS, 0, QUERIES, 3), kith.shards.search(POINTS, 0, QUERIES, 4)), "expected 20 x 3"),
])
def test_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("change, words", [
    ({(0, 0): (None, np.nan)}, "expected no NaN"), ({(2, 1): (-7, None)}, "index -7 .*row 2"), ({(2, 3): (-7, np.inf)}, "index -7"),
    ({(1, 3): (-1, 1e9)}, "index -1 with key 1000000000.0 in row 1"), ({(3, 0): (None, 1e9)}, "row 3.*ascending"),
    ({(3, 1): (-1, np.inf)}, "row 3.*at its end"), ({(4, 3): (None, np.inf)}, None)])
def test_parts_that_no_search_makes(change: dict[tuple[int, int], tuple[Any, Any]], words: str | None) -> None:
    whole = kith.shards.search(POINTS[100:200], 100, QUERIES[5:], 4, missing="ignore")
    part = whole._replace(indices=whole.indices.copy(), keys=whole.keys.copy())
    for place, (index, key) in change.items():
        part.indices[place] = part.indices[place] if index is None else index
        part.keys[place] = part.keys[place] if key is None else key
    calls: list[Any] = [(lambda: kith.shards.merge(whole, part), r"^parts\[1\]: "), (lambda: kith.shards.finish(part), "^partial: ")]
    for call, name in calls:
        if words is None:
            call()
            continue
        with pytest.raises(ValueError, match=name + ".*" + words):
            call()


def test_parts_that_list_an_index_twice() -> None:
    part = kith.shards.search(POINTS[100:200], 100, QUERIES[5:], 4, missing="ignore")
    indices = part.indices.copy()
    indices[7, 3] = indices[7, 1]
    with pytest.raises(ValueError, match=f"^partial: index {indices[7, 1]} in row 7; expected an index once"):
        kith.shards.finish(part._replace(indices=indices, keys=np.tile(np.arange(4.0), (15, 1))))


def test_parts_of_other_shapes() -> None:
    part = kith.shards.search(POINTS, 0, QUERIES, 4, missing="ignore")
    for change, words in (({"keys": part.keys[0]}, "keys: expected 2 dimensions, got 1"), ({"indices": part.indices[0]}, "indices: expected 2"),
                          ({"keys": part.keys[:, :2]}, "expected the same"), ({"dimensions": 0}, "dimensions")):
        with pytest.raises(ValueError, match=r"^partial\.?.*" + words):
            kith.shards.finish(part._replace(**change))
        with pytest.raises(ValueError, match=r"^parts\[1\]\.?.*" + words):
            kith.shards.merge(part, part._replace(**change))


@pytest.mark.parametrize("change, words", [({"keys": np.nan}, "nan"), ({"indices": -1}, "index -1"), ({"keys": 1e9}, "ascending")])
def test_rows_within_a_radius_that_no_search_makes(change: dict[str, float], words: str) -> None:
    whole = kith.shards.radius(POINTS, 0, QUERIES, 4.0, missing="ignore")
    assert len(whole.keys) > 40
    (name, value), = change.items()
    array = getattr(whole, name).copy()
    array[whole.offsets[3]] = value
    with pytest.raises(ValueError, match=r"^parts\[1\]: .*row 3.*expected") as caught:
        kith.shards.merge_radius(whole, whole._replace(**{name: array}))
    assert words in str(caught.value)
    with pytest.raises(ValueError, match=r"^parts\[0\].offsets: expected 1 dimension"):
        kith.shards.merge_radius(whole._replace(offsets=whole.offsets[None]))
