"""faiss' exact search: ``from kith.compat import faiss``.

Indexes of vectors as they are: `IndexFlat` of every metric, `IndexFlatL2`, `IndexFlatIP`, `IndexBinaryFlat`, maps of ids around
them, shards and replicas of them, their twins of a GPU. Files in faiss' own format, both ways; `knn`, `pairwise_distances` and
what belongs to them. Arguments, types and order of results are faiss': float32 in, ``(D, I)`` out; distances of `METRIC_L2` are
squared. Vectors and queries may be torch's, on any device, as with ``faiss.contrib.torch_utils``, and then so are the results.

Equal distances come by ascending index, which faiss leaves open. A neighbour that does not exist has index -1 and the largest
float32 (of similarities the least) as its distance. Names of other kinds of index are there for ``isinstance``, and raise
`AnotherKind` when they are used.
"""
from __future__ import annotations

from typing import Any

from ._arrays import Float16, Float32, Int8, UInt8
from ._binary import IndexBinary, IndexBinaryFlat, IndexBinaryIDMap, IndexBinaryIDMap2, knn_hamming
from ._composite import IndexBinaryReplicas, IndexBinaryShards, IndexProxy, IndexReplicas, IndexShards
from ._factory import (clone_binary_index, clone_index, downcast_index, downcast_IndexBinary, index_binary_factory,
                       index_factory)
from ._flat import IndexFlat, IndexFlat1D, IndexFlatCodes, IndexFlatIP, IndexFlatL2
from ._functions import ResultHeap, eval_intersection, kmax, kmin, knn, merge_knn_results, normalize_L2, pairwise_distances
from ._gpu import (GpuClonerOptions, GpuIndexBinaryFlat, GpuIndexBinaryFlatConfig, GpuIndexFlat, GpuIndexFlatConfig,
                   GpuIndexFlatIP, GpuIndexFlatL2, GpuMultipleClonerOptions, GpuResourcesVector, StandardGpuResources,
                   get_num_gpus, index_binary_cpu_to_gpu, index_cpu_to_all_gpus, index_cpu_to_gpu, index_cpu_to_gpu_multiple,
                   index_cpu_to_gpu_multiple_py, index_cpu_to_gpus_list, index_gpu_to_cpu)
from ._gpu_functions import (DistanceDataType_BF16, DistanceDataType_F16, DistanceDataType_F32, GpuDistanceParams,
                             IndicesDataType_I32, IndicesDataType_I64, bfKnn, bruteForceKnn, knn_gpu, pairwise_distance_gpu)
from ._idmap import IndexIDMap, IndexIDMap2
from ._index import Index
from ._io import (IO_FLAG_MMAP, IO_FLAG_MMAP_IFC, IO_FLAG_ONDISK_SAME_DIR, IO_FLAG_PQ_SKIP_SDC_TABLE, IO_FLAG_READ_ONLY,
                  IO_FLAG_SKIP_IVF_DATA, IO_FLAG_SKIP_PRECOMPUTE_TABLE, IO_FLAG_SKIP_STORAGE, deserialize_index,
                  deserialize_index_binary, read_index, read_index_binary, serialize_index, serialize_index_binary,
                  write_index, write_index_binary)
from ._metrics import (METRIC_GOWER, METRIC_INNER_PRODUCT, METRIC_L1, METRIC_L2, METRIC_BrayCurtis, METRIC_Canberra,
                       METRIC_Jaccard, METRIC_JensenShannon, METRIC_Linf, METRIC_Lp, METRIC_NaNEuclidean,
                       is_similarity_metric)
from ._others import AnotherKind, refusing
from ._random import lrand, rand, randint, randn
from ._streams import (BufferedIOReader, BufferedIOWriter, FileIOReader, FileIOWriter, IOReader, IOWriter,
                       PyCallbackIOReader, PyCallbackIOWriter, VectorIOReader, VectorIOWriter)
from ._swig import (FAISS_VERSION_MAJOR, FAISS_VERSION_MINOR, FAISS_VERSION_PATCH, ByteVector, CharVector, DoubleVector,
                    Float32Vector, Float64Vector, FloatVector, Int8Vector, Int16Vector, Int32Vector, Int64Vector, IntVector,
                    LongLongVector, LongVector, SIMDConfig, SIMDLevel_ARM_NEON, SIMDLevel_ARM_SVE, SIMDLevel_AVX2,
                    SIMDLevel_AVX512, SIMDLevel_AVX512_SPR, SIMDLevel_NONE, SIMDLevel_RISCV_RVV, UInt8Vector, UInt16Vector,
                    UInt32Vector, UInt64Vector, Uint64Vector, copy_array_to_vector, cvar, get_compile_options,
                    omp_get_max_threads, omp_set_num_threads, popcount64, rev_swig_ptr, swig_ptr, swig_version, vector_to_array)

