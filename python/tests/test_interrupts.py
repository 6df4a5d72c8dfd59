"""Long calls without a progress callback: Ctrl-C ends them, and other threads run meanwhile."""
from __future__ import annotations

import signal
import subprocess
import sys

import pytest

# A search of hours; a thread says so once the main thread is in it, and has counted.
PROGRAM = """
import os, signal, sys, threading, time
import numpy, kith, kith.information
signal.signal(signal.SIGINT, signal.default_int_handler)  # which shells ignore for what they run in the background
many = numpy.random.default_rng(0).random((400_000, 64), numpy.float32)
formula = "a + pow(fabs(q - x), 1.5) + exp(sqrt(fabs(q * x)))"
index = kith.Index(many, formula=formula, device="cpu") if CALL.startswith("index") else None
main = threading.main_thread().ident

def watch():
    names = ()
    while "core" not in names:  # the call of kith, whose frame calls the core
        frame, names = sys._current_frames()[main], []
        while frame is not None:
            names.append("core" if frame.f_code.co_filename.endswith(FILE) else "")
            frame = frame.f_back
        time.sleep(0.001)
    for count in range(1000):
        time.sleep(0)
    if OWN:
        os.kill(os.getpid(), signal.SIGINT)
    else:
        print("inside", flush=True)

threading.Thread(target=watch, daemon=True).start()
eval(CALL)
"""

CALLS = {
    "search": ("kith.search(many, many, 3, formula=formula, device='cpu', threads=1)", "_search.py"),
    "graph": ("kith.graph(many, 3, formula=formula, device='cpu')", "_search.py"),
    "Index.search": ("index.search(many, 3)", "_index.py"),
    "distances": ("kith.distances(many[:20000], many[:20000], formula=formula, device='cpu', threads=1)", "_distances.py"),
    "entropy": ("kith.information.entropy(many[:2000], 3, bootstrap=1_000_000, device='cpu')", "information.py"),
    "inverse_covariance": ("kith.inverse_covariance(many.reshape(25_000, 1024))", "_search.py"),
    "radius_counts": ("kith.radius_counts(many, None, 1.0, formula=formula, device='cpu')", "_radius.py"),
}


def program(name: str, own: bool) -> list[str]:
    call, file = CALLS[name]
    return [sys.executable, "-c", f"CALL, FILE, OWN = {call!r}, {file!r}, {own}\n{PROGRAM}"]


@pytest.mark.parametrize("name", CALLS)
def test_another_thread_counts_and_interrupts(name: str) -> None:
    """A call that held the GIL would let nobody send the signal."""
    done = subprocess.run(program(name, own=True), capture_output=True, text=True, timeout=300)
    assert done.returncode == -signal.SIGINT and "KeyboardInterrupt" in done.stderr


def test_ctrl_c_from_outside() -> None:
    with subprocess.Popen(program("graph", own=False), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None and running.stdout.readline() == "inside\n"
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=300)
    assert running.returncode == -signal.SIGINT and "KeyboardInterrupt" in said and "_search.py" in said
