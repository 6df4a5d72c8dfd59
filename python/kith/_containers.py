"""Files that the core of a wheel does not read, HDF5 and Parquet: their rows by h5py and by pyarrow, which the extras bring."""
from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

_HDF5 = re.compile(r"(.*\.(?:hdf5|h5))(?:/(.*))?", re.DOTALL)
_PARQUET = re.compile(r"(.*\.(?:parquet|pq))([/:].*)?", re.DOTALL)


def rows_of(path: str, name: str) -> Any | None:
    """The rows of such a file as an array; None: it is none. ImportError where the package that reads it is missing."""
    hdf5, parquet = _HDF5.fullmatch(path), _PARQUET.fullmatch(path)
    if hdf5:
        return _of_hdf5(hdf5[1], hdf5[2], name)
    if not parquet:
        return None
    if parquet[2]:
        raise ValueError(f"{name}: {path!r}; expected the name of a Parquet file and nothing behind it: read a part of one by "
                         "pyarrow.parquet.read_table, and give the table")
    _require(parquet[1], "Parquet")
    reader = _package("pyarrow.parquet", "arrow", path, name)
    try:
        return reader.read_table(path)
    except (OSError, ValueError) as error:  # Arrow's own are among them, and name no file
        raise OSError(f"{path}: {error}") from None


def _of_hdf5(path: str, dataset: str | None, name: str) -> np.ndarray[Any, Any]:
    _require(path, "HDF5")
    h5py = _package("h5py", "hdf5", path, name)
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise OSError(f"{path}: {error}") from None
    with file:
        held = [key for key, value in file.items() if isinstance(value, h5py.Dataset)]
        if dataset is None:  # as the command line chooses
            usual = "test" if name == "queries" else "train"
            if usual not in held and len(held) != 1:
                raise ValueError(f"{name}: {path} holds {', '.join(held) or 'no data set'}; expected the name of one behind it, "
                                 f"{path}/NAME")
            dataset = usual if usual in held else held[0]
        found = file.get(dataset)
        if not isinstance(found, h5py.Dataset):
            raise ValueError(f"{name}: {path} has no data set {dataset!r}; expected one of {', '.join(held) or 'none'}")
        return np.asarray(found[()])


def _require(path: str, kind: str) -> None:
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such {kind} file")


def _package(module: str, extra: str, path: str, name: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(f"{name}: {path} is read by {package}, which is not installed: pip install kith-knn[{extra}]") from None
