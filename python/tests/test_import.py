"""`import kith`: what it loads, how long it takes, and that all names are there."""
from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

import kith

MILLISECONDS = 80
RUNS = 7


def said(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_nothing_is_imported_before_it_is_needed() -> None:
    loaded = said("import sys; before = set(sys.modules); import kith; print(*sys.modules.keys() - before)").split()
    assert [name for name in loaded if name.startswith("kith")] == ["kith"]
    assert {name.partition(".")[0] for name in loaded} <= {"kith", *sys.stdlib_module_names} and len(loaded) < 30


def test_a_search_loads_numpy_alone() -> None:
    loaded = said("import sys, kith; kith.search([[0.0]], [[1.0]], 1); print(*{name.partition('.')[0] for name in sys.modules})")
    assert {*loaded.split()} - sys.stdlib_module_names <= {"__main__", "kith", "numpy"} | {*said(
        "import sys, numpy; print(*{name.partition('.')[0] for name in sys.modules})").split()}


def test_every_name_is_there() -> None:
    said("import kith; assert all(hasattr(kith, name) for name in kith.__all__)")
    namespace: dict[str, object] = {}
    exec("from kith import *", namespace)
    assert {*kith.__all__} <= {*namespace} and {"arguments", "groundtruth", "sklearn"} <= {*dir(kith)}
    with pytest.raises(AttributeError, match="has no attribute 'serch'"):
        kith.serch


def test_every_module_of_the_package_is_one() -> None:
    """No library lies where Python would take it for an extension module."""
    names = {module.name for module in pkgutil.iter_modules(kith.__path__)}
    assert "_core" in names and not {name for name in names if name.startswith("lib") or name in ("bin", "data")}


def test_time() -> None:
    program = "import time; t = time.perf_counter(); import kith; print(time.perf_counter() - t)"
    assert min(float(said(program)) for _ in range(RUNS)) * 1000 < MILLISECONDS
