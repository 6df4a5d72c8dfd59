"""Runs one suite in this process, in which kith stands for the project: one_suite.py NAME SOURCES RECORD."""
from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from suites import SUITES  # noqa: E402


class Outcome:
    """How each test came out: passed, skipped by itself, of another kind of index, or failed with its last line."""

    def __init__(self) -> None:
        self.tests: dict[str, tuple[str, str]] = {}

    def _enter(self, name: str, outcome: str, why: str = "") -> None:
        rank = ("passed", "skipped", "another kind", "failed")
        if name not in self.tests or rank.index(self.tests[name][0]) < rank.index(outcome):
            self.tests[name] = outcome, why

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        report = (yield).get_result()
        name = f"{Path(report.location[0]).stem}::{item.nodeid.partition('::')[2]}"
        if report.failed:
            self._failed(name, call.excinfo.value)
        elif report.skipped:
            self._enter(name, "skipped")
        elif report.when == "call":
            self._enter(name, "passed")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: Any) -> Any:
        report = (yield).get_result()
        if report.failed and report.outcome == "failed":
            error = getattr(report, "call", None)
            excinfo = getattr(error, "excinfo", None)
            text = str(getattr(report, "longrepr", ""))
            if excinfo is not None:
                self._failed(collector.nodeid, excinfo.value)
            else:
                self._enter(collector.nodeid, "another kind" if "AnotherKind" in text else "failed", text.strip().splitlines()[-1][:200])

    def _failed(self, name: str, error: BaseException) -> None:
        reason: BaseException | None = error
        while reason is not None:
            if type(reason).__name__ == "AnotherKind":
                return self._enter(name, "another kind", str(reason))
            reason = reason.__cause__ or reason.__context__
        self._enter(name, "failed", f"{type(error).__name__}: {error}".splitlines()[0][:200])


def main(arguments: list[str]) -> int:
    name, sources, record = arguments
    suite = next(suite for suite in SUITES if suite.name == name)
    adapter = HERE / "adapters" / (suite.adapter or name)
    root = Path(sources).resolve() if suite.repository or suite.package else adapter
    os.environ["KITH_PEERS_SUITE"] = str(root)
    sys.path.insert(0, str(adapter))
    outcome = Outcome()
    plugins: list[Any] = [outcome]
    if (adapter / "before.py").exists():
        plugins.append(importlib.import_module("before"))
    os.chdir(root / suite.root)
    tests = [str(root / test) if test.endswith(".py") else test for test in suite.tests]
    options = [] if suite.repository or suite.package else ["--pyargs"]
    options += [] if suite.settings else ["-c", str(HERE / "pytest.ini")]
    options += ["-k", suite.keyword] if suite.keyword else []
    pytest.main(["-q", "-p", "no:cacheprovider", "--disable-warnings", "--import-mode=append", "--tb=short", "--no-header",
                 "--continue-on-collection-errors", "--rootdir", str(root), *options, *tests], plugins=plugins)
    Path(record).write_text(json.dumps({key: list(value) for key, value in sorted(outcome.tests.items())}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
