"""Names of faiss that an exact search of vectors as they are has no use for: each says so when it is used.

Classes are classes, so that ``isinstance(index, faiss.IndexIVF)`` is False; making one raises `AnotherKind`.
"""
from __future__ import annotations

import re
from typing import Any


class AnotherKind(NotImplementedError):
    """A name that belongs to another kind of index than those that search exactly."""


# The kind that a name belongs to, by the first pattern that it fits whole.
_KINDS = [
    (r"IDSelector\w*|PyCallbackIDSelector|CodeSet", "selectors of ids, which are not there"),
    (r"\w*SearchParameters\w*|search_with_parameters|range_search_with_parameters|search_and_reconstruct_\w+",
     "parameters of an approximate search"),
    (r"Index(2Layer|Additive\w+|Binary(FromFloat|HNSW\w*|Hash\w*|IVF|MultiHash)|EDEN|FastScan|Flat\w*Panorama|HNSW\w*|IVF\w*|LSH|"
     r"Lattice|Local\w+|NNDescent\w*|NSG\w*|NeuralNetCodec|PQ\w*|PreTransform|Product\w+|QINCo|RaBitQ\w*|Random|Refine\w*|"
     r"Residual\w*|RowwiseMinMax\w*|ScalarQuantizer|ShardsIVF|SplitVectors|SVS\w*)|GpuIndex(IVF\w*|Cagra\w*|BinaryCagra\w*)|"
     r"index_binary_from_float|extract_index_ivf|try_extract_index_ivf|\w*ivf\w*|Level1Quantizer|HNSW\w*|NSG\w*|NNDescent|"
     r"VisitedTable\w*|\w*Panorama|SVS\w*|Cagra\w*|GpuIcmEncoder\w*|ResultHandler\w*|DistanceComputer",
     "another kind of index"),
    (r"\w*Quantizer\w*|quantize_\w+|\w*PQ\w*|pq4_\w+|\w*Codec\w*|\w*RaBit\w*|EDEN\w*|round_\w+|beam_search_\w+|"
     r"\w*itstring\w*|\w*QINCo\w*|Tensor2D|Int32Tensor2D|Embedding|Linear|Repeats?|AlignedTable\w*|\w+_AlignedTable|"
     r"\w+_partition_fuzzy|simd_histogram_\w+|loop5_\w+|PolysemousTraining|SimulatedAnnealing\w*|bitvec_shuffle|CodePacker\w*",
     "codes of vectors"),
    (r"Kmeans|SuperKmeans|\w*Clustering\w*|\w*KMeans\w*|kmeans\w*|precompute_ad_thresholds|super_kmeans_\w+|smawk|\w+_clustering",
     "clustering"),
    (r"VectorTransform|LinearTransform|\w+Transform|\w+Matrix|\w+Rotation|(read|write|downcast)_VectorTransform|RemapDimensions\w*",
     "transforms of vectors"),
    (r"\w*InvertedLists\w*|DirectMap\w*|InvertedListScanner", "inverted lists"),
    (r"ParameterSpace|OperatingPoint\w*|\w*Criterion|AutoTuneCriterion|GpuParameterSpace", "tuning of approximate indexes"),
    (r"fvec_\w+|pairwise_(indexed_\w+|L2sqr|extra_distances)|knn_(L2sqr|inner_product|extra_metrics)\w*|RandomGenerator|"
     r"range_search_(L2sqr|inner_product)|hashtable_\w+|float_randn?|int64_rand\w*|byte_rand|cast_integer_to_\w+|"
     r"bvecs?_\w+|hamming\w*|crosshamming_\w+|match_hamming_\w+|generalized_hammings_\w+|"
     r"(matrix_)?bucket_sort\w*|MapInt64ToInt64|MapLong2Long|MatrixStats|rand_smooth_vectors|ranklist_intersection_size|checksum|"
     r"(float|int)_(max|min)heap_array_t|get_mem_usage_kb|check_openmp|\w+Callback|TimeoutGuard|ZeroCopyIOReader|memcpy|"
     r"RangeSearchResult|\w*VectorVector|wait", "functions of faiss' C++ side"),
]

#: The letters that begin a file, and the class that it holds.
CODES = {
    "IxFP": "IndexFlatL2Panorama", "IxFp": "IndexFlatIPPanorama", "IxHe": "IndexLSH", "IxHE": "IndexLSH", "IxPq": "IndexPQ",
    "IxPQ": "IndexPQ", "IxPo": "IndexPQ", "IxRq": "IndexResidualQuantizer", "IxLS": "IndexLocalSearchQuantizer",
    "IxSQ": "IndexScalarQuantizer",
    "IxLa": "IndexLattice", "IxPT": "IndexPreTransform", "Imiq": "MultiIndexQuantizer", "IxRF": "IndexRefineFlat",
    "IxRP": "IndexRefinePanorama", "Ix2L": "Index2Layer", "IwFl": "IndexIVFFlat", "IvFl": "IndexIVFFlat", "IwFd": "IndexIVFFlatDedup",
    "IwSq": "IndexIVFScalarQuantizer", "IvSQ": "IndexIVFScalarQuantizer", "IwSh": "IndexIVFSpectralHash", "IwPQ": "IndexIVFPQ",
    "IvPQ": "IndexIVFPQ", "IwQR": "IndexIVFPQR", "IwPf": "IndexIVFPQFastScan", "IPfs": "IndexPQFastScan", "IHNf": "IndexHNSWFlat",
    "IHNp": "IndexHNSWPQ", "IHNs": "IndexHNSWSQ", "IHN2": "IndexHNSW2Level", "IHc2": "IndexHNSWCagra", "INSf": "IndexNSGFlat",
    "INNf": "IndexNNDescentFlat", "IRMf": "IndexRowwiseMinMax", "Ixrq": "IndexRaBitQ", "Iwrq": "IndexIVFRaBitQ",
    "IBwF": "IndexBinaryIVF", "IBFf": "IndexBinaryFromFloat", "IBHf": "IndexBinaryHNSW", "IBHh": "IndexBinaryHash",
    "IBHm": "IndexBinaryMultiHash",
}


def kind_of_name(name: str) -> str | None:
    """The kind that a missing name of faiss belongs to; None: it is no such name."""
    return next((what for pattern, what in _KINDS if re.fullmatch(pattern, name)), None)


class _Refusing(type):
    """For classes that are names only: making one, or asking for its constants, says why."""

    def __call__(cls, *_: Any, **__: Any) -> Any:
        raise AnotherKind(f"faiss.{cls.__name__}: {cls.__doc__}; kith searches vectors as they are, exactly")

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AnotherKind(f"faiss.{cls.__name__}.{name}: {cls.__doc__}; kith searches vectors as they are, exactly")


def refusing(name: str) -> Any:
    """The stand-in of a name: a class where it begins with a capital, else a function."""
    what = kind_of_name(name)
    if what is None:
        raise AttributeError(f"module 'kith.compat.faiss' has no attribute {name!r}")
    if name[0].isupper() and not name.isupper():
        return _Refusing(name, (), {"__doc__": what, "__module__": "kith.compat.faiss"})

    def refuse(*_: Any, **__: Any) -> Any:
        raise AnotherKind(f"faiss.{name}: {what}; kith searches vectors as they are, exactly")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = what
    return refuse
