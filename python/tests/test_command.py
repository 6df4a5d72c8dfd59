"""The command line that the package brings: the command `kith` and `python -m kith`, on files, as a user starts them."""
from __future__ import annotations

import gzip
import re
import struct
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import numpy as np
import pytest

import kith
import kith.__main__ as command

if not Path(command.PROGRAM).exists():
    pytest.skip("this build of the package has no command", allow_module_level=True)

SCRIPT = Path(sysconfig.get_path("scripts")) / "kith"
STARTS = [[str(SCRIPT)], [sys.executable, "-m", "kith"]]
SIDE, DEMO_SECONDS = 28, 30  # 2 on a machine that does nothing else


def run(*arguments: object, start: list[str] = STARTS[1], code: int = 0, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*start, *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd=folder)
    assert done.returncode == code, (done.stdout, done.stderr)
    return done


def has_hdf5() -> bool:
    return not re.search(r"^ *hdf5 .*not in this build", run("info").stdout, re.MULTILINE)


@pytest.mark.parametrize("start", STARTS, ids=["kith", "python -m kith"])
def test_both_ways_to_start(start: list[str]) -> None:
    assert run("--version", start=start).stdout == f"kith {kith.__version__}\n"
    wrong = run("serch", start=start, code=2)
    assert wrong.stdout == "" and wrong.stderr.startswith("kith: unknown command 'serch' (did you mean search?)")


def test_every_command_has_help() -> None:
    commands = re.findall(r"^  ([a-z]+) ", run("--help").stdout.partition("ubcommands")[2], re.MULTILINE)
    assert {"search", "graph", "radius", "verify", "groundtruth", "convert", "demo"} <= {*commands} and len(commands) >= 17
    for name in commands:
        assert "--help" in run(name, "--help").stdout


def test_a_search_of_files_is_that_of_arrays(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    points, queries = (rng.random((rows, 12), np.float32) for rows in (500, 20))
    for name, array in (("points", points), ("queries", queries)):
        np.save(tmp_path / f"{name}.npy", array)
    run("search", "-b", "points.npy", "-q", "queries.npy", "-k", 7, "-m", "cosine", "--ids", "ids.npy", "--distances", "d.npy",
        folder=tmp_path)
    found = kith.search(points, queries, 7, metric="cosine")
    assert (np.load(tmp_path / "ids.npy") == found.indices).all()
    assert (np.load(tmp_path / "d.npy") == found.distances).all()


def test_hdf5(tmp_path: Path) -> None:
    if not has_hdf5():
        pytest.skip("the command was built without HDF5")
    points = np.random.default_rng(0).random((300, 6), np.float32)
    np.save(tmp_path / "points.npy", points)
    run("graph", "-b", "points.npy", "-k", 5, "-m", "l2", "--out", "graph.hdf5", "--with-data", folder=tmp_path)
    assert "exact" in run("verify", "graph.hdf5", folder=tmp_path).stdout
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "graph.hdf5") as file:
        assert (file["neighbors"][()] == kith.graph(points, 5).indices).all()
    with h5py.File(tmp_path / "packed.hdf5", "w") as file:
        file.create_dataset("a", data=points, compression="gzip", shuffle=True)
        file.create_dataset("b", data=points, compression="lzf")
    run("search", "-b", "packed.hdf5/a", "-q", "packed.hdf5/b", "-k", 1, "--ids", "own.npy", folder=tmp_path)
    assert (np.load(tmp_path / "own.npy")[:, 0] == np.arange(300)).all()


def test_demo(tmp_path: Path) -> None:
    start = time.monotonic()
    said = run("demo", "--device", "cpu", start=STARTS[0], folder=tmp_path).stdout
    assert time.monotonic() - start < DEMO_SECONDS
    for words in ("4,000 training images", "500 test images", "k = 1 ", "k = 100", "contact-sheet.png"):
        assert words in said
    right = float(re.findall(r"k = 1 +([0-9.]+) %", said)[0])
    assert right > 75
    sheet = (tmp_path / "demo" / "contact-sheet.png").read_bytes()
    assert sheet[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", sheet[16:24])
    assert width > 700 and height > 700


def test_demo_of_other_images() -> None:
    assert command.arguments(["demo", "--data", "here"]) == ["demo", "--data", "here"]
    assert command.arguments(["demo", "--data=here"]) == ["demo", "--data=here"]
    assert command.arguments(["demo", "--help"]) == ["demo", "--help"]
    assert command.arguments(["search", "-k", "3"]) == ["search", "-k", "3"]
    assert command.arguments(["demo", "--limit", "9"])[3:] == ["--data", command.DEMO_DATA]
    assert "nothing" in run("demo", "--data", "nothing", code=2).stderr


def test_the_demos_images() -> None:
    for part, rows in (("train", 4000), ("t10k", 500)):
        shapes: tuple[tuple[str, tuple[int, ...]], ...] = (("images-idx3", (rows, SIDE, SIDE)), ("labels-idx1", (rows,)))
        for kind, shape in shapes:
            data = gzip.decompress(Path(command.DEMO_DATA, f"{part}-{kind}-ubyte.gz").read_bytes())
            assert struct.unpack_from(f">{len(shape)}I", data, 4) == shape
            assert len(data) == 4 + 4 * len(shape) + int(np.prod(shape))
    assert "Zalando" in Path(command.DEMO_DATA, "LICENSE").read_text()


def test_a_package_without_the_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["kith", "info"])
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"")
    for program, words in ((tmp_path / "absent", "without the command line"), (damaged, "cannot run .*damaged: ")):
        monkeypatch.setattr(command, "PROGRAM", str(program))
        with pytest.raises(SystemExit, match="^2$"):
            command.main()
        assert re.match(f"kith: .*{words}", capsys.readouterr().err)
