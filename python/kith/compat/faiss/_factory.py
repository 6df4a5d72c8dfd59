"""Indexes by a description, and copies of them."""
from __future__ import annotations

import copy
import re
from typing import Any

from ._binary import IndexBinary, IndexBinaryFlat, IndexBinaryIDMap, IndexBinaryIDMap2
from ._flat import IndexFlat
from ._idmap import IndexIDMap, IndexIDMap2
from ._index import Index
from ._metrics import METRIC_L2
from ._others import AnotherKind

def _wrapped(parts: list[str], description: str, inner: str, maps: dict[str, Any]) -> Any:
    """The map of ids that a description asks for, before or after the index itself; None where it asks for none."""
    wrappers = [maps[part] for part in parts if part in maps]
    if [part for part in parts if part not in maps] != [inner] or len(wrappers) > 1:
        raise AnotherKind(f"description: {description!r}; expected {inner!r}, with {' or '.join(map(repr, maps))} or not: other "
                          "indexes are approximate, or change the vectors")
    return wrappers[0] if wrappers else None

def index_factory(d: int, description: str, metric: int = METRIC_L2, own_invlists: bool = True) -> Any:
    """An index by its description.

    Parameters
    ----------
    d : int
        Dimensions.
    description : str
        "Flat", "IDMap,Flat", "IDMap2,Flat" or "Flat,IDMap".
    metric : int
        METRIC_L2, METRIC_INNER_PRODUCT, ...
    own_invlists : bool
        Means nothing.

    Returns
    -------
    IndexFlat, IndexIDMap or IndexIDMap2

    Raises
    ------
    NotImplementedError, ValueError, TypeError
        NotImplementedError of descriptions of other indexes.

    Examples
    --------
    >>> from kith.compat import faiss
    >>> type(faiss.index_factory(8, "IDMap,Flat", faiss.METRIC_INNER_PRODUCT).index).__name__
    'IndexFlat'
    """
    if not isinstance(description, str):
        raise TypeError(f"description: expected a string, got {type(description).__name__}")
    parts = [part.strip() for part in re.sub(r"^\((.*)\)$", r"\1", description.strip()).split(",")]
    mapped = _wrapped(parts, description, "Flat", {"IDMap": IndexIDMap, "IDMap2": IndexIDMap2})
    index = IndexFlat(d, metric)
    if mapped is None:
        return index
    around = mapped(index)
    around.own_fields = True
    return around

def index_binary_factory(d: int, description: str, own_invlists: bool = True) -> Any:
    """An index of packed bits by its description.

    Parameters
    ----------
    d : int
        Bits, a multiple of 8.
    description : str
        "BFlat", "IDMap,BFlat" or "IDMap2,BFlat".
    own_invlists : bool
        Means nothing.

    Returns
    -------
    IndexBinaryFlat, IndexBinaryIDMap or IndexBinaryIDMap2

    Raises
    ------
    NotImplementedError, ValueError, TypeError
        NotImplementedError of descriptions of other indexes.

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.index_binary_factory(16, "BFlat").code_size
    2
    """
    if not isinstance(description, str):
        raise TypeError(f"description: expected a string, got {type(description).__name__}")
    mapped = _wrapped(description.split(","), description, "BFlat", {"IDMap": IndexBinaryIDMap, "IDMap2": IndexBinaryIDMap2})
    if mapped is None:
        return IndexBinaryFlat(d)
    around = mapped(IndexBinaryFlat(d))
    around.own_fields = True
    return around


def clone_index(index: Any) -> Any:
    """A copy of the index, with vectors of its own.

    Parameters
    ----------
    index : IndexFlat, IndexIDMap, IndexShards, ...
        Is copied, and so are the indexes that it holds.

    Returns
    -------
    index of the same class

    Raises
    ------
    TypeError, MemoryError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> faiss.clone_index(faiss.IndexFlatL2(8)).d
    8
    """
    if not isinstance(index, (Index, IndexBinary)):
        raise TypeError(f"index: expected an index, got {type(index).__name__}")
    return copy.deepcopy(index)


clone_binary_index = clone_index


def downcast_index(index: Any) -> Any:
    """The index itself, whose class Python knows.

    Parameters
    ----------
    index : Index or IndexBinary
        For any class.

    Returns
    -------
    the same index

    Raises
    ------
    TypeError

    Examples
    --------
    >>> from kith.compat import faiss
    >>> type(faiss.downcast_index(faiss.IndexFlatL2(8))).__name__
    'IndexFlatL2'
    """
    if not isinstance(index, (Index, IndexBinary)):
        raise TypeError(f"index: expected an index, got {type(index).__name__}")
    return index

downcast_IndexBinary = downcast_index  # noqa: N816
