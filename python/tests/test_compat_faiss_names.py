"""faiss' names: what scripts set and ask without effect, pointers and vectors, random numbers, refusals by name."""
from __future__ import annotations

import subprocess
import sys
from typing import Any, Callable

import numpy as np
import pytest
from test_compat import modules

from kith.compat import faiss as ours

RANDOM = np.random.default_rng(4)
POINTS, QUERIES = (RANDOM.random((rows, 6)).astype(np.float32) for rows in (90, 8))
BOTH = pytest.mark.parametrize("faiss", modules(), ids=lambda module: module.__name__)


@BOTH
def test_wrong_arguments(faiss: Any) -> None:
    """AssertionErrors, as faiss'; ours are ValueErrors, too, and say what was expected."""
    index = faiss.IndexFlatL2(6)
    index.add(POINTS)
    calls: list[Callable[[], Any]] = [
        lambda: index.search(QUERIES, 0), lambda: index.search(QUERIES, -1), lambda: index.search(QUERIES[:, :5], 1),
        lambda: index.add(POINTS[:, :5]), lambda: index.range_search(QUERIES[:, :5], 1.0),
        lambda: faiss.knn(QUERIES[:, :5], POINTS, 1), lambda: faiss.pairwise_distances(QUERIES[:, :5], POINTS),
        lambda: index.search(QUERIES, 2, D=np.empty((8, 3), np.float32)),
        lambda: index.reconstruct_batch(np.array([1, 2]), np.empty((3, 6), np.float32))]
    for call in calls:
        with pytest.raises(AssertionError) as raised:
            call()
        if faiss is ours:
            assert isinstance(raised.value, ValueError) and str(raised.value)
    for key in (-1, 90) if faiss is ours else (90,):
        with pytest.raises(RuntimeError):
            index.reconstruct(key)


@BOTH
def test_attributes(faiss: Any) -> None:
    """Attributes that an index does not have cannot be set."""
    for index in (faiss.IndexFlatL2(6), faiss.IndexIDMap(faiss.IndexFlatL2(6)), faiss.IndexShards(6)):
        for name in ("nprobe", "efSearch", "verbos"):
            with pytest.raises(AttributeError, match=name):
                setattr(index, name, 3)
        index.verbose = True
    with pytest.raises(AttributeError):
        ours.GpuClonerOptions().useFloat61 = True  # type: ignore[attr-defined,unused-ignore]
    options = ours.GpuMultipleClonerOptions()
    options.shard = options.useFloat16 = True


@BOTH
def test_names_without_effect(faiss: Any) -> None:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(2)
    assert faiss.omp_get_max_threads() == 2
    faiss.omp_set_num_threads(before)
    faiss.cvar.distance_compute_blas_threshold = faiss.cvar.distance_compute_blas_threshold
    assert faiss.__version__.count(".") == 2 and isinstance(faiss.IndexFlatL2(3), faiss.Index)
    assert isinstance(faiss.IndexBinaryFlat(8), faiss.IndexBinary) and faiss.get_compile_options()
    assert not isinstance(faiss.IndexFlatL2(3), faiss.IndexIVFFlat)


@BOTH
def test_pointers_and_vectors(faiss: Any) -> None:
    array = np.arange(6, dtype=np.float32)
    np.testing.assert_array_equal(faiss.rev_swig_ptr(faiss.swig_ptr(array), 4), array[:4])
    with pytest.raises(ValueError, match="C-contiguous"):
        faiss.swig_ptr(array[::2])
    vector = faiss.Int64Vector()
    for value in (3, 1):
        vector.push_back(value)
    assert faiss.vector_to_array(vector).tolist() == [3, 1] and vector.size() == 2 and vector.at(1) == 1
    for value in range(40):
        vector.push_back(value)
    assert faiss.vector_to_array(vector).tolist() == [3, 1, *range(40)]
    vector.resize(41)
    vector.push_back(7)
    other = faiss.Int64Vector()
    other.swap(vector)
    other.push_back(8)
    assert faiss.vector_to_array(other).tolist() == [3, 1, *range(39), 7, 8] and vector.size() == 0
    faiss.copy_array_to_vector(np.array([7]), vector)
    assert faiss.vector_to_array(vector).tolist() == [7]
    with pytest.raises(AssertionError):
        faiss.copy_array_to_vector(array, vector)
    index = faiss.IndexFlatL2(6)
    index.add(POINTS)
    np.testing.assert_array_equal(faiss.rev_swig_ptr(index.get_xb(), 540).reshape(90, 6), POINTS)
    codes = index.sa_encode(POINTS[:3])
    assert codes.shape == (3, 24) and codes.dtype == np.uint8
    np.testing.assert_array_equal(index.sa_decode(codes), POINTS[:3])


def test_random_numbers() -> None:
    theirs = pytest.importorskip("faiss")
    for n in (0, 1, 7, 1023, 1024, 5000, (40, 33)):
        for seed in (1, 1234, 2**31 + 5):
            np.testing.assert_array_equal(ours.rand(n, seed), theirs.rand(n, seed))
            np.testing.assert_array_equal(ours.randn(n, seed), theirs.randn(n, seed))
            np.testing.assert_array_equal(ours.randint(n, seed), theirs.randint(n, seed))
            np.testing.assert_array_equal(ours.randint(n, seed, vmax=10), theirs.randint(n, seed, vmax=10))


