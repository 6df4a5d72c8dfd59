"""What the tests of the command line share: small files to search in, running the tool, judging its errors."""
import array
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

KITH = ""  # the binary under test, set by main()


def write_npy(path, rows, code="f4"):
    """`rows`: lists of numbers; code: f4 f8 i4 i8 u1."""
    shape = (len(rows), len(rows[0]))
    header = repr({"descr": ("|" if code == "u1" else "<") + code, "fortran_order": False, "shape": shape})
    header += " " * ((64 - (10 + len(header) + 1) % 64) % 64) + "\n"
    letter = {"f4": "f", "f8": "d", "i4": "i", "i8": "q", "u1": "B"}[code]
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for row in rows:
            file.write(array.array(letter, row).tobytes())


def read_npy(path):
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack_from("<H", data, 8)[0]
    header = eval(data[10 : 10 + length])  # noqa: S307: our own file
    rows, cols = header["shape"]
    letter = {"f4": "f", "f8": "d", "i4": "i", "i8": "q", "u1": "B"}[header["descr"][1:]]
    values = array.array(letter, data[10 + length :])
    return [list(values[i * cols : (i + 1) * cols]) for i in range(rows)]


def write_vecs(path, rows, letter):
    with open(path, "wb") as file:
        for row in rows:
            file.write(struct.pack("<i", len(row)) + array.array(letter, row).tobytes())


def read_vecs(path, letter):
    data = pathlib.Path(path).read_bytes()
    rows = []
    at = 0
    while at < len(data):
        cols = struct.unpack_from("<i", data, at)[0]
        rows.append(list(struct.unpack_from(f"<{cols}{letter}", data, at + 4)))
        at += 4 + 4 * cols
    return rows


def f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def random_rows(count, cols, seed):
    generator = random.Random(seed)
    return [[f32(generator.gauss(0, 1)) for _ in range(cols)] for _ in range(count)]


def nearest(points, query, k, skip=-1):
    """Ids and squared distances by (distance, id)."""
    ranked = sorted((sum((a - b) ** 2 for a, b in zip(query, p)), i) for i, p in enumerate(points) if i != skip)
    return [i for _, i in ranked[:k]], [distance for distance, _ in ranked[:k]]


def kith(*args, code=0):
    result = subprocess.run([KITH, *map(str, args)], capture_output=True, text=True, timeout=120)
    if result.returncode != code:
        raise AssertionError(
            f"kith {' '.join(map(str, args))}: exit code {result.returncode}, expected {code}\n"
            f"{result.stdout}\n{result.stderr}"
        )
    return result


class Cli(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kith-cli-"))
        cls.points = random_rows(300, 7, 1)
        cls.queries = random_rows(20, 7, 2)
        write_npy(cls.folder / "base.npy", cls.points)
        write_npy(cls.folder / "queries.npy", cls.queries)
        # Points on a coarse grid: ties everywhere.
        generator = random.Random(3)
        cls.grid = [[float(generator.randrange(3)) for _ in range(3)] for _ in range(200)]
        write_npy(cls.folder / "grid.npy", cls.grid)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def at(self, name):
        return self.folder / name

    def inputs(self, *more):
        return ("--base", self.at("base.npy"), "--queries", self.at("queries.npy"), *more)

    def assert_error(self, result, *words):
        """One line on standard error that has the words, nothing on standard output."""
        self.assertEqual(result.stdout, "")
        self.assertTrue(result.stderr.startswith("kith: "), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)


def main(usage):
    """Runs the tests of the calling module on the binary that the command line names."""
    global KITH
    if len(sys.argv) < 2:
        sys.exit(usage)
    KITH = os.path.abspath(sys.argv.pop(1))
    unittest.main(module="__main__")
