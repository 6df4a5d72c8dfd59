"""plan, plan_topk, paths, selectors: what calls would do and what can be asked for; reports say which selector ran."""
import pickle
from typing import Any

import numpy as np
import pytest

import kith


def test_lists_name_what_can_be_asked_for() -> None:
    paths = {path.name: path for path in kith.paths()}
    assert paths["tree"].on_cpu and not paths["tree"].graphs_only
    if "kato" in paths:  # a build with the papers' component
        # a path of graphs, and a distance kernel
        assert [path.graphs_only for path in kith.paths() if path.name == "kato"] == [True, False]
        assert paths["garcia"].takes_selector
    of_cpu = [selector.name for selector in kith.selectors() if not selector.on_gpu]
    values = np.random.default_rng(0).random((20, 100))
    for name in of_cpu:
        assert kith.plan_topk(20, 100, 5, device="cpu", selector=name).selector == name
        found = kith.topk(values, 5, device="cpu", selector=name)
        assert found.report is not None and found.report.selector == name
        np.testing.assert_array_equal(found.indices, np.argsort(-values, axis=1, kind="stable")[:, :5])
    for name in ("exact", "tree", "direct-f32"):
        assert paths[name].on_cpu and kith.plan(1000, 10, 3, 5, device="cpu", path=name).path == name


def test_plans_of_the_papers_paths() -> None:
    if "kato" not in [path.name for path in kith.paths()]:
        with pytest.raises(ValueError, match="KITH_PAPERS"):
            kith.plan(100_000, 1000, 16, 10, machine="h100", path="hanak-fused")
        return
    for name in ("garcia+insertion-sort", "hanak-fused", "hanak-rule"):
        plan = kith.plan(100_000, 1000, 16, 10, machine="h100", path=name)
        assert plan.path == name or name == "hanak-rule" and "hanak-rule" in plan.why
    plan = kith.plan(100_000, d=16, graph=True, machine="h100", path="kato")
    assert plan.path == "kato" and plan.query_tile == plan.point_tile and plan.workspace_bytes > 0
    assert str(plan).startswith("device") and "attempts" in str(plan)


def test_plans_refuse_what_searches_refuse() -> None:
    with pytest.raises(ValueError, match="sieve"):
        kith.plan(10, 10, 2, 1, path="sieve")
    with pytest.raises(ValueError, match="q is 3"):
        kith.plan(10, 3, 2, 1, graph=True)
    with pytest.raises(TypeError, match="q: expected"):
        kith.plan(10, d=2)
    with pytest.raises(ValueError, match="float20"):
        kith.plan(10, 10, 2, 1, type="float20")


def test_reports_say_which_selector_ran() -> None:
    points = np.random.default_rng(1).random((200, 4), np.float32)
    found = kith.search(points, points[:5], 3, device="cpu", selector="heap")
    assert found.report.selector == "heap" and found.report.path == "exact"
    again = pickle.loads(pickle.dumps(found.report))
    assert again.selector == "heap"
    top = kith.topk(points, 2, device="cpu")
    assert top.report is not None and top.report.selector in [selector.name for selector in kith.selectors()]
    values, indices = top
    assert pickle.loads(pickle.dumps(top)).report.selector == top.report.selector
    assert kith.topk(points, 0).report is None


def test_match_retrieve_and_information_take_paths_and_selectors() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.random((50, 6), np.float32), rng.random((60, 6), np.float32)
    expected = kith.match(a, b, ratio=0.9)
    asked: tuple[dict[str, Any], ...] = ({"path": "exact"}, {"selector": "heap"})
    for given in asked:
        found = kith.match(a, b, ratio=0.9, device="cpu", **given)
        np.testing.assert_array_equal(found.pairs, expected.pairs)
        images = [[rng.normal(kind, 1, (100, 4))] for kind in (0, 1)]
        assert kith.retrieve(images, k=3, device="cpu", **given).divergences.shape == (2, 2)
        x, y = rng.normal(size=(200, 2)), rng.normal(size=200)
        plain = kith.information.mutual_information(x, y)
        assert kith.information.mutual_information(x, y, device="cpu", **given) == plain
        assert kith.information.entropy(x, device="cpu", **given) == kith.information.entropy(x)
    with pytest.raises(ValueError, match="sieve"):
        kith.match(a, b, path="sieve")
    with pytest.raises(ValueError, match="sieve"):
        kith.information.entropy(a, selector="sieve")
