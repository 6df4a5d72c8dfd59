"""kith's C interface (include/kith/c.h) through ctypes: views of numpy arrays and torch tensors, search and Index."""
import ctypes
import pathlib

import numpy as np

HOST = -1
TYPES = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 3, "int8": 4, "uint8": 5}


class Matrix(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("rows", ctypes.c_int64), ("cols", ctypes.c_int64),
                ("stride", ctypes.c_int64), ("type", ctypes.c_int32), ("layout", ctypes.c_int32),
                ("device", ctypes.c_int32)]


class Neighbors(ctypes.Structure):
    _fields_ = [("ids", ctypes.c_void_p), ("distances", ctypes.c_void_p), ("device", ctypes.c_int32)]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("metric", ctypes.c_int32), ("packed_bits", ctypes.c_int32),
                ("p", ctypes.c_double), ("inverse_covariance", ctypes.c_void_p), ("formula", ctypes.c_char_p),
                ("start", ctypes.c_double), ("functor", ctypes.c_void_p), ("largest", ctypes.c_int32),
                ("sorted", ctypes.c_int32), ("f64", ctypes.c_int32), ("threads", ctypes.c_int32),
                ("memory", ctypes.c_int64), ("device", ctypes.c_char_p), ("path", ctypes.c_char_p),
                ("selector", ctypes.c_char_p), ("isa", ctypes.c_char_p), ("stream", ctypes.c_void_p),
                ("progress", ctypes.c_void_p), ("progress_user", ctypes.c_void_p), ("order", ctypes.c_char_p),
                ("variances", ctypes.c_void_p)]


class Report(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("path", ctypes.c_char * 64), ("device", ctypes.c_char * 128),
                ("queries", ctypes.c_int64), ("certified", ctypes.c_int64), ("retried", ctypes.c_int64),
                ("scanned", ctypes.c_int64), ("candidates", ctypes.c_double), ("pairs", ctypes.c_double),
                ("prepare_seconds", ctypes.c_double), ("seconds", ctypes.c_double),
                ("device_seconds", ctypes.c_double)]

    def as_dict(self):
        values = {name: getattr(self, name) for name, _ in self._fields_[1:]}
        return {name: v.decode() if isinstance(v, bytes) else v for name, v in values.items()}


def is_torch(array):
    return type(array).__module__.split(".")[0] == "torch"


def address(array):
    return array.data_ptr() if is_torch(array) else array.ctypes.data


def device_of(array):
    return array.device.index or 0 if is_torch(array) and array.is_cuda else HOST


def view(array):
    """A row-major view of an array whose rows are dense; the array must outlive it."""
    kind = str(array.dtype).removeprefix("torch.")
    stride = array.stride(0) if is_torch(array) else array.strides[0] // array.itemsize
    return Matrix(address(array), array.shape[0], array.shape[1], stride, TYPES[kind], 0, device_of(array))


class Library:
    def __init__(self, path):
        self.path = str(path)
        self.lib = ctypes.CDLL(self.path)
        for name in ("kith_last_error", "kith_version"):
            getattr(self.lib, name).restype = ctypes.c_char_p
        self.lib.kith_options_init.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.lib.kith_index_free.argtypes = [ctypes.c_void_p]
        self.lib.kith_index_free.restype = None
        self.lib.kith_search.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64] + [ctypes.c_void_p] * 3
        self.lib.kith_index_search.argtypes = self.lib.kith_search.argtypes
        self.lib.kith_graph.argtypes = [ctypes.c_void_p, ctypes.c_int64] + [ctypes.c_void_p] * 3
        self.lib.kith_build_info.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p]

    def version(self):
        return self.lib.kith_version().decode()

    def build_info(self):
        text = ctypes.create_string_buffer(1 << 16)
        self.check(self.lib.kith_build_info(text, len(text), None))
        return text.value.decode()

    def check(self, code):
        if code:
            raise RuntimeError(f"kith error {code}: {self.lib.kith_last_error().decode()}")

    def options(self, metric="sqeuclidean", threads=0, device="auto", path="", stream=0):
        o = Options()
        self.lib.kith_options_init(ctypes.byref(o), ctypes.sizeof(o))
        number = ctypes.c_int32()
        self.check(self.lib.kith_metric_named(metric.encode(), ctypes.byref(number)))
        o.metric, o.threads, o.device, o.stream = number.value, threads, device.encode(), stream or None
        o.path = path.encode() or None
        return o

    def search(self, points, queries, k, options):
        """(ids, distances, Report); the arrays are of the queries' kind and device."""
        call, first = self.lib.kith_search, view(points)
        return self._search(call, ctypes.byref(first), queries, k, options)

    def graph(self, points, k, options):
        """search() of the points themselves, each without itself."""
        ids, distances = empty_like(points, k)
        out = Neighbors(address(ids), address(distances), device_of(ids))
        report = Report(ctypes.sizeof(Report))
        rows = view(points)
        self.check(self.lib.kith_graph(ctypes.byref(rows), k, ctypes.byref(options), ctypes.byref(out),
                                       ctypes.byref(report)))
        return ids, distances, report

    def _search(self, call, first, queries, k, options):
        ids, distances = empty_like(queries, k)
        out = Neighbors(address(ids), address(distances), device_of(ids))
        report = Report(ctypes.sizeof(Report))
        rows = view(queries)
        self.check(call(first, ctypes.byref(rows), k, ctypes.byref(options), ctypes.byref(out), ctypes.byref(report)))
        return ids, distances, report

    def index(self, points, options):
        return Index(self, points, options)


class Index:
    """Points prepared once; freed with the object."""

    def __init__(self, library, points, options):
        self.library, self.handle = library, ctypes.c_void_p()
        rows = view(points)
        library.check(library.lib.kith_index_create(ctypes.byref(rows), ctypes.byref(options),
                                                    ctypes.byref(self.handle)))

    def search(self, queries, k, options):
        return self.library._search(self.library.lib.kith_index_search, self.handle, queries, k, options)

    def __del__(self):
        if self.handle:
            self.library.lib.kith_index_free(self.handle)
            self.handle = None


def empty_like(queries, k):
    shape = (queries.shape[0], k)
    if is_torch(queries):
        import torch
        return (torch.empty(shape, dtype=torch.int64, device=queries.device),
                torch.empty(shape, dtype=torch.float32, device=queries.device))
    return np.empty(shape, np.int64), np.empty(shape, np.float32)


def find(root, given=None):
    """The shared library: the given one, or the newest below build/."""
    if given:
        return pathlib.Path(given).resolve()
    built = sorted((root / "build").glob("*/src/libkith.so"), key=lambda path: path.stat().st_mtime)
    if not built:
        raise SystemExit("bench/baselines: no libkith.so below build/; `make bench` builds it, or name one with --library")
    return built[-1]
