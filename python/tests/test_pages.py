"""The Python blocks of the README and of docs/ run as they stand."""
from __future__ import annotations

from pathlib import Path

import numpy as np
import pages
import pytest

import kith

BLOCKS = [block for page in pages.pages() for block in pages.blocks(page)]


def test_there_are_blocks() -> None:
    assert sum(block.page == "README.md" for block in BLOCKS) >= 2
    assert len(BLOCKS) > 8 or not (pages.ROOT / "docs").exists()


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_block(block: pages.Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        names = pages.run(block)
    except ImportError as error:
        pytest.skip(str(error))
    if block == BLOCKS[0]:  # the README's first lines
        assert kith.verify(names["points"], names["queries"], names["indices"], names["distances"], metric="euclidean").exact
        assert np.shape(names["indices"]) == (20, 10)
