#!/usr/bin/env python3
"""The command line in an address space of every size: it does what it is asked, or says in one line that memory is out.

usage: test_cli_little_memory.py KITH
"""
import os
import resource
import subprocess
import unittest

import cli_support
from cli_support import Cli, main, random_rows, write_npy

KIB = 1024
NOT_LOADED = 127  # what the dynamic linker exits with where it cannot map a library


@unittest.skipIf(os.environ.get("KITH_SANITIZE"), "a sanitizer reserves more address space than any limit")
class LittleMemory(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        write_npy(cls.folder / "many.npy", random_rows(3000, 16, 5))

    def run_within(self, kib, args, **variables):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (kib * KIB, kib * KIB))

        return subprocess.run([cli_support.KITH, *args], capture_output=True, text=True, timeout=120, preexec_fn=limit,
                              cwd=self.folder, env=os.environ | variables)

    def kib_to_load(self):
        """What the dynamic linker needs to map the program and its libraries and to initialise those, to 64 KiB. Below
        it a library of others may crash."""
        fails, loads = 64, 1 << 20
        while loads - fails > 64:
            middle = (fails + loads) // 2
            if "transferring control" in self.run_within(middle, ["--help"], LD_DEBUG="files").stderr:
                loads = middle
            else:
                fails = middle
        return loads

    def test_within_every_limit(self):
        least = self.kib_to_load()
        limits = [*range(least, least + 4096, 128), *range(least + 4096, least + 16384, 2048),
                  *range(least + 16384, least + 200_000, 32768)]
        files = ["--base", "many.npy", "--device", "cpu"]
        for args in (["--help"], ["info"], ["plan", "-n", "1000", "-q", "10", "-d", "8", "-k", "5", "--device", "cpu"],
                     ["search", *files, "--queries", "many.npy", "-k", "3"],
                     ["graph", *files, "-k", "3", "-t", "16", "--ids", "ids.npy", "--force"],
                     ["radius", *files, "--queries", "many.npy", "-r", "0.5", "--path", "exact"],
                     ["convert", "many.npy", "many.csv", "--force"]):
            seen = set()
            for kib in limits:
                result = self.run_within(kib, args)
                label = f"{args} in {kib} KiB: {result.returncode}\n{result.stderr}"
                self.assertIn(result.returncode, (0, 3, NOT_LOADED), label)
                if result.returncode == 3:
                    lines = [line for line in result.stderr.splitlines() if line.startswith("kith: ")]
                    self.assertEqual(len(lines), 1, label)
                    self.assertRegex(lines[0], "memory|device", label)
                seen.add(result.returncode)
            self.assertEqual(result.returncode, 0, label)
            self.assertIn(3, seen, args)


if __name__ == "__main__":
    main(__doc__)
