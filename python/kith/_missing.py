"""Rows that hold a NaN: a warning that says how many there are, or an error. The core counts them: those of host memory
before a search, those of a device during it."""
from __future__ import annotations

import os
import sys
import warnings
from typing import Any, Optional

from . import _core
from ._arguments import MISSING, _one_of, _settings

_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep

Count = Optional[int]


class MissingValuesWarning(UserWarning):
    """Rows hold a NaN: as points they are nobody's neighbours, as queries they have none."""


def noted(report: _core.Report, missing: str, points: Any = None, queries: Any = None, of_index: Count = None) -> _core.Report:
    """The report of a search of these arrays, None where there was none of them; `of_index`: what an Index knows of its
    points, and has said. Warns, or raises, of rows that hold a NaN."""
    if missing == "ignore":
        return report
    if report.nan_points or report.nan_queries:
        told(missing, ("points", report.nan_points, points), ("queries", report.nan_queries, queries))
    if of_index is not None:
        report.nan_points = of_index
    if queries is None:  # the points among themselves
        report.nan_queries = report.nan_points
    return report


def left_out(points: Any, read: Any, missing: str) -> None:
    """Warns, or raises, of rows that an estimate of these points leaves out; `read`: the points as the core takes them."""
    if missing == "ignore":
        return
    count = _core.nan_rows(read, _settings(False, "auto", 0, 0, "", "", 0, None, missing=missing))
    if count and missing == "warn":
        warn(f"{count} of {len(points)} rows of points hold a NaN and are left out of the estimate", MissingValuesWarning)
    elif count:
        told(missing, ("points", count, points))


def told(missing: str, *arrays: tuple[str, Count, Any]) -> None:
    """Warns, or raises, of arrays of such a name, of which this many rows hold a NaN."""
    _one_of(missing, "missing", MISSING)
    found = [(name, count, len(array)) for name, count, array in arrays if count]
    if not found or missing == "ignore":
        return
    if missing == "raise":
        name, count, rows = found[0]
        raise ValueError(f"{name}: {count} of {rows} rows {'holds' if count == 1 else 'hold'} a NaN; expected none, as "
                         "missing='raise' asks")
    said = " and ".join(f"{count} of {rows} rows of {name}" for name, count, rows in found)
    warn(f"{said} hold a NaN: such points are nobody's neighbours and such queries have none (index -1); fill or drop them, or "
         "say missing='ignore' (no warning, not counted) or missing='raise'", MissingValuesWarning)


def warn(message: str, category: type[Warning]) -> None:
    """A warning of the line that called into this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_FOLDER):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)

