"""Interfaces of other libraries, answered exactly: change the import and nothing else."""
from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from . import cuvs, faiss

__all__ = ["cuvs", "faiss"]


def __getattr__(name: str) -> _Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _import_module(f"{__name__}.{name}")
