#!/usr/bin/env python3
"""What the command line reads: integers, sizes beyond the memory, streams that take long, conversions.

usage: test_cli_inputs.py KITH
"""
import gzip
import os
import signal
import struct
import subprocess
import time
import unittest

import cli_support
from cli_support import Cli, kith, read_npy, write_npy


def gzip_of(path, start, rows, count):
    """`start`, then so many bytes of `rows`, again and again, in members of 16 MiB."""
    chunk = 16 << 20
    whole = rows * (chunk // len(rows))
    member = gzip.compress(whole, 1)
    with open(path, "wb") as file:
        file.write(gzip.compress(start))
        for _ in range(count // chunk):
            file.write(member)
        if count % chunk:
            file.write(gzip.compress(whole[: count % chunk], 1))


def gzip_of_zeros(path, start, zeros):
    gzip_of(path, start, b"\0", zeros)


def npy_header(shape, fortran=False):
    text = f"{{'descr': '<f4', 'fortran_order': {fortran}, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode()


class Inputs(Cli):
    def test_a_matrix_beyond_the_memory_is_refused_before_it_is_allocated(self):
        # Sparse: 2^42 bytes that take no disk.
        rows = 1 << 28
        with open(self.at("large.fbin"), "wb") as file:
            file.write(struct.pack("<II", rows, 4096))
            file.truncate(8 + rows * 4096 * 4)
        for name in ("large.fbin", "large.fbin:1:"):
            result = kith("search", "--base", self.at(name), "--queries", self.at("queries.npy"), "-k", "1", code=3)
            self.assert_error(result, "large.fbin", "4096 f32) takes 4096.0 GiB of memory; ", "are free")

    @unittest.skipIf(os.environ.get("KITH_SANITIZE"), "a sanitizer reserves more address space than the limit")
    def test_a_limit_of_the_address_space_is_seen(self):
        gzip_of_zeros(self.at("zeros.fbin.gz"), struct.pack("<II", 1 << 20, 200), 800 << 20)
        command = f"ulimit -v 700000; exec {cli_support.KITH} search -b {self.at('zeros.fbin.gz')} " \
                  f"-q {self.at('queries.npy')} -k 1 -t 1"
        result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assert_error(result, "zeros.fbin.gz", "takes 800.0 MiB of memory; ", "are free")

    @unittest.skipIf(os.environ.get("KITH_SANITIZE"), "a sanitizer reserves more address space than the limit")
    def test_a_compressed_matrix_beyond_the_memory_is_refused_at_once(self):
        # Broken behind the start: who decompresses all of it before looking at the memory finds that instead.
        row = struct.pack("<i", 255) + bytes(4 * 255)
        for name, start, rows, size, broken in (("npy.npy.gz", npy_header((1 << 20, 200)), b"\0", 800 << 20, 0.3),
                                                ("bin.fbin.gz", struct.pack("<II", 1 << 20, 200), b"\0", 800 << 20, 0.3),
                                                ("vecs.fvecs.gz", b"", row, 2 << 30, 0.8)):
            path = self.at(name)
            gzip_of(path, start, rows, size)
            with open(path, "r+b") as file:
                file.seek(int(path.stat().st_size * broken))
                file.write(b"\xff" * 64)
            command = f"ulimit -v 700000; exec {cli_support.KITH} search -b {path} -q {self.at('queries.npy')} -k 1 -t 1"
            result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120)
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assert_error(result, name, "takes ", "MiB of memory; ", "are free")

    def test_counting_a_gzip_stops_at_ctrl_c(self):
        path = self.at("long.fbin.gz")
        gzip_of_zeros(path, struct.pack("<II", 1 << 20, 4096), 16 << 30)
        for command in (["search", "-b", f"{path}:0:", "-q", self.at("queries.npy"), "-k", "1"],
                        ["convert", path, self.at("long.npy"), "--quiet"]):
            process = subprocess.Popen([cli_support.KITH, *map(str, command)], stderr=subprocess.PIPE, text=True)
            time.sleep(0.3)
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            _, messages = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, messages)
            self.assertEqual(messages, "kith: cancelled\n")
            self.assertLess(time.monotonic() - begin, 5)  # of the 30 s that the file takes: loaded machines are slow

    def test_integers_are_coordinates_where_a_float_holds_them(self):
        points = [[i, (i * i) % 17] for i in range(50)]
        write_npy(self.at("i8.npy"), points, "i8")
        write_npy(self.at("i4.npy"), points, "i4")
        write_npy(self.at("f4.npy"), points)
        results = []
        for name in ("i8.npy", "i4.npy", "f4.npy"):
            kith("search", "-b", self.at(name), "-q", self.at("f4.npy"), "-k", "3", "--ids", self.at("ids.npy"),
                 "--distances", self.at("d.npy"), "--quiet")
            results.append((read_npy(self.at("ids.npy")), read_npy(self.at("d.npy"))))
        self.assertEqual(results[0], results[2])
        self.assertEqual(results[1], results[2])
        # 2^24 + 1 needs f64, 2^53 + 1 has none.
        write_npy(self.at("wide.npy"), [[2**24 + 1], [2**24]], "i8")
        kith("search", "-b", self.at("wide.npy"), "-q", self.at("wide.npy"), "-k", "1", "--ids", self.at("ids.npy"),
             "--quiet")
        self.assertEqual(read_npy(self.at("ids.npy")), [[0], [1]])
        write_npy(self.at("wider.npy"), [[1, 2], [3, 2**53 + 1]], "i8")
        result = kith("search", "-b", self.at("wider.npy"), "-q", self.at("wider.npy"), "-k", "1", code=2)
        self.assert_error(result, "wider.npy: row 1, column 1: 9007199254740993 is not a value of f64")


class Convert(Cli):
    def converted(self, values, to, *more, code=0, of="i8"):
        write_npy(self.at("in.npy"), [values], of)
        result = kith("convert", self.at("in.npy"), self.at("out.npy"), "--type", to, "--quiet", *more, code=code)
        return result if code else read_npy(self.at("out.npy"))[0]

    def test_lossy_rounds_once(self):
        # The first rounds up from just above the middle of two floats; by way of a double it would be the middle.
        value = 2**60 + 2**36 + 1
        self.assertEqual(self.converted([value, -value, 2**60 + 2**36], "f32", "--lossy"),
                         [2.0**60 + 2**37, -(2.0**60) - 2**37, 2.0**60])
        self.assertEqual(self.converted([2**53 + 1, 2**63 - 1], "f64", "--lossy"), [2.0**53, 2.0**63])

    def test_messages_print_the_value_itself(self):
        self.assert_error(self.converted([5, 2**53 + 1], "f64", code=2),
                          "row 0, column 1: 9007199254740993 is not a value of f64; --lossy takes the nearest")
        self.assert_error(self.converted([-1], "u8", code=2), "row 0, column 0: -1 is not a value of u8")
        self.assert_error(self.converted([2**31], "i32", code=2), "2147483648 is not a value of i32")
        self.assert_error(self.converted([2.0**63], "i64", code=2, of="f8"), "is not a value of i64")
        self.assert_error(self.converted([0.5], "i64", code=2, of="f8"), "0.5 is not a value of i64")

    def test_integers_beyond_the_ends_become_the_ends(self):
        self.assertEqual(self.converted([300, -1, 7], "u8", "--lossy"), [255, 0, 7])
        self.assertEqual(self.converted([2**40, -(2**40), 7], "i32", "--lossy"), [2**31 - 1, -(2**31), 7])


if __name__ == "__main__":
    cli_support.main(__doc__)
