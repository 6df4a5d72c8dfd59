"""search, graph, Index, verify: what they find, what they refuse, and how they end."""
from __future__ import annotations

import copy
import multiprocessing
import pickle
import signal
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from oracle import nearest, small
from scipy.spatial.distance import cdist

import kith

POINTS, QUERIES = small(200, 6), small(20, 6, 1)
SLOW = "a + pow(fabs(q - x), 1.5) + exp(sqrt(fabs(q * x)))"


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "canberra",
                                    "braycurtis", "jensenshannon", "hamming"])
def test_scipys_distances(metric: str) -> None:
    rng = np.random.default_rng(0)
    points, queries = rng.random((100, 8)), rng.random((10, 8))
    found = kith.search(points, queries, 100, metric=metric, f64=True)
    expected = np.sort(cdist(queries, points, metric), axis=1)
    np.testing.assert_allclose(found.distances, expected, rtol=1e-9, atol=1e-12)


def test_metrics_with_parameters() -> None:
    rng = np.random.default_rng(0)
    points, queries = rng.random((50, 4)), rng.random((5, 4))
    variances, inverse = kith.variances(points), kith.inverse_covariance(points)
    np.testing.assert_allclose(variances, points.var(axis=0, ddof=1))
    np.testing.assert_allclose(inverse, np.linalg.inv(np.cov(points.T)))
    for metric, ours, theirs in (("minkowski", {"p": 3.0}, {"p": 3.0}), ("seuclidean", {"variances": variances}, {"V": variances}),
                                 ("mahalanobis", {"inverse_covariance": inverse}, {"VI": inverse})):
        found = kith.search(points, queries, 50, metric=metric, f64=True, **ours)
        np.testing.assert_allclose(found.distances, np.sort(cdist(queries, points, metric, **theirs)), rtol=1e-9)
    found = kith.search(points, queries, 50, formula="a + fabs(q - x)", f64=True)
    np.testing.assert_allclose(found.distances, np.sort(cdist(queries, points, "cityblock")), rtol=1e-9)
    bits = rng.integers(0, 256, (50, 4), np.uint8)
    found = kith.search(bits, bits[:5], 50, metric="hamming", packed_bits=True)
    expected = np.sort(cdist(np.unpackbits(bits[:5], axis=1), np.unpackbits(bits, axis=1), "hamming"))
    np.testing.assert_allclose(found.distances, expected, rtol=1e-6)


def test_exact_with_ties() -> None:
    for k in (1, 7, 200, 250):
        distances, indices = nearest(POINTS, QUERIES, k)
        found = kith.search(POINTS, QUERIES, k, f64=True)
        np.testing.assert_array_equal(found.indices, indices)
        np.testing.assert_array_equal(found.distances, distances)


def test_graph() -> None:
    distances, indices = nearest(POINTS, POINTS, 5, skip_self=True)
    found = kith.graph(POINTS, 5)
    np.testing.assert_array_equal(found.indices, indices)
    with_self = kith.graph(POINTS, 6, include_self=True)
    np.testing.assert_array_equal(with_self.indices, np.column_stack([np.arange(200), indices]))
    np.testing.assert_array_equal(with_self.distances[:, 1:], distances)


def test_index() -> None:
    index = kith.Index(POINTS, metric="euclidean")
    assert (len(index), index.dimensions, index.metric) == (200, 6, "euclidean")
    expected = kith.search(POINTS, QUERIES, 5, metric="euclidean")
    for found in (index.search(QUERIES, 5), index.search(QUERIES, 5, path="exact")):
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.distances, expected.distances)
    np.testing.assert_array_equal(index.graph(3).indices, kith.graph(POINTS, 3).indices)
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(index)


def test_trace() -> None:
    trace = kith.search(POINTS, QUERIES, 3, path="noop", device="cpu").report.trace
    assert trace[0][:5] == ("noop", 20, 0, 20, "") and trace[0].strategy == "noop"
    assert sum(entry.certified for entry in trace) == 20 and trace[-1].left == 0
    assert all(entry.queries == entry.certified + entry.left and entry.seconds >= 0 for entry in trace)


def test_fallbacks() -> None:
    rows = np.zeros((3000, 70), np.float32)  # equal rows: ties that a filter cannot tell apart
    report = kith.search(rows, rows[:20], 3, path="gemm-f32", device="cpu").report
    assert sum(count for count, _, _, _ in report.fallbacks) == report.retried + report.scanned
    for name in dir(report):
        getattr(report, name)


def test_results() -> None:
    found = kith.search(POINTS, QUERIES, 3)
    distances, indices = found
    assert distances is found.distances and indices is found[1]
    assert found.report.queries == 20 and found.report.pairs == 4000 and "Report(" in repr(found.report)
    for other in (copy.copy(found), copy.deepcopy(found), *(pickle.loads(pickle.dumps(found, p)) for p in range(6))):
        np.testing.assert_array_equal(other.indices, indices)
        assert other.report is not None and other.report.pairs == 4000
        assert other.report.trace == found.report.trace
        assert other.report.fallbacks == found.report.fallbacks
    assert found._replace(indices=None).report is found.report
    assert type(found)._make([1, 2]) == type(found)(1, 2) == (1, 2)


