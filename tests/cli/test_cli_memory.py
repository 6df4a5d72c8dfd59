#!/usr/bin/env python3
"""What commands take of memory: no more than --memory, and little of files that claim much.

usage: test_cli_memory.py KITH
"""
import array
import os
import random
import struct
import subprocess
import unittest

import cli_support
from cli_support import Cli, write_npy

MIB = 1 << 20


def peak(*args):
    """Exit code, standard error and the largest resident memory of a command, in MiB."""
    process = subprocess.Popen([cli_support.KITH, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    with process.stderr as stream:
        messages = stream.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, messages, usage.ru_maxrss / 1024


@unittest.skipIf(os.environ.get("KITH_SANITIZE"), "a sanitizer takes memory of its own")
class Memory(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # The graph of the places takes more for its results than for them.
        for name, rows, cols in (("many", 200000, 32), ("few", 100, 32), ("places", 200000, 3)):
            generator = random.Random(1)
            with open(cls.folder / f"{name}.fbin", "wb") as file:
                file.write(struct.pack("<II", rows, cols))
                # Some at a time: a child's largest memory is its parent's at least.
                for _ in range(rows // 100):
                    file.write(array.array("f", (generator.random() for _ in range(100 * cols))).tobytes())

    def sparse(self, name, start, size):
        """A file of so many bytes, of which only the first take any disk."""
        with open(self.at(name), "wb") as file:
            file.write(start)
            file.truncate(size)
        return self.at(name)

    def refused(self, *args, code=2, most=64, words=()):
        found, messages, taken = peak(*args)
        self.assertEqual(found, code, messages)
        self.assertLess(taken, most, (args, messages))
        for word in words:
            self.assertIn(word, messages)

    def test_shapes_are_compared_before_anything_is_read(self):
        write_npy(self.at("narrow.npy"), [[1.0, 2.0]])
        wide = 2**31 - 1
        for path in (self.sparse("wide.fvecs", struct.pack("<i", wide), 4 + 4 * wide),
                     self.sparse("wide.fbin", struct.pack("<II", 1, wide), 8 + 4 * wide)):
            for inputs in (("-b", path, "-q", self.at("narrow.npy")), ("-b", self.at("narrow.npy"), "-q", path)):
                for more in ((), ("--memory", "2GiB")):
                    self.refused("search", *inputs, "-k", 1, *more, words=("columns", "expected"))
                    self.refused("radius", *inputs, "-r", 1, *more, words=("columns", "expected"))
            self.refused("distances", "-b", path, "-q", self.at("narrow.npy"), "-o", self.at("d.npy"), words=("columns",))
            self.refused("match", path, self.at("narrow.npy"), words=("columns",))
            self.refused("graph", "-b", path, "-k", 1, "--memory", "1GiB", code=3, words=("--memory",))
            # A row is converted as a whole, and one of 8 GiB only where so much is permitted.
            self.refused("convert", path, self.at("out.npy"), code=3, words=("--memory: 1.00 GiB", "block of rows"))
            self.refused("convert", path, self.at("out.npy"), "--memory", "4GiB", code=3, words=("--memory: 4.00 GiB",))
        rows = 2**30
        truth = self.sparse("large.truth", struct.pack("<II", rows, 1), 8 + 8 * rows)
        write_npy(self.at("points.npy"), [[1.0, 2.0], [3.0, 4.0]])
        for more in ((), ("--distances", truth)):
            self.refused("verify", "-b", self.at("points.npy"), "-q", self.at("points.npy"), "--ids", truth, *more,
                         words=("1,073,741,824 rows", "2 queries"))

    def test_so_are_those_of_what_stands_beside_the_points(self):
        points = self.at("points.npy")
        write_npy(points, [[1.0, 2.0], [3.0, 4.0]])
        many = self.sparse("many.bvecs", struct.pack("<i", 2**31 - 1), 2**31 + 3)
        self.refused("radius", "-b", points, "-q", points, "--radii", many, words=("--radii: 1 x 2147483647 values", "2 queries"))
        self.refused("radius", "-b", points, "--radii", many, "--only-counts", words=("--radii", "2 queries"))
        self.refused("retrieve", points, points, "--labels", many, words=("--labels", "2147483647 of them", "2 images"))
        self.refused("graph", "-b", points, "-k", 1, "-m", "mahalanobis", "--inverse-covariance", many,
                     words=("--inverse-covariance", "1 x 2147483647", "as many rows as columns"))

    def test_headers_and_directories_have_bounds(self):
        npy = self.sparse("header.npy", b"\x93NUMPY\2\0" + struct.pack("<I", 2**32 - 2), 5 << 30)
        end = struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, 1, 1, 6 << 30, 0) \
            + struct.pack("<IIQI", 0x07064b50, 0, 6 << 30, 1) + struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 1, 1, 2**32 - 1, 2**32 - 1, 0)
        npz = self.sparse("directory.npz", b"PK", 6 << 30)
        with open(npz, "ab") as file:
            file.write(end)
        for path, words in ((npy, "a header of at most"), (npz, "a directory of at most")):
            self.refused("search", "-b", path, "-q", path, "-k", 1, words=(words,))
            self.refused("convert", path, self.at("out.npy"), words=(words,))
            self.refused("recommend", path, words=(words,))

    def test_a_budget_holds(self):
        for command, budgets in ((("search", "-b", self.at("many.fbin"), "-q", self.at("few.fbin"), "-k", 10), (32, 48, 64, 96, 128, 256)),
                                 (("graph", "-b", self.at("places.fbin"), "-k", 10), (64, 128, 256)),
                                 (("radius", "-b", self.at("many.fbin"), "-q", self.at("few.fbin"), "-r", 1.5), (32, 64, 128))):
            for budget in budgets:
                code, messages, taken = peak(*command, "--memory", f"{budget}MiB", "--ids" if command[0] != "radius" else "--counts",
                                             self.at("out.npy"))
                self.assertEqual(code, 0, messages)
                self.assertLess(taken, budget, (command, budget))

    def test_less_memory_never_takes_more(self):
        before = 0
        for budget in (25, 28, 32, 40, 48, 64, 128):
            code, messages, taken = peak("search", "-b", self.at("many.fbin"), "-q", self.at("few.fbin"), "-k", 10, "--memory",
                                         f"{budget}MiB", "--ids", self.at("out.npy"))
            self.assertEqual(code, 0, messages)
            self.assertGreater(taken, before - 4, budget)  # what the process itself takes is not the same each time
            before = max(before, taken)
        for budget in ("16MiB", "1MiB", "100"):
            self.refused("search", "-b", self.at("many.fbin"), "-q", self.at("few.fbin"), "-k", 10, "--memory", budget, code=3,
                         words=("--memory", "at least"))

    def test_what_fits_is_not_read_in_shards(self):
        _, messages, taken = peak("graph", "-b", self.at("places.fbin"), "-k", 10, "--ids", self.at("out.npy"))
        code, messages, _ = peak("graph", "-b", self.at("places.fbin"), "-k", 10, "--ids", self.at("out.npy"), "--memory",
                                 f"{int(2.2 * taken)}MiB")
        self.assertEqual(code, 0, messages)
        self.assertNotIn("shard", messages)

    def test_every_command_has_a_budget(self):
        many = self.at("many.fbin")
        for command in (("distances", "-b", many, "-q", self.at("few.fbin"), "-o", self.at("d.npy")), ("match", self.at("few.fbin"), many),
                        ("select", "-d", many, "-k", 1), ("estimate", "entropy", "-x", many), ("recommend", many),
                        ("retrieve", many, self.at("few.fbin")), ("graph", "-b", many, "-k", 1, "--include-self"),
                        ("verify", "-b", many, "-q", self.at("few.fbin"), "--ids", self.at("few.fbin"))):
            self.refused(*command, "--memory", "40MiB", code=3, most=40, words=("--memory: 40.0 MiB", "many.fbin"))


if __name__ == "__main__":
    cli_support.main(__doc__)
