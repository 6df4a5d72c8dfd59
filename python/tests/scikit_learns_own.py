"""scikit-learn's own tests of neighbours and of DBSCAN, run with kith's classes in place of theirs: scikit_learns_own.py [--write]

docs/sklearn-tests.txt lists which pass, and which cannot with the reason; --write writes it. Without, exit code 1 where another
test fails than those, or where the list is of this scikit-learn and not what has come out.
"""
from __future__ import annotations

import collections
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import sklearn
import sklearn.cluster
import sklearn.neighbors

import kith.sklearn

LIST = Path(__file__).resolve().parents[2] / "docs" / "sklearn-tests.txt"
FILES = ("sklearn.neighbors.tests.test_neighbors", "sklearn.neighbors.tests.test_graph",
         "sklearn.neighbors.tests.test_neighbors_pipeline", "sklearn.cluster.tests.test_dbscan")
CANNOT_PASS = {
    "test_k_and_radius_neighbors_train_is_not_query": "expects the points within a radius by index, not by distance",
    "test_k_and_radius_neighbors_duplicates": "expects, of equally near points, not the one with the smallest index",
    "test_auto_algorithm": "looks which tree algorithm='auto' has built: none",
}


class Outcome:
    def __init__(self) -> None:
        self.passed: collections.Counter[str] = collections.Counter()
        self.skipped: collections.Counter[str] = collections.Counter()
        self.cannot: collections.Counter[str] = collections.Counter()
        self.unexpected: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = report.nodeid.rpartition("::")[2]
        test = f"{Path(report.location[0]).stem}::{name.partition('[')[0]}"
        if report.failed:
            if name.partition("[")[0] in CANNOT_PASS:
                self.cannot[test] += 1
            else:
                self.unexpected.append(report.nodeid)
        elif report.skipped:
            self.skipped[test] += 1
        elif report.when == "call":
            self.passed[test] += 1

    def listed(self) -> str:
        lines = [f"scikit-learn {sklearn.__version__}: its tests of neighbours and of DBSCAN with kith's classes in place of its own.",
                 "Written by python/tests/scikit_learns_own.py --write; how many cases of each test pass, and what cannot.", "",
                 f"{sum(self.passed.values())} pass, {sum(self.cannot.values())} cannot", ""]
        lines += [f"cannot {count:4}  {test}: {CANNOT_PASS[test.rpartition('::')[2]]}" for test, count in sorted(self.cannot.items())]
        lines += [""] + [f"pass   {count:4}  {test}" for test, count in sorted(self.passed.items())]
        return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    for name in kith.sklearn.__all__:
        ours = getattr(kith.sklearn, name)
        for module in ("sklearn.neighbors", "sklearn.cluster", "sklearn.cluster._dbscan"):
            if hasattr(importlib.import_module(module), name):
                setattr(sys.modules[module], name, ours)
    outcome = Outcome()
    pytest.main(["-q", "-p", "no:cacheprovider", "--disable-warnings", "--tb=short", "--no-header", "--pyargs", *FILES], plugins=[outcome])
    listed = outcome.listed()
    print(f"{sum(outcome.passed.values())} passed, {sum(outcome.skipped.values())} skipped, {sum(outcome.cannot.values())} cannot pass, "
          f"{len(outcome.unexpected)} failed")
    print(*outcome.unexpected, sep="\n")
    if "--write" in arguments:
        LIST.write_text(listed)
    recorded = LIST.read_text() if LIST.exists() else ""
    same = recorded == listed or recorded.split(":")[0] != f"scikit-learn {sklearn.__version__}"
    if not same:
        print(f"{LIST} is not what has come out:", *sorted(set(listed.splitlines()) ^ set(recorded.splitlines())), sep="\n")
    return 1 if outcome.unexpected or not same else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
