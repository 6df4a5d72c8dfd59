"""The examples in docstrings give what they say."""
from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["kith", "kith._search", "kith.sklearn", "kith.compat.faiss", "kith.torch"])
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
