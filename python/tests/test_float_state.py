"""Calls of a thread whose floating-point state a library has changed: the same bits, and the state as it was."""
from __future__ import annotations

import ctypes
import platform
from typing import Any, Callable, Iterator

import kith
import numpy as np
import pytest
from kith.compat import cuvs, faiss

LIBM = ctypes.CDLL("libm.so.6")
FLUSHES, MXCSR = 0x8040, 28  # subnormal results and operands; where glibc's fenv_t has that register on x86-64
UPWARD = {"x86_64": 0x800, "aarch64": 0x400000}.get(platform.machine())

generator = np.random.default_rng(0)
SMALL = (generator.integers(-40, 40, (300, 4)) * np.float64(2.0**-149)).astype(np.float32)  # all subnormal
SOME = SMALL[:20] + np.float32(2.0**-149)
MIXED = [row if i % 2 else row.astype(np.float64) for i, row in enumerate(SMALL)]  # which one type holds
RADII = (generator.integers(20, 60, 20) * np.float64(2.0**-149)).astype(np.float32)


class Environment:
    """A fenv_t."""

    def __init__(self) -> None:
        self.bytes = (ctypes.c_uint8 * 64)()
        LIBM.fegetenv(self.bytes)

    def load(self) -> None:
        LIBM.fesetenv(self.bytes)


def flushing() -> None:
    found = Environment()
    register = ctypes.c_uint32.from_buffer(found.bytes, MXCSR)
    register.value |= FLUSHES
    found.load()


def upward() -> None:
    LIBM.fesetround(UPWARD)


STATES = [pytest.param(flushing, marks=pytest.mark.skipif(platform.machine() != "x86_64", reason="sets MXCSR")),
          pytest.param(upward, marks=pytest.mark.skipif(UPWARD is None, reason="not known what upward is"))]


@pytest.fixture
def plain() -> Iterator[Environment]:
    before = Environment()
    yield before
    before.load()


CALLS: list[Callable[[], Any]] = [
    lambda: kith.search(SMALL, SOME, 7, device="cpu", f64=True),
    lambda: kith.graph(SMALL, 7, metric="cityblock", device="cpu", threads=2, path="exact", f64=True),
    lambda: kith.Index(SMALL, metric="chebyshev", device="cpu").search(SOME, 7, f64=True),
    lambda: kith.radius(SMALL, SOME, RADII, metric="chebyshev", device="cpu", f64=True)[:3],
    lambda: (kith.distances(SMALL, SOME, metric="cityblock", device="cpu", f64=True),),
    lambda: kith.topk(SMALL, 3, device="cpu"),
    lambda: kith.search(MIXED, SOME, 7, metric="cityblock", device="cpu", f64=True),
    lambda: faiss.knn(np.abs(SOME), np.abs(SMALL), 7, faiss.METRIC_Jaccard),
    lambda: (faiss.pairwise_distances(generator_of_samples(), generator_of_samples(), faiss.METRIC_Jaccard),),
    lambda: (cuvs.pairwise_distance(generator_of_samples(), generator_of_samples(), metric="jensenshannon"),),
    lambda: tuple(kith.information.entropy(generator_of_samples(), 3, device="cpu")[:1]),
]


def generator_of_samples() -> np.ndarray[Any, Any]:
    return np.arange(90.0).reshape(30, 3) % 7.3


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("call", range(len(CALLS)))
def test_every_call_has_the_bits_of_the_plain_state(call: int, state: Callable[[], None], plain: Environment) -> None:
    expected = [np.asarray(part).tobytes() for part in CALLS[call]()]
    state()
    before = Environment()
    found = CALLS[call]()
    after = Environment()
    plain.load()
    assert [np.asarray(part).tobytes() for part in found] == expected
    rounding = ctypes.c_uint32.from_buffer(before.bytes, MXCSR).value & ~0x3F
    assert ctypes.c_uint32.from_buffer(after.bytes, MXCSR).value & ~0x3F == rounding


@pytest.mark.parametrize("state", STATES)
def test_verify_judges_by_bits(state: Callable[[], None], plain: Environment) -> None:
    right = kith.search(SMALL, SOME, 5, device="cpu", metric="cityblock")
    wrong = np.zeros_like(right.distances)  # equal to the right ones where those are read as 0
    state()
    found = (kith.verify(SMALL, SOME, right.indices, right.distances, device="cpu", metric="cityblock").exact,
             kith.verify(SMALL, SOME, right.indices, wrong, device="cpu", metric="cityblock").exact)
    plain.load()
    assert found == (True, False)


def test_a_callback_has_the_callers_state(plain: Environment) -> None:
    seen = []
    upward()
    kith.graph(np.arange(40000.0).reshape(-1, 4) % 977, 5, device="cpu", path="exact",
               progress=lambda *where: seen.append(LIBM.fegetround()))
    plain.load()
    assert set(seen) == {UPWARD}
