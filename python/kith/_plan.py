"""plan and plan_topk: plans of calls; paths and selectors: the names that can be asked for."""
from __future__ import annotations

from typing import Any, NamedTuple

from . import _core
from ._arguments import _flag, _integer, _metric, _settings, _text

_TYPES = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "uint8": "u8"}


class Plan(NamedTuple):
    """The plan of a call. ``print(plan)`` says it in lines.

    Attributes
    ----------
    device : str
        ``"cpu"`` or ``"cuda:0"``; of several GPUs the first.
    path : str
        As in ``Report.path``: ``"gemm-f16"``, ``"garcia+insertion-sort"``.
    selector : str
        As in ``Report.selector``; ``""`` where the path has a selection of its own.
    query_tile, point_tile : int
        Queries and points, or rows and values of a row, that are worked on at a time.
    candidate_capacity : int
        Candidates of a query between filter and rescoring.
    workspace_bytes : int
        Bytes in addition to inputs, results and prepared points.
    attempts : list of (str, str)
        The strategies in the order in which they may run, each with its condition.
    why : str
        A sentence for each decision.
    text : str
        All of it in lines.
    """

    device: str
    path: str
    selector: str
    query_tile: int
    point_tile: int
    candidate_capacity: int
    workspace_bytes: int
    attempts: list[tuple[str, str]]
    why: str
    text: str

    def __str__(self) -> str:
        return self.text


class Path(NamedTuple):
    """A path that can be asked for by name.

    Attributes
    ----------
    name : str
        For ``path=``.
    on_cpu, on_gpu : bool
        Where it runs.
    takes_selector : bool
        A distance kernel: ``path=name + "+" + selector``, a selector of a GPU; in `distances` ``path=name``.
    graphs_only : bool
        It serves `graph` alone.
    what : str
        A line.
    """

    name: str
    on_cpu: bool
    on_gpu: bool
    takes_selector: bool
    graphs_only: bool
    what: str


class Selector(NamedTuple):
    """A selector that can be asked for by name.

    Attributes
    ----------
    name : str
        For ``selector=``.
    on_gpu : bool
        It runs on a GPU, else on a CPU.
    min_k, max_k : int
        The k that it serves; ``max_k`` 0: any.
    what : str
        A line.
    """

    name: str
    on_gpu: bool
    min_k: int
    max_k: int
    what: str


def paths() -> list[Path]:
    """The paths of this build: how a search runs, which never changes the answer.

    Returns
    -------
    list of Path

    Examples
    --------
    >>> import kith
    >>> "tree" in [path.name for path in kith.paths()]
    True
    """
    return [Path(*each) for each in _core.paths()]


def selectors() -> list[Selector]:
    """The selectors of this build, those of the CPU first: what finds the k smallest of a row.

    Returns
    -------
    list of Selector

    Examples
    --------
    >>> import kith
    >>> [selector.name for selector in kith.selectors() if not selector.on_gpu]
    ['vector', 'nth-element', 'heap', 'insertion']
    """
    return [Selector(*each) for each in _core.selectors()]


def _type(name: Any) -> str:
    known = _TYPES.get(_text(name, "type", "a name"))
    if known is None:
        raise ValueError(f"type: {name!r}; expected one of {', '.join(_TYPES)}")
    return known


def plan(n: int, q: int | None = None, d: int = 128, k: int = 10, *, type: str = "float32",  # noqa: A002
         graph: bool = False, prepared: bool = False, metric: str = "sqeuclidean", p: float = 2.0, packed_bits: bool = False,
         formula: str | None = None, start: float = 0.0, f64: bool = False, device: str = "auto", memory: int = 0,
         threads: int = 0, path: str = "", selector: str = "", isa: str = "", machine: str = "") -> Plan:
    """The plan of a search of that shape, without data: what it would do, and why.

    Parameters
    ----------
    n, q, d, k : int
        Points, queries, dimensions, neighbours. ``graph=True`` takes no ``q``: the points are the queries.
    type : str
        The elements': ``"float32"``, ``"float64"``, ``"float16"``, ``"bfloat16"``, ``"int8"``, ``"uint8"``.
    graph : bool
        As of `graph`.
    prepared : bool
        The points are those of an `Index`.
    metric, p, packed_bits, formula, start, f64, device, memory, threads, path, selector, isa
        As in `search`.
    machine : str
        Plan for a machine that was measured in place of this one, by its name (``kith plan --help``) or by a file of ``kith
        calibrate``.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError
        As of the search.

    Examples
    --------
    >>> import kith
    >>> kith.plan(100_000, 1000, 64, 10, device="cpu", path="exact").path
    'exact'
    """
    if graph and q is not None:
        raise ValueError(f"q is {q}: a graph's queries are its points; leave it out")
    if not graph and q is None:
        raise TypeError("q: expected the number of queries, or graph=True")
    return Plan(*_core.plan(
        _integer(n, "n"), _integer(n if q is None else q, "q"), _integer(d, "d"), _integer(k, "k"), _type(type), _flag(graph, "graph"),
        _flag(prepared, "prepared"), _text(machine, "machine"), _metric(metric, p, None, None, packed_bits, formula, start),
        _settings(f64, device, memory, threads, path, isa, 0, None, selector)))


def plan_topk(rows: int, cols: int, k: int, *, type: str = "float32", largest: bool = True,  # noqa: A002
              sorted: bool = True, device: str = "auto", threads: int = 0, selector: str = "") -> Plan:  # noqa: A002
    """The plan of `topk` for that many rows of values, without data: what it would do, and why.

    Parameters
    ----------
    rows, cols, k : int
        Rows, values of a row, and how many of these to select.
    type : str
        The values': ``"float32"``, ``"float64"``, ``"float16"``, ``"bfloat16"``.
    largest, sorted, device, threads, selector
        As in `topk`.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError, TypeError, MemoryError, DeviceError
        As of `topk`.

    Examples
    --------
    >>> import kith
    >>> kith.plan_topk(1000, 1000, 10, device="cpu", selector="heap").selector
    'heap'
    """
    return Plan(*_core.plan_topk(
        _integer(rows, "rows"), _integer(cols, "cols"), _integer(k, "k"), _type(type), _flag(largest, "largest"),
        _flag(sorted, "sorted"), _settings(False, device, 0, threads, "", "", 0, None, selector)))
