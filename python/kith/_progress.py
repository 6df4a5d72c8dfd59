"""progress=True: a bar on the terminal."""
from __future__ import annotations

import sys
from typing import Any, Callable


def callback_of(progress: Any) -> Callable[[float, float, float, str], Any] | None:
    """The callable that the core calls, or None."""
    if progress is None or progress is False:
        return None
    return _bar() if progress is True else progress


def _bar() -> Callable[[float, float, float, str], Any]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _line
    bars: dict[str, Any] = {}  # one for each stage

    def show(done: float, total: float, seconds: float, stage: str) -> None:
        if stage not in bars:
            for bar in bars.values():
                bar.close()
            bars[stage] = tqdm(total=total, desc=stage, unit="pair", unit_scale=True)
        bars[stage].update(done - bars[stage].n)

    return show


def _line(done: float, total: float, seconds: float, stage: str) -> None:
    share = 100 * done / total if total else 100.0
    print(f"\r{stage} {share:3.0f} % {seconds:.0f} s", end="\n" if done >= total else "", file=sys.stderr, flush=True)