@pytest.mark.parametrize("how, error, words", [
    ({"metric": "nearness"}, ValueError, "metric"), ({"metric": "minkowski", "p": 0.5}, ValueError, "p"),
    ({"formula": ""}, ValueError, "formula"), ({"formula": "a +"}, ValueError, "formula"),
    ({"threads": -1}, ValueError, "threads"), ({"device": "abacus"}, ValueError, "device"),
    ({"path": "scenic"}, ValueError, "path"), ({"isa": "mmx"}, ValueError, "isa"), ({"memory": 1}, MemoryError, "memory"),
    ({"metric": "mahalanobis", "inverse_covariance": np.eye(3)}, ValueError, "inverse_covariance"),
    ({"metric": "seuclidean", "variances": np.zeros(6)}, ValueError, "variance"), ({"nonsense": 1}, TypeError, "nonsense"),
])
def test_errors(how: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        kith.search(POINTS, QUERIES, 3, **how)


@pytest.mark.parametrize("how, words", [
    ({"metric": None}, "metric: expected a name"), ({"memory": 1e9}, "memory: expected a number of bytes"),
    ({"threads": 1.5}, "threads: expected an integer"), ({"k": "3"}, "k: expected an integer"),
])
def test_wrong_types(how: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        kith.search(POINTS, QUERIES, **{"k": 3, **how})


def test_a_formula_is_no_other_metric() -> None:
    with pytest.raises(ValueError, match="formula"):
        kith.search(POINTS, QUERIES, 3, metric="cosine", formula="a + fabs(q - x)")


@pytest.mark.parametrize("k", [0, -1, 2.5, "3", None, 10**30])
def test_bad_k(k: Any) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError)):
        kith.search(POINTS, QUERIES, k)


def test_verify() -> None:
    distances, indices = kith.search(POINTS, QUERIES, 5)
    assert kith.verify(POINTS, QUERIES, indices, distances).exact
    wrong = indices.copy()
    wrong[7, 2] = 199 if wrong[7, 2] != 199 else 198
    found = kith.verify(POINTS, QUERIES, wrong)
    assert not found.exact and list(found.wrong_rows) == [7] and 0.98 <= found.recall <= 1
    assert kith.verify(POINTS, QUERIES, wrong, sample=5).rows == 5
    other = distances.copy()
    other[3, 0] = np.nextafter(other[3, 0], np.float32(np.inf))
    assert list(kith.verify(POINTS, QUERIES, indices, other).wrong_rows) == [3]
    same = np.concatenate([POINTS[:5]] * 8)  # more duplicates than neighbours
    for points, include_self in ((POINTS, False), (POINTS, True), (same, False), (same, True)):
        graph = kith.graph(points, 4, include_self=include_self, metric="euclidean")
        for sample in (None, 7):
            assert kith.verify(points, None, graph.indices, graph.distances, include_self=include_self, sample=sample,
                               metric="euclidean").exact
    with pytest.raises(ValueError, match="rows"):
        kith.verify(POINTS, QUERIES[:3], indices)


@pytest.mark.parametrize("metric", ("mahalanobis", "seuclidean"))
def test_verify_of_a_sample(metric: str) -> None:
    """The parameter is that of all points."""
    points = np.random.default_rng(1).random((60, 4))
    distances, indices = kith.graph(points, 5, metric=metric, include_self=True)
    assert kith.verify(points, None, indices, distances, metric=metric, include_self=True, sample=1).exact


def test_verify_of_what_is_no_answer() -> None:
    indices = kith.search(POINTS, QUERIES, 5).indices
    assert kith.verify(POINTS, QUERIES, indices[:, ::-1]).recall == 1
    assert kith.verify(POINTS, QUERIES, indices + (1 << 60)).recall == 0
    assert kith.verify(POINTS, QUERIES, np.full_like(indices, -1)).recall == 0
    assert kith.verify(POINTS, QUERIES, np.repeat(indices[:, :1], 5, axis=1)).recall == 0.2
    for sample, error in ((0, ValueError), (-3, ValueError), (2.5, TypeError)):
        with pytest.raises(error, match="sample"):
            kith.verify(POINTS, QUERIES, indices, sample=sample)  # type: ignore[arg-type,unused-ignore]
    with pytest.raises(TypeError, match="indices"):
        kith.verify(POINTS, QUERIES, indices.astype(float))


@pytest.mark.parametrize("answer, cancels", ((np.False_, True), (np.True_, False), (0, False), ("", False), (None, False)))
def test_what_a_callback_says(answer: Any, cancels: bool) -> None:
    calls: list[tuple[Any, ...]] = []
    many = np.random.default_rng(0).random((3000, 64))

    def callback(*where: Any) -> Any:
        calls.append(where)
        return answer

    try:
        kith.graph(many, 3, formula=SLOW, device="cpu", threads=1, progress=callback)
        assert not cancels and calls[-1][0] == calls[-1][1] == 9e6
    except kith.Cancelled:
        assert cancels and len(calls) == 1


