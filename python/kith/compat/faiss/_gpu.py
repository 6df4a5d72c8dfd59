"""faiss' names of a GPU: indexes that lie on one or several, and resources, which are looked after."""
from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from ... import _core
from ..._kinds import on_host
from ._arrays import copy_of
from ._binary import IndexBinaryFlat, IndexBinaryIDMap
from ._flat import IndexFlat
from ._guarded import Guarded
from ._idmap import IndexIDMap, MappedIds
from ._metrics import METRIC_INNER_PRODUCT, METRIC_L2
from ._others import AnotherKind


class StandardGpuResources:
    """Accepted wherever faiss wants one, and nothing else: memory and streams are looked after. Work is ordered on the
    current stream of the queries' library."""

    def noTempMemory(self) -> None:  # noqa: N802
        """Nothing to set."""

    def setTempMemory(self, size: int) -> None:  # noqa: N802
        """Nothing to set."""

    def setPinnedMemory(self, size: int) -> None:  # noqa: N802
        """Nothing to set."""

    def setDefaultStream(self, device: int, stream: Any) -> None:  # noqa: N802
        """Nothing to set."""

    def setDefaultNullStreamAllDevices(self) -> None:  # noqa: N802
        """Nothing to set."""

    def syncDefaultStreamCurrentDevice(self) -> None:  # noqa: N802
        """Nothing to wait for: calls have finished on return."""


class GpuResourcesVector(list):  # type: ignore[type-arg]
    """A std::vector of resources."""

    push_back = list.append

    def size(self) -> int:
        """Elements."""
        return len(self)


class GpuIndexFlatConfig(Guarded):
    """Where a `GpuIndexFlat` lies. Filters choose their own precision: the answers are exact whatever is said here."""

    device: int = 0
    useFloat16: bool = False  # noqa: N815
    use_cuvs: bool = False
    memorySpace: int = 0  # noqa: N815


class GpuClonerOptions(Guarded):
    """Accepted by `index_cpu_to_gpu`: the answers are exact whatever is said here."""

    useFloat16: bool = False  # noqa: N815
    useFloat16CoarseQuantizer: bool = False  # noqa: N815
    usePrecomputed: bool = False  # noqa: N815
    reserveVecs: int = 0  # noqa: N815
    storeTransposed: bool = False  # noqa: N815
    verbose: bool = False
    use_cuvs: bool = False
    indicesOptions: int = 0  # noqa: N815
    allowCpuCoarseQuantizer: bool = False  # noqa: N815


class GpuMultipleClonerOptions(GpuClonerOptions):
    """Accepted by `index_cpu_to_all_gpus`. Vectors that are sharded and vectors that are replicated give the same answers."""

    shard: bool = False
    shard_type: int = 1
    common_ivf_quantizer: bool = False


class GpuIndexFlat(IndexFlat):
    """`IndexFlat` on one GPU.

    Parameters
    ----------
    resources : StandardGpuResources
        Not needed.
    dims : int or IndexFlat
        Dimensions, or the index whose vectors it takes.
    metric : int
        METRIC_L2, METRIC_INNER_PRODUCT, ...
    config : GpuIndexFlatConfig, optional
        Which GPU.
    """

    def __init__(self, resources: Any, dims: Any, metric: int = METRIC_L2, config: GpuIndexFlatConfig | None = None) -> None:
        of = dims if isinstance(dims, IndexFlat) else None
        super().__init__(dims if of is None else of.d, metric if of is None else of.metric_type)
        self._resources = resources
        self._device = f"cuda:{0 if config is None else config.device}"
        if of is not None:
            self.copyFrom(of)

    def copyFrom(self, index: IndexFlat) -> None:  # noqa: N802
        """Takes the vectors of an index of the CPU."""
        self.d, self.metric_type, self.metric_arg = index.d, index.metric_type, index.metric_arg
        self._take(copy_of(index._vectors()))

    def copyTo(self, index: IndexFlat) -> None:  # noqa: N802
        """Gives its vectors to an index of the CPU."""
        index.d, index.metric_type, index.metric_arg = self.d, self.metric_type, self.metric_arg
        index._take(np.array(on_host(self._vectors())))

    def getDevice(self) -> int:  # noqa: N802
        """Which GPU; of several the first."""
        first = self._device.partition(":")[2].partition(",")[0]
        return int(first) if first.isdigit() else 0

    def getResources(self) -> Any:  # noqa: N802
        """The resources that it was given."""
        return self._resources

    def getNumVecs(self) -> int:  # noqa: N802
        """Vectors that were added."""
        return self.ntotal


