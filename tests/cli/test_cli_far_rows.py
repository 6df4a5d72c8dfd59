#!/usr/bin/env python3
"""Rows and ids beyond 2^31, of a file that is empty but for its ends and takes no room on the disk.

usage: test_cli_far_rows.py KITH
"""
import array
import json
import os
import struct

from cli_support import Cli, kith, main, read_npy

FAR = 1 << 31


class FarRows(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(cls.folder / "far.u8bin", "wb") as file:
            file.write(struct.pack("<II", FAR + 1000, 1))
            file.truncate(8 + FAR + 1000)
            for row in range(1000):
                os.pwrite(file.fileno(), bytes([row % 200]), 8 + FAR + row)
        with open(cls.folder / "last.u8bin", "wb") as file:
            file.write(struct.pack("<II", 1000, 1) + bytes(row % 200 for row in range(1000)))
        with open(cls.folder / "queries.u8bin", "wb") as file:
            file.write(struct.pack("<II", 2, 1) + bytes([7, 199]))

    def asked(self, *more):
        return ("-q", self.at("queries.u8bin"), "-k", 3, "--device", "cpu", *more)

    def test_far_rows_are_read(self):
        ids = []
        for base in (f"{self.at('far.u8bin')}:{FAR}:", self.at("last.u8bin")):
            kith("search", "-b", base, *self.asked("--ids", self.at("ids.npy"), "--quiet"))
            ids.append(read_npy(self.at("ids.npy")))
        self.assertEqual(ids, [[[7, 207, 407], [199, 399, 599]]] * 2)

    def test_ids_that_a_format_does_not_hold(self):
        """Before the search: that of so many points takes minutes."""
        for output in (("--ids", "x.ivecs"), ("--ids", "x.ibin"), ("--out", "x.gt")):
            refused = kith("search", "-b", self.at("far.u8bin"), *self.asked("--memory", "256MiB"), output[0],
                           self.at(output[1]), code=2)
            self.assert_error(refused, output[1], f"ids up to {FAR + 999}", "32 bits")
            self.assertFalse(self.at(output[1]).exists())

    def test_units_with_far_ids(self):
        job = self.at("job")
        # The rows of the second file follow those of the first, whose last thousand are left out.
        init = ("groundtruth", "init", job, "-b", f"{self.at('far.u8bin')}:0:{FAR}", self.at("last.u8bin"), "-q",
                self.at("queries.u8bin"), "-k", 3, "--shard-rows", FAR // 2, "--json")
        made = json.loads(kith(*init).stdout)
        self.assertEqual((made["base"]["rows"], made["shards"]), (FAR + 1000, 3))
        # Others are at the shards of the first.
        for shard in range(2):
            (job / "claims" / f"s0000{shard}-q00000").write_text(json.dumps(
                {"host": "elsewhere", "boot": "b", "namespace": "n", "pid": 1, "started": 1, "lease": 1000, "share": 0,
                 "pairs": 0, "seconds": 0}))
        kith("groundtruth", "run", job, "--device", "cpu", "--no-wait", "--quiet")
        unit = (job / "units" / "s00002-q00000").read_bytes()
        ids = array.array("q", unit[64 : 64 + 6 * 8]).tolist()
        self.assertEqual(ids, [FAR + row for row in (7, 207, 407, 199, 399, 599)])
        refused = kith("groundtruth", "merge", job, "--ids", self.at("x.ivecs"), code=2)
        self.assert_error(refused, "x.ivecs", f"ids up to {FAR + 999}", "32 bits")


if __name__ == "__main__":
    main(__doc__)