__version__ = f"{FAISS_VERSION_MAJOR}.{FAISS_VERSION_MINOR}.{FAISS_VERSION_PATCH}"
vector_float_to_array = vector_to_array

__all__ = ["AnotherKind", "bfKnn", "bruteForceKnn", "BufferedIOReader", "BufferedIOWriter", "ByteVector", "CharVector",
           "clone_binary_index", "clone_index", "copy_array_to_vector", "cvar", "deserialize_index",
           "deserialize_index_binary", "DistanceDataType_BF16", "DistanceDataType_F16", "DistanceDataType_F32",
           "DoubleVector", "downcast_index", "downcast_IndexBinary", "eval_intersection", "FAISS_VERSION_MAJOR",
           "FAISS_VERSION_MINOR", "FAISS_VERSION_PATCH", "FileIOReader", "FileIOWriter", "Float16", "Float32",
           "Float32Vector", "Float64Vector", "FloatVector", "get_compile_options", "get_num_gpus", "GpuClonerOptions",
           "GpuDistanceParams", "GpuIndexBinaryFlat", "GpuIndexBinaryFlatConfig", "GpuIndexFlat", "GpuIndexFlatConfig",
           "GpuIndexFlatIP", "GpuIndexFlatL2", "GpuMultipleClonerOptions", "GpuResourcesVector", "Index",
           "index_binary_cpu_to_gpu", "index_binary_factory", "index_cpu_to_all_gpus", "index_cpu_to_gpu",
           "index_cpu_to_gpu_multiple", "index_cpu_to_gpu_multiple_py", "index_cpu_to_gpus_list", "index_factory",
           "index_gpu_to_cpu", "IndexBinary", "IndexBinaryFlat", "IndexBinaryIDMap", "IndexBinaryIDMap2",
           "IndexBinaryReplicas", "IndexBinaryShards", "IndexFlat", "IndexFlat1D", "IndexFlatCodes", "IndexFlatIP",
           "IndexFlatL2", "IndexIDMap", "IndexIDMap2", "IndexProxy", "IndexReplicas", "IndexShards", "IndicesDataType_I32",
           "IndicesDataType_I64", "Int16Vector", "Int32Vector", "Int64Vector", "Int8", "Int8Vector", "IntVector",
           "IO_FLAG_MMAP", "IO_FLAG_MMAP_IFC", "IO_FLAG_ONDISK_SAME_DIR", "IO_FLAG_PQ_SKIP_SDC_TABLE", "IO_FLAG_READ_ONLY",
           "IO_FLAG_SKIP_IVF_DATA", "IO_FLAG_SKIP_PRECOMPUTE_TABLE", "IO_FLAG_SKIP_STORAGE", "IOReader", "IOWriter",
           "is_similarity_metric", "kmax", "kmin", "knn", "knn_gpu", "knn_hamming", "LongLongVector", "LongVector", "lrand",
           "merge_knn_results", "METRIC_BrayCurtis", "METRIC_Canberra", "METRIC_GOWER", "METRIC_INNER_PRODUCT",
           "METRIC_Jaccard", "METRIC_JensenShannon", "METRIC_L1", "METRIC_L2", "METRIC_Linf", "METRIC_Lp",
           "METRIC_NaNEuclidean", "normalize_L2", "omp_get_max_threads", "omp_set_num_threads", "popcount64", "pairwise_distance_gpu",
           "pairwise_distances", "PyCallbackIOReader", "PyCallbackIOWriter", "rand", "randint", "randn", "read_index",
           "read_index_binary", "ResultHeap", "rev_swig_ptr", "serialize_index", "serialize_index_binary", "SIMDConfig",
           "SIMDLevel_ARM_NEON", "SIMDLevel_ARM_SVE", "SIMDLevel_AVX2", "SIMDLevel_AVX512", "SIMDLevel_AVX512_SPR",
           "SIMDLevel_NONE", "SIMDLevel_RISCV_RVV", "StandardGpuResources", "swig_ptr", "swig_version", "UInt16Vector", "UInt32Vector",
           "UInt64Vector", "Uint64Vector", "UInt8", "UInt8Vector", "vector_float_to_array", "vector_to_array",
           "VectorIOReader", "VectorIOWriter", "write_index", "write_index_binary"]


def __getattr__(name: str) -> Any:
    if name == "contrib":
        from importlib import import_module
        return import_module(f"{__name__}.contrib")
    thing = refusing(name)
    globals()[name] = thing  # one class for one name
    return thing
