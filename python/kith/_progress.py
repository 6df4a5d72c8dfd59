"""progress=True: a bar on the terminal."""
from __future__ import annotations

import sys
from typing import Any, Callable


def callback_of(progress: Any) -> Callable[[float, float, float, str], Any] | None:
    """The callable that the core calls, or None. A bar is closed with the callable that draws it, which the call lets go of
    when it ends, by an error, too."""
    if progress is None or progress is False:
        return None
    if progress is not True:
        if not callable(progress):
            raise TypeError(f"progress: expected True, False, None or a callable, got {type(progress).__name__} ({progress!r})")
        return progress  # type: ignore[no-any-return]
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line()
    return _Bars(tqdm)


class _Bars:
    """tqdm's bars, one stage after the other."""

    def __init__(self, tqdm: Callable[..., Any]) -> None:
        self._tqdm, self._stage = tqdm, ""
        self._bar: Any = None

    def __call__(self, done: float, total: float, seconds: float, stage: str) -> None:
        if self._bar is None or stage != self._stage:
            self._close()
            self._bar, self._stage = self._tqdm(total=total, desc=stage, unit="part" if stage == "bootstrap" else "pair",
                                              unit_scale=True), stage
        self._bar.update(done - self._bar.n)

    def _close(self) -> None:
        bar, self._bar = self._bar, None
        if bar is not None:
            bar.close()

    __del__ = _close


class _Line:
    """A line that is written over, and left with its end at the end."""

    def __init__(self) -> None:
        self._open = False

    def __call__(self, done: float, total: float, seconds: float, stage: str) -> None:
        share = 100 * done / total if total else 100.0
        self._open = done < total
        print(f"\r{stage} {share:3.0f} % {seconds:.0f} s", end="" if self._open else "\n", file=sys.stderr, flush=True)

    def __del__(self) -> None:
        if self._open and sys.stderr is not None:
            print(file=sys.stderr, flush=True)
