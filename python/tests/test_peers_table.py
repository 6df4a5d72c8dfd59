"""The record of other projects' tests is what docs/migrate/README.md shows, and lists what cannot pass with a reason each."""
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

PEERS = Path(__file__).resolve().parents[1] / "peers"
sys.path.insert(0, str(PEERS))
import run  # noqa: E402
import suites  # noqa: E402
import table  # noqa: E402

there = pytest.mark.skipif(not table.PAGE.exists(), reason="the source distribution has no docs")


@there
def test_the_page_shows_the_record() -> None:
    record, reasons = json.loads(table.RECORD.read_text()), table.unpaired(PEERS / "cannot.toml")
    assert table.page_with(table.PAGE.read_text(), record, reasons) == table.PAGE.read_text()
    assert list(record) == [suite.name for suite in suites.SUITES]
    for suite in suites.SUITES:
        said = record[suite.name]
        assert (said["version"], said["project"]) == (suite.version, suite.project) and said["passed"] > 0
        assert set(said["cannot"]) == set(reasons.get(suite.name, {}))


def test_judged() -> None:
    """A failure that is not listed is wrong, and so is a listed test that passes."""
    suite, reasons = suites.SUITES[0], {"test_a::test_b": "why", "test_a::test_c": "why"}
    tests: Any = {"test_a::test_b[1-[x]]": ("failed", "E"), "test_a::test_b[2]": ("passed", ""), "test_a::test_c": ("passed", ""),
                  "test_a::test_d[3]": ("failed", "E"), "test_a::test_e": ("another kind", "IndexIVF")}
    said, wrong = run.judged(suite, tests, reasons)
    assert (said["passed"], said["cannot"], said["another kind"]) == (2, {"test_a::test_b": 1}, 1)
    assert len(wrong) == 2 and "test_a::test_d[3]" in wrong[0] and "test_a::test_c passes" in wrong[1]


def test_a_list_of_another_form(tmp_path: Path) -> None:
    (tmp_path / "cannot.toml").write_text("[faiss]\ntest_x = 3\n")
    with pytest.raises(ValueError, match="test_x = 3"):
        table.unpaired(tmp_path / "cannot.toml")
