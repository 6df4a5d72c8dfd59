#!/usr/bin/env python3
"""The command line where the system gives it no threads, or fewer than it asks for.

usage: test_cli_threads.py KITH
"""
import os
import re
import resource
import shutil
import subprocess
import unittest

import cli_support
from cli_support import Cli, main, random_rows, write_npy

NOBODY = 65534
# LeakSanitizer needs a thread of its own.
no_leak_search = {"ASAN_OPTIONS": "detect_leaks=0"}


def no_threads():
    """Nothing more may be started by this user."""
    if os.getuid() == 0:  # whom the limit does not bind
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))


class Threads(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        write_npy(cls.folder / "many.npy", random_rows(3000, 8, 5))
        os.chmod(cls.folder, 0o777)
        for path in cls.folder.iterdir():
            os.chmod(path, 0o666)
        # Where that user may start it.
        cls.binary = shutil.copy(cli_support.KITH, cls.folder / "kith")

    def run_limited(self, limit, *args, code=0):
        result = subprocess.run([self.binary, *map(str, args)], capture_output=True, text=True, timeout=120,
                                preexec_fn=limit, cwd=self.folder, env=os.environ | no_leak_search)
        self.assertEqual(result.returncode, code, f"{args}: {result.stdout}\n{result.stderr}")
        return result

    def test_without_threads_it_goes_on_and_says_so(self):
        limited = self.run_limited(no_threads, "graph", "-b", "many.npy", "-k", "5", "-t", "4", "--ids", "one.npy",
                                   "--device", "cpu")
        self.assertIn("1 of 4 threads)", limited.stderr)
        several = self.run_limited(None, "graph", "-b", "many.npy", "-k", "5", "-t", "4", "--ids", "four.npy",
                                   "--device", "cpu")
        self.assertIn("4 threads)", several.stderr)
        self.assertNotIn(" of 4 threads", several.stderr)
        self.assertEqual(self.at("one.npy").read_bytes(), self.at("four.npy").read_bytes())

    def test_verify_without_threads_tells_the_truth(self):
        self.run_limited(None, "graph", "-b", "many.npy", "-k", "5", "--ids", "right.npy", "--device", "cpu")
        verdict = self.run_limited(no_threads, "verify", "-b", "many.npy", "--graph", "--ids", "right.npy", "-t", "64",
                                   "--device", "cpu")
        self.assertTrue(verdict.stdout.startswith("exact"), verdict.stdout)
        self.assertIn("1 of 64 threads)", verdict.stderr)

    def test_a_report_in_json_counts_them(self):
        limited = self.run_limited(no_threads, "graph", "-b", "many.npy", "-k", "5", "-t", "4", "--json", "--device",
                                   "cpu")
        self.assertRegex(limited.stdout, r'"threads": 1\b')

    @unittest.skipIf(os.environ.get("KITH_SANITIZE"), "a sanitizer reserves more address space than the limit")
    def test_little_address_space_is_not_spent_on_stacks(self):
        limit = 600 << 20

        def limited():
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        result = self.run_limited(limited, "graph", "-b", "many.npy", "-k", "5", "-t", "64", "--ids", "limited.npy",
                                  "--device", "cpu")
        found = re.search(r"(\d+) of 64 threads\)", result.stderr)
        self.assertTrue(found, result.stderr)
        self.assertLess(int(found.group(1)), 8)


if __name__ == "__main__":
    main(__doc__)
