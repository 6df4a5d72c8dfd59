"""Signatures of public functions name every argument, and help on a search fits a screen."""
from __future__ import annotations

import inspect
import pydoc
import textwrap
from typing import Any, Iterator

import pytest
from test_documented import PUBLIC, module_of

import kith
import kith.arguments

LINES, COLUMNS = 40, 120


def callables(module: Any) -> Iterator[tuple[str, Any]]:
    """Functions, methods and classes that kith defines."""
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing) and thing.__module__.startswith("kith"):
            for method, function in vars(thing).items():
                if inspect.isfunction(function) and (method == "__init__" or not method.startswith("_")):
                    yield f"{name}.{method}", function


@pytest.mark.parametrize("name", PUBLIC)
def test_no_argument_is_a_catch_all(name: str) -> None:
    caught = [called for called, function in callables(module_of(name))
              if any(one.kind is one.VAR_KEYWORD for one in inspect.signature(function).parameters.values())]
    assert not caught


def test_help_fits_a_screen() -> None:
    text = pydoc.plain(pydoc.render_doc(kith.search)).split("\n", 2)[2].rstrip()
    head, _, said = text.partition("    The k nearest")
    lines = textwrap.wrap(head.replace("\n", " "), COLUMNS) + said.splitlines()  # a line for each argument from Python 3.13 on
    assert len(lines) <= LINES and max(map(len, lines)) <= COLUMNS
    assert 0 < text.index(">>> kith.search(points") < text.index("Parameters")


def test_help_on_arguments_has_them_all() -> None:
    said = kith.arguments.__doc__ or ""
    for name in inspect.signature(kith.search).parameters:
        assert any(name in line.split(" : ")[0].split(", ") for line in said.splitlines() if " : " in line), name
    for name in inspect.signature(kith.search).parameters:
        assert name in (kith.search.__doc__ or "")
