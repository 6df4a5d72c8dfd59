"""What the tool leaves behind: files that are added to and never lost, messages that never end the work.

usage: test_cli_outputs.py KITH_BINARY [unittest arguments]
"""
import os
import pty
import signal
import subprocess
import time
import unittest

import cli_support
from cli_support import Cli, kith, main, nearest, random_rows, read_npy, write_npy


def run(*args, **how):
    """The tool with standard files and limits of its own; returns its exit code and what it wrote to them."""
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **how}
    return subprocess.run([cli_support.KITH, *map(str, args)], timeout=120, **how)


def closing(*numbers):
    def close():
        for number in numbers:
            os.close(number)
    return close


class Messages(Cli):
    """A standard error that is full, closed or gone costs the message, never the work or the exit code."""

    def setUp(self):
        self.ids = self.at("ids.npy")
        self.ids.unlink(missing_ok=True)
        self.search = ("search", *self.inputs("-k", 3, "--ids", self.ids))

    def assert_written(self):
        self.assertEqual(read_npy(self.ids)[0], nearest(self.points, self.queries[0], 3)[0])

    def test_full(self):
        with open("/dev/full", "w") as full:
            self.assertEqual(run(*self.search, stderr=full).returncode, 0)
            self.assert_written()
            self.assertEqual(run("search", "-b", "absent.npy", "-q", "absent.npy", "-k", 1, stderr=full).returncode, 2)
            self.assertEqual(run("nonsense", stderr=full).returncode, 2)

    def test_closed(self):
        for numbers in ((2,), (1, 2), (0, 1, 2)):
            self.ids.unlink(missing_ok=True)
            self.assertEqual(run(*self.search, preexec_fn=closing(*numbers)).returncode, 0, numbers)
            self.assert_written()
            self.assertEqual(run("search", "-k", 1, preexec_fn=closing(*numbers)).returncode, 2, numbers)
        self.assertEqual(run("info", preexec_fn=closing(1)).returncode, 2)

    def test_reader_gone(self):
        for command, code in ((self.search, 0), (("search", "-k", "1"), 2)):
            reader, writer = os.pipe()
            os.close(reader)
            self.assertEqual(run(*command, stderr=writer).returncode, code)
            os.close(writer)
        self.assert_written()

    def test_terminal_gone(self):
        """As under nohup: the terminal closes in mid-search, SIGHUP is ignored; the next bar cannot be drawn."""
        write_npy(self.at("many.npy"), random_rows(150, 32, 5))
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [cli_support.KITH, "graph", "-b", self.at("many.npy"), "-k", "3", "--device", "cpu", "-t", "1", "--formula",
             "a + pow(fabs(q - x), 1.5) + exp(sqrt(fabs(q * x)))", "--ids", self.ids],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        os.close(slave)
        os.read(master, 1)  # the first bar
        os.close(master)
        self.assertEqual(process.wait(timeout=120), 0)
        self.assertEqual(len(read_npy(self.ids)), 150)

    def test_results_that_do_not_arrive(self):
        with open("/dev/full", "w") as full:
            for command in (("--help",), ("--version",), ("search", "--help"), ("info",), ("completion", "bash")):
                done = run(*command, stdout=full)
                self.assertEqual(done.returncode, 2, command)
                self.assertEqual(done.stderr, "kith: cannot write to standard output\n")
            self.assertEqual(run("--help", stdout=full, stderr=full).returncode, 2)


if __name__ == "__main__":
    main(__doc__)
