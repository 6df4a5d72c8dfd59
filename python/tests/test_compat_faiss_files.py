"""Files of indexes in faiss' own format: both ways with faiss where it is installed, damaged, of other kinds; streams."""
from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kith.compat import faiss as ours

RANDOM = np.random.default_rng(0)
POINTS, QUERIES = (RANDOM.standard_normal((rows, 8)).astype(np.float32) for rows in (60, 7))
BITS = RANDOM.integers(0, 256, (50, 4)).astype(np.uint8)
IDS = np.arange(60) * 3 - 20


def made(faiss: Any, kind: str) -> Any:
    """An index with vectors in it."""
    if kind.startswith("binary"):
        index = faiss.IndexBinaryFlat(32)
        if kind == "binary":
            index.add(BITS)
            return index
        index = (faiss.IndexBinaryIDMap if kind == "binary ids" else faiss.IndexBinaryIDMap2)(index)
        index.add_with_ids(BITS, IDS[:50])
        return index
    if kind in ("ids", "ids2"):
        index = (faiss.IndexIDMap if kind == "ids" else faiss.IndexIDMap2)(faiss.IndexFlatIP(8))
        index.add_with_ids(POINTS, IDS)
        return index
    index = {"L2": lambda: faiss.IndexFlatL2(8), "IP": lambda: faiss.IndexFlatIP(8), "L1": lambda: faiss.IndexFlat(8, faiss.METRIC_L1),
             "Lp": lambda: faiss.IndexFlat(8, faiss.METRIC_Lp), "empty": lambda: faiss.IndexFlatL2(8)}[kind]()
    if kind == "Lp":
        index.metric_arg = 3
    if kind != "empty":
        index.add(POINTS)
    return index


KINDS = ("L2", "IP", "L1", "Lp", "empty", "ids", "ids2", "binary", "binary ids", "binary ids2")


def same(one: Any, other: Any, kind: str) -> None:
    queries = BITS[:5] ^ 1 if kind.startswith("binary") else QUERIES
    assert (one.d, one.ntotal, one.metric_type) == (other.d, other.ntotal, other.metric_type)
    distances, indices = one.search(queries, 4)
    np.testing.assert_allclose(distances, other.search(queries, 4)[0], rtol=1e-5)
    if not kind.startswith("binary"):
        np.testing.assert_array_equal(indices, other.search(queries, 4)[1])
    if kind.endswith("ids2"):
        np.testing.assert_array_equal(one.reconstruct(int(IDS[3])), other.reconstruct(int(IDS[3])))


@pytest.mark.parametrize("kind", KINDS)
def test_both_ways_with_faiss(kind: str, tmp_path: Path) -> None:
    theirs = pytest.importorskip("faiss")
    binary = "_binary" if kind.startswith("binary") else ""
    mine, their = made(ours, kind), made(theirs, kind)
    written = getattr(ours, f"serialize_index{binary}")(mine)
    np.testing.assert_array_equal(written, getattr(theirs, f"serialize_index{binary}")(their))  # byte for byte
    same(mine, getattr(theirs, f"deserialize_index{binary}")(written), kind)
    getattr(theirs, f"write_index{binary}")(their, str(tmp_path / "theirs"))
    back = getattr(ours, f"read_index{binary}")(tmp_path / "theirs")
    assert type(back).__name__ == type(mine).__name__
    same(back, their, kind)
    getattr(ours, f"write_index{binary}")(mine, tmp_path / "ours")
    same(mine, getattr(theirs, f"read_index{binary}")(str(tmp_path / "ours")), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_streams(kind: str) -> None:
    """Bytes written through callbacks of any size, buffered or not, are read so."""
    index = made(ours, kind)
    whole = ours.serialize_index(index).tobytes()
    for size in (1, 7, 1 << 20):
        pieces: list[bytes] = []
        ours.write_index(index, ours.BufferedIOWriter(ours.PyCallbackIOWriter(pieces.append, size), 11))
        assert b"".join(pieces) == whole and max(map(len, pieces)) <= size
        at = 0

        def more(n: int) -> bytes:
            nonlocal at
            at += min(n, 5)
            return whole[at - min(n, 5):at]

        same(index, ours.read_index(ours.BufferedIOReader(ours.PyCallbackIOReader(more, size), 13)), kind)


def test_none_and_copies() -> None:
    assert ours.deserialize_index(ours.serialize_index(None)) is None
    index = made(ours, "ids2")
    index.search(QUERIES, 1)
    copy = ours.clone_index(index)
    index.reset()
    assert (copy.ntotal, index.ntotal) == (60, 0) and copy.search(QUERIES, 1)[1].min() in IDS
    with pytest.raises(TypeError, match="index"):
        ours.write_index(3, "nowhere")
    with pytest.raises(OSError):
        ours.read_index("/nowhere/at/all")


@pytest.mark.parametrize("kind", KINDS)
def test_cut_off_files(kind: str) -> None:
    whole = ours.serialize_index(made(ours, kind))
    for end in (*range(0, min(60, len(whole))), len(whole) - 1):
        with pytest.raises(RuntimeError, match="ends after"):
            ours.deserialize_index(whole[:end])


def test_headers_that_lie() -> None:
    """Nothing is allocated by what a header claims; numbers that disagree are refused."""
    def flat(d: int = 8, n: int = 60, trained: int = 1, metric: int = 1, floats: int = 480, code: bytes = b"IxF2") -> Any:
        header = code + struct.pack("<iqqqBi", d, n, 1 << 20, 1 << 20, trained, metric)
        return np.frombuffer(header + struct.pack("<Q", floats) + POINTS.tobytes(), np.uint8)

    assert ours.deserialize_index(flat()).ntotal == 60
    for wrong in (flat(d=-8), flat(n=-1), flat(trained=7), flat(metric=99), flat(floats=479), flat(n=61), flat(n=2**60, floats=2**63),
                  flat(metric=0), flat(d=2**31 - 1, n=2**40)):
        with pytest.raises(RuntimeError):
            ours.deserialize_index(wrong)
    with pytest.raises(RuntimeError, match=r"ends after \d+ of the 17179869184"):
        ours.deserialize_index(flat(d=1, n=2**32, floats=2**32))
    for code, name in ((b"IwFl", "IndexIVFFlat"), (b"IHNf", "IndexHNSWFlat")):
        with pytest.raises(RuntimeError, match=name):
            ours.deserialize_index(flat(code=code))
    with pytest.raises(RuntimeError, match="no kind of index"):
        ours.deserialize_index(flat(code=b"abcd"))
    with pytest.raises(ValueError, match="uint8"):
        ours.deserialize_index(POINTS)
