"""Docstrings: each of a public function says what it takes, gives and raises, and its example gives what it says."""
from __future__ import annotations

import doctest
import importlib
import inspect
from typing import Any, Iterator

import pytest

import kith

MODULES = ["kith", "kith._batches", "kith._distances", "kith._index", "kith._match", "kith._plan", "kith._radius", "kith._radius_blocks", "kith._radius_shards", "kith._recommend", "kith._retrieval", "kith._search", "kith._topk", "kith._verify",
           *(f"kith.compat.cuvs.{name}" for name in ("brute_force", "distance", "filters")),
           *(f"kith.compat.faiss.{name}" for name in ("_binary", "_factory", "_flat", "_functions", "_gpu", "_gpu_functions", "_idmap", "_io",
                                                      "_metrics", "_random", "_swig")),
           "kith.dask", "kith.groundtruth", "kith.information", "kith.opentsne", "kith.scanpy", "kith.shards", "kith.sklearn", "kith.torch",
           "kith._torch_clouds", "kith._torch_cluster", "kith.umap"]
PUBLIC = ["kith", "kith.compat.cuvs", "kith.compat.cuvs.brute_force", "kith.compat.cuvs.filters", "kith.compat.faiss", "kith.dask", "kith.groundtruth", "kith.information", "kith.opentsne", "kith.ray",
          "kith.scanpy", "kith.shards", "kith.sklearn", "kith.torch", "kith.umap"]


def module_of(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        pytest.skip(f"{name} needs a package that is not installed")


def functions(module: Any) -> Iterator[tuple[str, Any]]:
    """The functions that a module offers, and the methods of its Index."""
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isfunction(thing):
            yield name, thing
        elif thing is kith.Index:
            yield from ((f"Index.{method}", getattr(thing, method)) for method in dir(thing)
                        if not method.startswith("_") and inspect.isfunction(getattr(thing, method)))


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    found = doctest.testmod(module_of(name))
    assert found.attempted and not found.failed


@pytest.mark.parametrize("name", PUBLIC)
def test_functions_say_what_they_take_and_give(name: str) -> None:
    lacking = []
    for called, function in functions(module_of(name)):
        said = inspect.getdoc(function) or ""
        wanted = ["Examples\n--------", ">>> "]
        if inspect.signature(function).parameters.keys() - {"self"}:
            wanted += ["Parameters\n----------", "Raises\n------"]
        if "return" in function.__annotations__ and function.__annotations__["return"] != "None":
            wanted.append("Returns\n-------")
        lacking += [f"{called}: {part.splitlines()[0]}" for part in wanted if part not in said]
    assert not lacking


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented(name: str) -> None:
    module = module_of(name)
    for public in module.__all__:
        thing = getattr(module, public)
        if callable(thing) and public not in ("Cancelled", "DeviceError", "Report"):
            assert thing.__doc__, public