@BOTH
def test_lists_of_results(faiss: Any) -> None:
    values = RANDOM.random((5, 40)).astype(np.float32)
    for best, sign in ((faiss.kmin, 1), (faiss.kmax, -1)):
        found, places = best(values, 6)
        np.testing.assert_array_equal(found, sign * np.sort(sign * values)[:, :6])
        np.testing.assert_array_equal(places, np.argsort(sign * values)[:, :6])
    for keep_max in (False, True):
        sign = -1 if keep_max else 1
        heap = faiss.ResultHeap(5, 6, keep_max=keep_max)
        for first in range(0, 40, 10):
            part = np.tile(np.arange(first, first + 10), (5, 1))
            heap.add_result(values[:, first:first + 10], part)
        heap.finalize()
        np.testing.assert_array_equal(heap.D, sign * np.sort(sign * values)[:, :6])
        np.testing.assert_array_equal(heap.I, np.argsort(sign * values)[:, :6])
        one, other = (sign * np.sort(sign * part)[:, :6] for part in (values[:, :20], values[:, 20:]))
        where = [np.argsort(sign * part)[:, :6] for part in (values[:, :20], values[:, 20:])]
        merged, places = faiss.merge_knn_results(np.stack([one, other]), np.stack([where[0], where[1] + 20]), keep_max)
        np.testing.assert_array_equal(merged, heap.D)
        np.testing.assert_array_equal(places, heap.I)
    assert faiss.eval_intersection(np.array([[1, 2, 3]]), np.array([[3, 4, 1]])) == 2
    assert faiss.is_similarity_metric(faiss.METRIC_Jaccard) and not faiss.is_similarity_metric(faiss.METRIC_L1)


def test_other_kinds_of_index() -> None:
    """Each by its name, when it is used; a name that faiss has not is none."""
    uses: list[Callable[[], Any]] = [
        lambda: ours.IndexIVFFlat(ours.IndexFlatL2(6), 6, 4), lambda: ours.IndexHNSWFlat(6, 32),
        lambda: ours.ScalarQuantizer.QT_8bit, lambda: ours.Kmeans(6, 3), lambda: ours.IDSelectorBatch([1]),
        lambda: ours.extract_index_ivf(None), lambda: ours.PCAMatrix(6, 3), lambda: ours.index_factory(6, "IVF4,Flat"),
        lambda: ours.index_binary_factory(32, "BHNSW32"), lambda: ours.fvec_L2sqr_ny()]
    for use in uses:
        with pytest.raises(ours.AnotherKind, match="kith searches vectors as they are|description"):
            use()
    assert ours.IndexIVFFlat is ours.IndexIVFFlat and isinstance(ours.IndexIVFFlat, type)
    for misspelt in ("IndxFlat", "IndexFaltL2", "index_facory"):
        with pytest.raises(AttributeError, match=misspelt):
            getattr(ours, misspelt)
    index = ours.IndexFlatL2(6)
    with pytest.raises(NotImplementedError, match="params"):
        index.search(QUERIES, 1, params=object())


def test_by_pointers() -> None:
    """bfKnn asks for a GPU, whose absence it names; what it is to do is checked before."""
    args = ours.GpuDistanceParams()
    with pytest.raises(ValueError, match="queries"):
        ours.bfKnn(None, args)
    args.queries, args.vectors = ours.swig_ptr(QUERIES), ours.swig_ptr(POINTS)
    args.numQueries, args.numVectors, args.dims, args.k = 8, 91, 6, 2
    with pytest.raises(ValueError, match="540"):
        ours.bfKnn(None, args)
    with pytest.raises(AttributeError, match="numVector"):
        args.numVector = 3  # type: ignore[attr-defined,unused-ignore]


def test_tensors_that_are_given_back() -> None:
    """After contrib.torch_utils, as there: tensors. In a process of its own, which it changes."""
    pytest.importorskip("torch", exc_type=ImportError)
    code = """
import sys, numpy, torch
from kith.compat import faiss
sys.modules["faiss"] = faiss
points = torch.rand(20, 4)
plain = faiss.IndexFlatL2(4)
plain.add(points.numpy())
assert isinstance(plain.reconstruct(3), numpy.ndarray)
import faiss.contrib.torch_utils
for given in (points, points.numpy()):
    index = faiss.IndexFlatL2(4)
    index.add(given)
    assert torch.equal(index.reconstruct(3), points[3]) and torch.equal(index.reconstruct_n(2, 5), points[2:7])
    assert isinstance(index.reconstruct(3, numpy.empty(4, "float32")), numpy.ndarray)
    D, I, labels = torch.empty(2, 3), torch.empty(2, 3, dtype=torch.int64), torch.empty(2, 3, dtype=torch.int64)
    assert index.search(points[:2], 3, D, I)[1] is I and index.assign(points[:2], 3, labels) is labels and torch.equal(I, labels)
    lims, D, I = faiss.IndexFlatL2(4).range_search(points[:2], 1.0)
    assert isinstance(D, torch.Tensor) and lims.dtype == I.dtype == torch.int64 and lims.tolist() == [0, 0, 0]
    mapped = faiss.IndexIDMap2(faiss.IndexFlatL2(4))
    mapped.add_with_ids(given, torch.arange(20) + 5)
    assert mapped.search(points[:1], 1)[1].tolist() == [[5]] and torch.equal(mapped.reconstruct(6), points[1])
"""
    subprocess.run([sys.executable, "-c", code], check=True)
