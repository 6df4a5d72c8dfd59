"""The examples in docstrings give what they say."""
from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["kith", "kith._distances", "kith._match", "kith._radius", "kith._radius_blocks", "kith._search", "kith._topk", "kith.information", "kith.sklearn", "kith.compat.faiss", "kith.torch",
                                  "kith.groundtruth", "kith.shards", "kith.dask"])
def test_docstrings(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ImportError:
        pytest.skip(f"{name} needs a package that is not installed")
    assert doctest.testmod(module).failed == 0


def test_every_public_name_is_documented() -> None:
    import kith
    for name in kith.__all__:
        if not name.startswith("__") and name not in ("Cancelled", "DeviceError", "Report"):
            assert getattr(kith, name).__doc__, name


@pytest.mark.parametrize("name", ["kith.groundtruth", "kith.shards"])
def test_every_public_name_of_a_module_is_documented(name: str) -> None:
    module = importlib.import_module(name)
    for public in module.__all__:
        assert getattr(module, public).__doc__, public