class GpuIndexFlatL2(GpuIndexFlat):
    """`GpuIndexFlat` of squared Euclidean distances."""

    def __init__(self, resources: Any, dims: Any, config: GpuIndexFlatConfig | None = None) -> None:
        super().__init__(resources, dims, METRIC_L2, config)


class GpuIndexFlatIP(GpuIndexFlat):
    """`GpuIndexFlat` of inner products, the largest first."""

    def __init__(self, resources: Any, dims: Any, config: GpuIndexFlatConfig | None = None) -> None:
        super().__init__(resources, dims, METRIC_INNER_PRODUCT, config)


class GpuIndexBinaryFlat(IndexBinaryFlat):
    """`IndexBinaryFlat` on one GPU.

    Parameters
    ----------
    resources : StandardGpuResources
        Not needed.
    dims : int or IndexBinaryFlat
        Bits, or the index whose vectors it takes.
    config : GpuIndexFlatConfig, optional
        Which GPU.
    """

    def __init__(self, resources: Any, dims: Any, config: GpuIndexFlatConfig | None = None) -> None:
        of = dims if isinstance(dims, IndexBinaryFlat) else None
        super().__init__(dims if of is None else of.d)
        self._device = f"cuda:{0 if config is None else config.device}"
        if of is not None:
            self._take(of._codes().copy())


GpuIndexBinaryFlatConfig = GpuIndexFlatConfig


def get_num_gpus() -> int:
    """CUDA devices that this process sees.

    Returns
    -------
    int

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.get_num_gpus() >= 0
    True
    """
    return _core.device_count()


def _on(index: Any, provider: Any, device: str) -> Any:
    """The index with its vectors on devices."""
    if isinstance(index, MappedIds):
        return type(index)._around(_on(index.index, provider, device), index._ids.copy())
    if isinstance(index, IndexFlat):
        there: Any = GpuIndexFlat(provider, index)
    elif isinstance(index, IndexBinaryFlat):
        there = GpuIndexBinaryFlat(provider, index)
    else:
        raise AnotherKind(f"index: {type(index).__name__}; expected an IndexFlat or IndexBinaryFlat, in a map of ids or not")
    there._device = device
    return there


def index_cpu_to_gpu(provider: Any, device: int, index: Any, options: Any = None) -> Any:
    """The index' vectors in one of that GPU.

    Parameters
    ----------
    provider : StandardGpuResources
        Not needed.
    device : int
        Which GPU; what is absent is a `kith.DeviceError` of the first search.
    index : IndexFlat, IndexIDMap, IndexBinaryFlat
        Is copied.
    options : GpuClonerOptions, optional
        Not needed.

    Returns
    -------
    GpuIndexFlat, or the map of ids around it

    Raises
    ------
    MemoryError, NotImplementedError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, faiss.IndexFlatL2(8)).d
    8
    """
    return _on(index, provider, f"cuda:{device}")


index_binary_cpu_to_gpu = index_cpu_to_gpu


