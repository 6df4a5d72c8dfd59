"""progress=True with tqdm and without, and calls that end early: no bar stays open."""
from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

import kith
from kith._progress import callback_of

POINTS = np.random.default_rng(0).random((1500, 64))
SLOW = "a + pow(fabs(q - x), 1.5) + exp(sqrt(fabs(q * x)))"


class Bar:
    """The part of tqdm that is used."""

    made: list[Bar] = []

    def __init__(self, total: float, desc: str, unit: str, unit_scale: bool) -> None:
        self.total, self.desc, self.n, self.closed = total, desc, 0.0, 0
        Bar.made.append(self)

    def update(self, count: float) -> None:
        assert not self.closed
        self.n += count

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[Bar]:
    auto = types.ModuleType("tqdm.auto")
    auto.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", auto)
    monkeypatch.setattr(Bar, "made", [])
    return Bar.made


@pytest.fixture
def no_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)


def slow(progress: Any) -> Any:
    return kith.graph(POINTS, 3, formula=SLOW, device="cpu", threads=1, progress=progress)


def test_bars_are_closed_at_the_end(bars: list[Bar]) -> None:
    found = slow(True)
    assert found.report.path and bars and all(bar.closed == 1 for bar in bars)
    assert "search" in [bar.desc for bar in bars]
    np.testing.assert_array_equal(found.indices, slow(None).indices)


def test_every_call_that_takes_progress_closes_its_bars(bars: list[Bar]) -> None:
    index = kith.Index(POINTS, formula=SLOW, device="cpu", threads=1, progress=True)
    index.search(POINTS, 3, threads=1, progress=True)
    index.radius(POINTS[:500], 1.0, threads=1, progress=True)
    kith.distances(POINTS, formula=SLOW, device="cpu", threads=1, progress=True)
    kith.radius_counts(POINTS, None, 1.0, formula=SLOW, device="cpu", threads=1, progress=True)
    assert bars and all(bar.closed == 1 for bar in bars)


def test_a_stage_after_the_other(bars: list[Bar]) -> None:
    show = callback_of(True)
    assert show is not None
    for stage, done in (("prepare", 1), ("prepare", 4), ("search", 2), ("search", 4)):
        show(done, 4, 0.0, stage)
    assert [(bar.desc, bar.n, bar.closed) for bar in bars] == [("prepare", 4, 1), ("search", 4, 0)]
    del show
    assert [bar.closed for bar in bars] == [1, 1]


def test_a_bar_is_closed_when_the_call_fails(bars: list[Bar], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Bar, count: float) -> None:
        raise LookupError("no terminal")

    monkeypatch.setattr(Bar, "update", fails)
    with pytest.raises(LookupError, match="no terminal") as caught:
        slow(True)
    del caught  # its traceback holds the frames
    assert len(bars) == 1 and bars[0].closed == 1


def test_a_line_without_tqdm(no_tqdm: None, capsys: pytest.CaptureFixture[str]) -> None:
    slow(True)
    said = capsys.readouterr().err
    assert said.startswith("\r") and "search" in said and said.endswith("\n") and said.count("\n") <= 2
    show = callback_of(True)
    assert show is not None
    show(1, 4, 0.0, "search")
    assert capsys.readouterr().err == "\rsearch  25 % 0 s"
    del show
    assert capsys.readouterr().err == "\n"


def test_tqdms_own_bar(capsys: pytest.CaptureFixture[str]) -> None:
    tqdm = pytest.importorskip("tqdm")
    slow(True)
    said = capsys.readouterr().err
    assert "search:" in said and said.endswith("\n") and not tqdm.tqdm._instances


def test_nothing_is_drawn_unless_asked(bars: list[Bar], capsys: pytest.CaptureFixture[str]) -> None:
    slow(None)
    slow(False)
    assert not bars and capsys.readouterr().err == ""
