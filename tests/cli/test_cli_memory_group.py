#!/usr/bin/env python3
"""The command line in a control group of little memory: what does not fit is an error, exit code 3, not a kill.

Needs the right to make such a group; without it the test is skipped (exit code 77).
usage: test_cli_memory_group.py KITH
"""
import os
import pathlib
import struct
import subprocess
import sys
import unittest
import zlib

import cli_support
from cli_support import Cli, random_rows, write_npy

LIMIT = 256 << 20
SKIPPED = 77

group = None  # its folder


def make_group():
    """The folder of a new group of LIMIT bytes, or the reason why there is none."""
    why = "no control group of memory is mounted"
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        before, after = line.split(" - ")
        where = pathlib.Path(before.split()[4])
        kind, _, options = after.split()[:3]
        version2 = kind == "cgroup2"
        if not version2 and (kind != "cgroup" or "memory" not in options.split(",")):
            continue
        if version2 and "memory" not in (where / "cgroup.subtree_control").read_text().split():
            continue
        folder = where / f"kith-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError as error:
            why = str(error)
            continue
        try:
            (folder / ("memory.max" if version2 else "memory.limit_in_bytes")).write_text(str(LIMIT))
            # Its own process has to be allowed in.
            subprocess.run(["true"], preexec_fn=lambda: join(folder), check=True)
            return folder, None
        except (OSError, subprocess.SubprocessError) as error:
            why = str(error)
            folder.rmdir()
    return None, why


def join(folder):
    (folder / "cgroup.procs").write_text(str(os.getpid()))


def write_zeros(path, rows, cols):
    """A gzipped u8bin of zeros, a thousandth of its size."""
    block = bytes(1 << 24)
    head = struct.pack("<II", rows, cols)
    blocks, rest = divmod(rows * cols, len(block))
    assert rest == 0

    def piece(data):
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        return packer.compress(data) + packer.flush(zlib.Z_FULL_FLUSH)

    packed, crc = piece(block), zlib.crc32(head)
    with open(path, "wb") as file:
        file.write(b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + piece(head))
        for _ in range(blocks):
            file.write(packed)
            crc = zlib.crc32(block, crc)
        file.write(b"\x03\x00" + struct.pack("<II", crc, 8 + rows * cols))


class LittleMemory(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        write_npy(cls.folder / "some.npy", random_rows(6000, 8, 4))

    def limited(self, *args, code):
        result = subprocess.run([cli_support.KITH, *map(str, args)], capture_output=True, text=True, timeout=240,
                                preexec_fn=lambda: join(group), cwd=self.folder)
        self.assertEqual(result.returncode, code, f"{args}: {result.stdout}\n{result.stderr}")
        return result

    def test_what_fits_runs(self):
        self.limited("graph", "-b", "some.npy", "-k", "5", "--ids", "five.npy", "--device", "cpu", code=0)
        self.assertTrue(self.at("five.npy").exists())

    def test_more_neighbours_than_memory_holds(self):
        for command in (("search", *self.inputs("-k", "100000000")), ("graph", "-b", "some.npy", "-k", "6000")):
            self.assert_error(self.limited(*command, "--ids", "no.npy", "--device", "cpu", code=3), "the result", "are free")
        self.assertFalse(self.at("no.npy").exists())

    @unittest.skipIf("thread" in os.environ.get("KITH_SANITIZE", ""), "ThreadSanitizer takes several times the memory")
    def test_a_small_file_that_holds_more_than_memory(self):
        write_zeros(self.at("zeros.u8bin.gz"), 1 << 22, 128)
        self.assertLess(self.at("zeros.u8bin.gz").stat().st_size, 1 << 20)
        # convert reads it in pieces, a search needs it whole.
        self.limited("convert", "zeros.u8bin.gz", "zeros.u8bin", code=0)
        for name in ("zeros.u8bin.gz", "zeros.u8bin"):
            self.assert_error(self.limited("search", "-b", name, "-q", f"{name}:0:1", "-k", "1", "--ids", "none.npy",
                                           code=3), name, "are free")


if __name__ == "__main__":
    group, reason = make_group()
    if not group:
        print(f"no control group of {LIMIT >> 20} MiB can be made: {reason}")
        sys.exit(SKIPPED)
    try:
        cli_support.main(__doc__)
    finally:
        group.rmdir()