def index_cpu_to_gpus_list(index: Any, co: Any = None, gpus: Sequence[int] | None = None, ngpu: int = -1) -> Any:
    """The index' vectors in one that searches on several GPUs together.

    Parameters
    ----------
    index : IndexFlat, IndexIDMap, IndexBinaryFlat
        Is copied.
    co : GpuMultipleClonerOptions, optional
        Not needed.
    gpus : sequence of int, optional
        Which; by default all, or the first ``ngpu``.
    ngpu : int
        How many, where gpus are not named; -1: all.

    Returns
    -------
    GpuIndexFlat, or the map of ids around it

    Raises
    ------
    MemoryError, NotImplementedError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.index_cpu_to_gpus_list(faiss.IndexFlatL2(8), gpus=[0, 1]).ntotal
    0
    """
    if gpus is None:
        gpus = range(ngpu) if ngpu > 0 else ()
    return _on(index, None, "cuda:" + (",".join(map(str, gpus)) or "all"))


def index_cpu_to_all_gpus(index: Any, co: Any = None, ngpu: int = -1) -> Any:
    """The index' vectors in one that searches on all GPUs together.

    Parameters
    ----------
    index, co, ngpu
        As in `index_cpu_to_gpus_list`.

    Returns
    -------
    GpuIndexFlat, or the map of ids around it

    Raises
    ------
    MemoryError, NotImplementedError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.index_cpu_to_all_gpus(faiss.IndexFlatIP(8)).metric_type == faiss.METRIC_INNER_PRODUCT
    True
    """
    return index_cpu_to_gpus_list(index, co, None, ngpu)


def index_cpu_to_gpu_multiple_py(resources: Any, index: Any, co: Any = None, gpus: Sequence[int] | None = None) -> Any:
    """The index' vectors in one that searches on as many GPUs together as there are resources.

    Parameters
    ----------
    resources : list of StandardGpuResources
        How many they are says how many GPUs.
    index, co
        As in `index_cpu_to_gpus_list`.
    gpus : sequence of int, optional
        Which; by default the first.

    Returns
    -------
    GpuIndexFlat, or the map of ids around it

    Raises
    ------
    MemoryError, NotImplementedError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.index_cpu_to_gpu_multiple_py([faiss.StandardGpuResources()], faiss.IndexFlatL2(8)).getDevice()
    0
    """
    return index_cpu_to_gpus_list(index, co, list(range(len(resources)) if gpus is None else gpus)[:len(resources)])


def index_cpu_to_gpu_multiple(provider: Any, devices: Any, index: Any, options: Any = None) -> Any:
    """The index' vectors in one that searches on these GPUs together.

    Parameters
    ----------
    provider : GpuResourcesVector
        One for each GPU.
    devices : Int32Vector
        Which GPUs.
    index, options
        As in `index_cpu_to_gpu`.

    Returns
    -------
    GpuIndexFlat, or the map of ids around it

    Raises
    ------
    MemoryError, NotImplementedError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> devices = faiss.Int32Vector([1])
    >>> faiss.index_cpu_to_gpu_multiple(faiss.GpuResourcesVector(), devices, faiss.IndexFlatL2(8)).getDevice()
    1
    """
    return index_cpu_to_gpus_list(index, options, [int(devices.at(i)) for i in range(devices.size())])


def index_gpu_to_cpu(index: Any) -> Any:
    """Its vectors in an index of the CPU.

    Parameters
    ----------
    index : GpuIndexFlat, GpuIndexBinaryFlat, or a map of ids around one
        Is copied.

    Returns
    -------
    IndexFlat, IndexBinaryFlat, or the map of ids around it

    Raises
    ------
    MemoryError, NotImplementedError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.index_gpu_to_cpu(faiss.GpuIndexFlatL2(faiss.StandardGpuResources(), 8)).ntotal
    0
    """
    if isinstance(index, (IndexIDMap, IndexBinaryIDMap)):
        return type(index)._around(index_gpu_to_cpu(index.index), index._ids.copy())
    if isinstance(index, IndexBinaryFlat):
        bits = IndexBinaryFlat(index.d)
        bits._take(index._codes().copy())
        return bits
    if not isinstance(index, GpuIndexFlat):
        raise AnotherKind(f"index: {type(index).__name__}; expected a GpuIndexFlat or GpuIndexBinaryFlat")
    here = IndexFlat(index.d, index.metric_type)
    index.copyTo(here)
    return here