def test_progress_and_cancel() -> None:
    calls: list[tuple[Any, ...]] = []
    many = np.random.default_rng(0).random((4000, 64))

    def cancels(*where: Any) -> bool:
        calls.append(where)
        return False

    with pytest.raises(kith.Cancelled):
        kith.graph(many, 3, formula=SLOW, device="cpu", threads=1, progress=cancels)
    assert len(calls) == 1 and calls[0][3] in ("prepare", "search")

    def fails(*where: Any) -> None:
        raise LookupError("from the callback")

    with pytest.raises(LookupError, match="from the callback"):
        kith.graph(many, 3, formula=SLOW, device="cpu", threads=1, progress=fails)


def test_ctrl_c() -> None:
    program = ("import kith, numpy, os, signal\n"
               "many = numpy.random.default_rng(0).random((40000, 64))\n"
               "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in the background
               "def interrupt(*where): os.kill(os.getpid(), signal.SIGINT)\n"
               f"kith.graph(many, 3, formula={SLOW!r}, device='cpu', threads=1, progress=interrupt)\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == -signal.SIGINT and "KeyboardInterrupt" in done.stderr


@pytest.mark.parametrize("points", (20000, 30))  # one search in all that time, and thousands
@pytest.mark.parametrize("progress", ("None", "lambda *where: None", "lambda *where: len([i for i in range(1000)])"))
def test_the_interpreter_ends_while_threads_search(points: int, progress: str) -> None:
    program = ("import kith, numpy, threading, time\n"
               f"many = numpy.random.default_rng(0).random(({points}, 64))\n"
               "def search():\n"
               f"    while True: kith.graph(many, 3, formula={SLOW!r}, device='cpu', threads=1, progress={progress})\n"
               "for _ in range(4): threading.Thread(target=search, daemon=True).start()\n"
               "time.sleep(0.2)\n")
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_interpreter_ends_while_arrays_are_read() -> None:
    # Python code that the core calls loses the GIL to the end, which takes long here as it does on a GPU.
    program = ("import kith, kith._arrays, numpy, sys, threading, time\n"
               "sys.setswitchinterval(1e-5)\n"
               "points = numpy.random.default_rng(0).random((30, 4), dtype='float32')\n"
               "index = kith.Index(points, device='cpu', threads=1)\n"
               "found = kith._arrays.array_interface\n"
               "def slow(*given):\n"
               "    for _ in range(500): pass\n"
               "    return found(*given)\n"
               "kith._arrays.array_interface = slow\n"
               "def search():\n"
               "    while True: index.search(points, 3)\n"
               "class Late:\n"
               "    def __del__(self, sleep=time.sleep): sleep(0.3)\n"
               "late = Late()\n"
               "for _ in range(8): threading.Thread(target=search, daemon=True).start()\n"
               "time.sleep(0.2)\n")
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, "")


def test_threads_run_side_by_side() -> None:
    index = kith.Index(POINTS)
    expected = index.search(QUERIES, 5).indices
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(50):
            if not np.array_equal(index.search(QUERIES, 5).indices, expected):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def _in_a_child(index: kith.Index, queries: Any, results: Any) -> None:
    results.put((index.search(queries, 5).indices, kith.search(POINTS, queries, 5, device="cpu").indices))


def test_fork_after_use() -> None:
    index = kith.Index(POINTS, device="cpu")  # a child cannot use CUDA after its parent
    expected = index.search(QUERIES, 5).indices
    fork = multiprocessing.get_context("fork")
    results = fork.Queue()
    child = fork.Process(target=_in_a_child, args=(index, QUERIES, results))
    child.start()
    for found in results.get(timeout=120):
        np.testing.assert_array_equal(found, expected)
    child.join()


def test_import_is_quiet_and_light() -> None:
    program = "import sys, kith; sys.exit(any(name in sys.modules for name in ('torch', 'sklearn', 'scipy', 'cupy', 'jax')))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name, value, wanted", [("p", 3.0, "minkowski"), ("variances", [1.0, 2, 3], "seuclidean"),
                                                 ("inverse_covariance", np.eye(3), "mahalanobis"), ("start", 1.0, "formula")])
def test_parameters_of_another_metric(name: str, value: Any, wanted: str) -> None:
    x = np.random.default_rng(0).random((20, 3))
    calls: list[Any] = [lambda **how: kith.search(x, x, 2, **how), lambda **how: kith.graph(x, 2, **how), lambda **how: kith.Index(x, **how),
                        lambda **how: kith.radius(x, x, 1.0, **how), lambda **how: kith.distances(x, x, **how)]
    for call in calls:
        with pytest.raises(ValueError, match=f"{name}: serves {wanted}, not (sq)?euclidean"):
            call(**{name: value})
