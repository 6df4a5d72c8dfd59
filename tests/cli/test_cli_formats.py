#!/usr/bin/env python3
"""Formats by the command line: tables in text, NumPy's archives and types, standard input.

usage: test_cli_formats.py KITH
"""
import gzip
import io
import math
import random
import struct
import subprocess
import zipfile

import cli_support
from cli_support import Cli, f32, kith, read_npy, write_npy


def npy(code, shape, data, order="False"):
    header = f"{{'descr': '{code}', 'fortran_order': {order}, 'shape': {shape}, }}"
    header += " " * ((64 - (10 + len(header) + 1) % 64) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


class Formats(Cli):
    def read(self, name, *more, code=0):
        """The rows of a file as `convert` reads them, or its refusal."""
        result = kith("convert", self.at(name), self.at("out.npy"), "--quiet", *more, code=code)
        return result if code else read_npy(self.at("out.npy"))

    def put(self, name, data):
        self.at(name).write_bytes(data if isinstance(data, bytes) else data.encode())
        return name


class Text(Formats):
    def test_separators_headers_comments_and_ends_of_lines(self):
        expected = [[1.5, -2.0, 3.0], [4.0, 5e3, 0.25]]
        for text in ("1.5,-2,3\n4,5e3,.25\n", "1.5;-2;3\r\n4;5e3;0.25\r\n", "1.5\t-2\t+3\n4\t5e3\t0.25",
                     "  1.5   -2  3\n\n4 5e3 0.25  \n", "x,y,z\n1.5, -2 , 3\n4,5E+3,0.25\n",
                     "# saved by hand\n1.5 -2 3\n4 5e3 0.25\n", '"a, b","c","d"\n"1.5","-2",3\n4,5e3,0.25\n',
                     "\ufeff1.5,-2,3\n4,5e3,0.25\n"):
            self.assertEqual(self.read(self.put("a.csv", text)), expected, text)
        self.put("a.csv.gz", gzip.compress(b"1,2\n3,4\n"))
        self.assertEqual(self.read("a.csv.gz"), [[1, 2], [3, 4]])
        self.assertEqual(self.read(self.put("a.tsv", "1\t2\n3\t4\n")), [[1, 2], [3, 4]])

    def test_empty_cells_are_nan(self):
        rows = self.read(self.put("a.csv", "1,,nan\n,-inf,\n"))
        self.assertEqual([[math.isnan(x) for x in row] for row in rows], [[False, True, True], [True, False, True]])
        self.assertEqual(rows[1][1], -math.inf)

    def test_values_are_rounded_once(self):
        # Just above the middle of two floats: by way of a double it would be the middle, and go down.
        cells = ["1.00000005960464477539062500000000000000001", "0.1", "16777217", "3.4028235e38", "1e-46", "-1e-400",
                 "1" + "0" * 30, "0." + "0" * 50 + "1"]
        self.put("a.csv", ",".join(cells) + "\n")
        self.assertEqual(self.read("a.csv")[0],
                         [1 + 2**-23, f32(0.1), 16777216.0, f32(3.4028235e38), 0.0, 0.0, f32(1e30), 0.0])
        wide = self.read("a.csv", "--from", "csv64")[0]
        self.assertEqual(wide, [float(cell) for cell in cells])
        self.put("a.csv", "9007199254740993,-1\n9223372036854775807,+7\n")
        self.assertEqual(self.read("a.csv", "--from", "csvi64"), [[9007199254740993, -1], [2**63 - 1, 7]])

    def test_refusals_name_line_and_column(self):
        for text, *words in (
            ("1,2\n3\n", "line 2: expected 2 cells as in line 1, found 1"),
            ("# c\n\na,b\n1,2\n3,4,5\n", "line 5: expected 2 cells as in line 3, found 3"),
            ("1,2\n3,x\n", 'line 2, column 2: expected a number, found "x"'),
            ("1,2x\n3,4\n", 'line 1, column 2: expected a number, found "2x"'),
            ("1,2\n3,1e39\n", "line 2, column 2: expected a value within the range of f32 (csv64 reads f64)"),
            ("1,0x10\n", 'expected a number, found "0x10"'),
            ('"1,5";"2,5"\n"3,5";"4,5"\n1;2\n', 'line 1, column 1: expected a number, found "1,5"'),
            ("\n0x10\n1\n", 'line 2, column 1: expected a number, found "0x10"'),
            ("1%\n2\n", 'line 1, column 1: expected a number, found "1%"'),
            (",-1.0f\n2,3\n", 'line 1, column 2: expected a number, found "-1.0f"'),
            (".x\n2\n", 'line 1, column 1: expected a number, found ".x"'),
            ("", "expected at least one row"),
            ("a,b\n", "expected at least one row"),
        ):
            self.assert_error(self.read(self.put("a.csv", text), code=2), "a.csv: ", *words)
        self.assert_error(self.read(self.put("a.csv", "1,1.5\n"), "--from", "csvi64", code=2),
                          'line 1, column 2: expected an integer, found "1.5"')
        self.assert_error(self.read(self.put("a.csv", "1e400\n"), "--from", "csv64", code=2), "range of f64")

    def test_ranges_of_rows(self):
        # Empty lines are no rows where there are more columns than one.
        self.put("a.csv", "name,other\n" + "".join(f"1,{i}\n\n" for i in range(5000)))
        self.assertEqual(self.read("a.csv:3000:3"), [[1, 3000], [1, 3001], [1, 3002]])
        self.assertEqual(self.read("a.csv:1023:2"), [[1, 1023], [1, 1024]])

    def test_what_is_written_is_read(self):
        generator = random.Random(5)
        rows = [[generator.gauss(0, 10.0 ** generator.randrange(-30, 30)) for _ in range(5)] for _ in range(300)]
        rows[7][2] = math.inf
        write_npy(self.at("in.npy"), rows, "f8")
        kith("convert", self.at("in.npy"), self.at("b.csv"), "--type", "f64", "--quiet")
        self.assertEqual(self.read("b.csv", "--from", "csv64"), rows)
        write_npy(self.at("in.npy"), [[f32(x) for x in row] for row in rows])
        folder = self.at("old.tsv.d")
        folder.mkdir()
        kith("convert", self.at("in.npy"), folder / "b.csv", "--quiet")
        self.assertNotIn("\t", (folder / "b.csv").read_text())
        kith("convert", self.at("in.npy"), self.at("b.tsv.gz"), "--quiet")
        self.assertEqual(self.read("b.tsv.gz"), [[f32(x) for x in row] for row in rows])
        kith("search", *self.inputs("-k", "2", "--quiet", "--ids", self.at("ids.csv")))
        self.assertEqual(len(self.read("ids.csv", "--from", "csvi64")), len(self.queries))


class Archives(Formats):
    def archive(self, name, members, how):
        with zipfile.ZipFile(self.at(name), "w", how) as file:
            for member, data in members.items():
                file.writestr(member + ".npy", data)
            file.writestr("notes.txt", "no array")
        return name

    def test_members(self):
        first = npy("<f4", (2, 3), struct.pack("<6f", *range(6)))
        second = npy("<i8", (2, 1), struct.pack("<2q", 7, -8))
        for how in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            self.archive("two.npz", {"x": first, "deep/y": second}, how)
            self.assertEqual(self.read("two.npz/x"), [[0, 1, 2], [3, 4, 5]])
            self.assertEqual(self.read("two.npz/deep/y"), [[7], [-8]])
            self.assertEqual(self.read("two.npz/x:1:1"), [[3, 4, 5]])
            self.assert_error(self.read("two.npz", code=2), "two.npz/NAME, of: x, deep/y")
            self.assert_error(self.read("two.npz/z", code=2), "no array z; expected one of: x, deep/y")
            self.archive("one.npz", {"arr_0": first}, how)
            self.assertEqual(self.read("one.npz"), [[0, 1, 2], [3, 4, 5]])

    def test_zip64(self):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as file:
            with file.open("a.npy", "w", force_zip64=True) as member:
                member.write(npy("|u1", (1, 3), b"\1\2\3"))
        data = buffer.getvalue()
        self.assertEqual(self.read(self.put("a.npz", data)), [[1, 2, 3]])
        # The same with the numbers of the directory in its zip64 records only.
        entry = data.rindex(b"PK\1\2")
        end = data.rindex(b"PK\5\6")
        size, stored, offset = *struct.unpack_from("<II", data, entry + 20), struct.unpack_from("<I", data, entry + 42)[0]
        name = data[entry + 46 : entry + 46 + 5]
        extra = struct.pack("<HHQQQ", 1, 24, stored, size, offset)
        wide = bytearray(data[entry : entry + 46])
        struct.pack_into("<II", wide, 20, 0xFFFFFFFF, 0xFFFFFFFF)
        struct.pack_into("<I", wide, 42, 0xFFFFFFFF)
        struct.pack_into("<HHH", wide, 28, 5, len(extra), 0)
        directory = bytes(wide) + name + extra
        end64 = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 1, 1, len(directory), entry)
        locator = struct.pack("<IIQI", 0x07064B50, 0, entry + len(directory), 1)
        tail = struct.pack("<IHHHHIIH", 0x06054B50, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
        self.put("b.npz", data[:entry] + directory + end64 + locator + tail)
        self.assertEqual(self.read("b.npz"), [[1, 2, 3]])
        self.assertEqual(data[end : end + 4], b"PK\5\6")

    def test_damaged_archives_are_refused_or_read_alike(self):
        # More than is kept of a compressed member is not needed: every byte of a small one is damaged once.
        rows = [[float(i * j % 7) for j in range(8)] for i in range(8)]
        data = npy("<f4", (8, 8), b"".join(struct.pack("<8f", *row) for row in rows))
        for how in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            whole = self.at(self.archive("a.npz", {"x": data}, how)).read_bytes()
            for at in range(0, len(whole), 5):
                damaged = bytearray(whole)
                damaged[at] ^= 0xFF
                self.put("b.npz", bytes(damaged))
                result = subprocess.run([cli_support.KITH, "convert", self.at("b.npz"), self.at("out.npy"), "--quiet"],
                                        capture_output=True, text=True, timeout=60)
                self.assertIn(result.returncode, (0, 2, 3), (at, result.stderr))
                if result.returncode == 0:
                    self.assertEqual(read_npy(self.at("out.npy")), rows, at)
            for size in (0, 10, len(whole) // 2, len(whole) - 1):
                self.assert_error(self.read(self.put("b.npz", whole[:size]), code=2), "b.npz")

    def test_a_checksum_holds_for_the_rows_that_are_read_too(self):
        data = npy("<f4", (8, 8), struct.pack("<64f", *range(64)))
        whole = self.at(self.archive("a.npz", {"x": data}, zipfile.ZIP_STORED)).read_bytes()
        damaged = bytearray(whole)
        damaged[whole.index(data) + len(data) - 1] ^= 1
        self.put("b.npz", bytes(damaged))
        for name in ("b.npz", "b.npz/x:7:", "b.npz/x:0:1"):
            self.assert_error(self.read(name, code=2), "b.npz/x: expected 384 bytes of the checksum")


class NumpyTypes(Formats):
    def test_narrow_integers_and_truth_values(self):
        cases = (("<i2", struct.pack("<4h", -32768, 32767, 0, -1), [[-32768, 32767], [0, -1]]),
                 (">u2", struct.pack(">4H", 65535, 1, 0, 256), [[65535, 1], [0, 256]]),
                 ("|b1", b"\1\0\2\1", [[1, 0], [1, 1]]),
                 ("<u4", struct.pack("<4I", 2**32 - 1, 1, 2, 3), [[2**32 - 1, 1], [2, 3]]),
                 ("<u8", struct.pack("<4Q", 2**63 - 1, 1, 2, 3), [[2**63 - 1, 1], [2, 3]]))
        for code, data, rows in cases:
            self.assertEqual(self.read(self.put("a.npy", npy(code, (2, 2), data))), rows, code)
            transposed = [[rows[0][0], rows[1][0]], [rows[0][1], rows[1][1]]]
            self.assertEqual(self.read(self.put("a.npy", npy(code, (2, 2), data, "True"))), transposed, code)
            self.assert_error(self.read(self.put("a.npy", npy(code, (2, 3), data)), code=2), f"(2 x 3 {code[1:]})")

    def test_searched_as_coordinates(self):
        rows = [[i, 3 * i % 11] for i in range(40)]
        write_npy(self.at("f4.npy"), rows)
        found = []
        for code, letter in (("<f4", "f"), ("<i2", "h"), ("<u2", "H"), ("<u4", "I"), ("<u8", "Q"), ("<i8", "q")):
            data = b"".join(struct.pack(f"<2{letter}", *row) for row in rows)
            self.put("a.npy", npy(code, (40, 2), data))
            kith("search", "-b", self.at("a.npy"), "-q", self.at("f4.npy"), "-k", "4", "--quiet", "--ids",
                 self.at("ids.npy"))
            found.append(read_npy(self.at("ids.npy")))
        self.assertTrue(all(one == found[0] for one in found))

    def test_out_of_range(self):
        self.put("a.npy", npy("<u8", (1, 2), struct.pack("<2Q", 5, 2**63)))
        self.assert_error(self.read("a.npy", code=2),
                          "row 0, column 1: expected a number below 2^63, found 9223372036854775808")


class StandardInput(Formats):
    def piped(self, data, *args, code=0):
        result = subprocess.run([cli_support.KITH, *map(str, args)], input=data, capture_output=True, timeout=60)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stderr.decode()

    def test_formats(self):
        rows = [[1, 2], [3, 4], [5, 6]]
        out = self.at("out.npy")
        self.piped(b"1,2\n3,4\n5,6\n", "convert", "-", out, "--from", "csv", "--quiet")
        self.assertEqual(read_npy(out), rows)
        write_npy(self.at("a.npy"), rows)
        data = self.at("a.npy").read_bytes()
        self.piped(data, "convert", "/dev/stdin:1:", out, "--from", "npy", "--quiet")
        self.assertEqual(read_npy(out), rows[1:])
        self.piped(gzip.compress(data), "convert", "-", out, "--from", "npy.gz", "--quiet")
        self.assertEqual(read_npy(out), rows)
        self.piped(data, "search", "-b", self.at("a.npy"), "-q", "-", "--format", "npy", "-k", "1", "--ids", out,
                   "--quiet")
        self.assertEqual(read_npy(out), [[0], [1], [2]])

    def test_refusals(self):
        out = self.at("out.npy")
        message = self.piped(b"1\n", "convert", "-", out, "--from", "hdf5", code=2)
        self.assertIn("standard input: the HDF5 library reads files by their names; expected a file, as of: cat >", message)
        broken = bytearray(gzip.compress(bytes(range(256)) * 16))
        broken[-6] ^= 1
        message = self.piped(bytes(broken), "convert", "-", out, "--from", "npy.gz", code=2)
        self.assertIn("kith: standard input: offset ", message)
        self.assertIn("found incorrect data check", message)
        self.assertNotIn("fd:", message)
        self.assertIn("standard input: expected a format of", self.piped(b"1\n", "convert", "-", out, code=2))
        message = self.piped(b"1,2\n3,x\n", "convert", "-", out, "--from", "csv", "--quiet", code=2)
        self.assertIn("kith: standard input: line 2, column 2", message)
        self.assertIn("standard input", self.piped(b"", "convert", "-", out, "--from", "npy", code=2))

    def test_ctrl_c_while_waiting(self):
        process = subprocess.Popen([cli_support.KITH, "convert", "-", self.at("out.npy"), "--from", "csv"],
                                   stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertRaises(subprocess.TimeoutExpired, process.wait, 0.5)
        process.terminate()
        self.assertEqual(process.wait(timeout=30), 143)
        self.assertEqual(process.stderr.read(), "kith: cancelled\n")
        process.stdin.close()
        process.stderr.close()


if __name__ == "__main__":
    cli_support.main(__doc__)
