#!/usr/bin/env python3
"""Every command under every hostile circumstance: closed, full and broken standard files, no more files, no more bytes,
small stacks, a folder that has gone, odd environments, signals at any moment.

What must hold: it ends soon, with a documented exit code and never by a signal; a failure is one line; no temporary file
is left; an output is what it was before, or complete. What was to be printed and has not arrived is exit code 2.

usage: test_cli_conditions.py KITH
"""
import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import time

import cli_support
from cli_support import Cli, main, random_rows, write_npy

SOON = 120
CODES = {0, 1, 2, 3}
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
PRINTS = {"info", "plan", "completion", "verify", "status", "search", "estimate"}  # without a file to write


def pnm(path, seed):
    generator = random.Random(seed)
    path.write_bytes(b"P5\n24 24\n255\n" + bytes(generator.randrange(256) for _ in range(24 * 24)))


def broken():
    """A pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    return os.fdopen(write, "wb")


class Conditions(Cli):
    def setUp(self):
        self.work = self.at("work")
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()
        write_npy(self.work / "b.npy", random_rows(60, 4, 1))
        write_npy(self.work / "q.npy", random_rows(9, 4, 2))
        write_npy(self.work / "c.npy", [[1.0] * 60] * 9)
        for i in range(2):
            pnm(self.work / f"{i}.pgm", i)
        self.kith("search", "-b", "b.npy", "-q", "q.npy", "-k", 3, "-o", "found.gt", "--quiet")
        self.kith("groundtruth", "init", "done", "-b", "b.npy", "--graph", "-k", 3, "--shard-rows", 20, "--quiet")
        self.kith("groundtruth", "run", "done", "--quiet")
        self.kith("groundtruth", "init", "open", "-b", "b.npy", "--graph", "-k", 3, "--shard-rows", 20, "--quiet")

    def kith(self, *words):
        subprocess.run([cli_support.KITH, *map(str, words)], cwd=self.work, check=True, capture_output=True)

    # Each in the folder of its own files; OUT is what it writes.
    COMMANDS = [line.split() for line in """
        --version
        --help
        info
        info --selectors --json
        completion bash
        plan -n 1000 -q 10 -d 8 -k 5 --machine h100
        search -b b.npy -q q.npy -k 3
        search -b b.npy -q q.npy -k 3 --ids OUT.npy --json
        search -b b.npy -q q.npy -k 3 -o OUT.hdf5 --with-data
        search -b - --format npy -q q.npy -k 3 --ids OUT.npy
        graph -b b.npy -k 3 --csr OUT.npz
        radius -b b.npy -r 1 --out OUT.npz
        radius -b b.npy -r 1 --only-counts
        select c.npy -k 3 --ids OUT.npy
        distances -b b.npy -q q.npy --out OUT.npy
        estimate entropy -x b.npy -k 3
        match b.npy q.npy --out OUT.npy
        retrieve 0.pgm 1.pgm --out OUT.npy
        verify -b b.npy -q q.npy --ids found.gt
        convert b.npy OUT.fvecs
        groundtruth init OUT -b b.npy --graph -k 3
        groundtruth run open
        groundtruth status done
        groundtruth status done --json
        groundtruth verify done --sample 5
        groundtruth merge done --ids OUT.npy
        nonsense
        search -b absent.npy -q q.npy -k 3
    """.strip().splitlines()]

    def run_in(self, words, **how):
        """`how`: as of subprocess.run; its files are made by functions."""
        made = {"stdin": lambda: open(self.work / "b.npy", "rb"), **how}
        files = [name for name in ("stdin", "stdout", "stderr") if name in made]
        with contextlib.ExitStack() as stack:
            made |= {name: stack.enter_context(made[name]()) for name in files}
            made = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": self.work, **made}
            return subprocess.run([cli_support.KITH, *words], timeout=SOON, **made)

    def each(self, name, **how):
        """All commands under one condition."""
        for words in self.COMMANDS:
            self.judge(name, words, self.run_in(words, **how))

    def judge(self, name, words, done, codes=CODES):
        where = (name, " ".join(words), done.returncode, done.stderr)
        self.assertIn(done.returncode, codes, where)
        if done.returncode >= 2 and done.stderr:
            lines = [line for line in done.stderr.decode().splitlines() if line.startswith("kith: ")]
            self.assertEqual(len(lines), 1, where)
        left = [path for path in self.work.rglob("*") if ".part-" in path.name or ".of-" in path.name]
        self.assertEqual(left, [], where)
        printed = done.returncode == 2 and done.stderr == b"kith: cannot write to standard output\n"
        for path in self.work.glob("OUT*"):
            if done.returncode != 0 and not printed:  # nothing, or the folder of no job
                self.assertTrue(path.is_dir() and not (path / "manifest.json").exists(), where)
        self.clear()

    def clear(self):
        for path in self.work.glob("OUT*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def test_standard_output(self):
        for name, how in (("full", {"stdout": lambda: open("/dev/full", "wb")}), ("broken", {"stdout": broken}),
                          ("closed", {"preexec_fn": lambda: os.close(1)}),
                          ("read only", {"stdout": lambda: open("/dev/null", "rb")})):
            self.each(name, **how)
            for words in (["info"], ["--help"], ["groundtruth", "status", "done"], ["search", "-b", "b.npy", "-q", "q.npy", "-k", "3"]):
                self.assertEqual(self.run_in(words, **how).returncode, 2, (name, words))

    def test_standard_error(self):
        calm = []
        for words in self.COMMANDS:
            done = self.run_in(words)
            self.judge("calm", words, done, {0, 2})
            calm.append(done.returncode)
        for name, how in (("full", {"stderr": lambda: open("/dev/full", "wb")}), ("broken", {"stderr": broken}),
                          ("closed", {"preexec_fn": lambda: os.close(2)}),
                          ("all closed", {"preexec_fn": lambda: os.closerange(0, 3)})):
            for words, code in zip(self.COMMANDS, calm):
                if name == "all closed" and (words[0] in PRINTS or words[0][0] == "-" or "-" in words or words[1:2] == ["status"]
                                             or words[1:2] == ["verify"] or "--only-counts" in words or "--json" in words):
                    continue
                self.assertEqual(self.run_in(words, **how).returncode, code, (name, words))
                self.clear()

    def test_standard_input(self):
        self.each("closed", preexec_fn=lambda: os.close(0))
        self.each("nothing", stdin=lambda: open("/dev/null", "rb"))
        self.each("write only", stdin=lambda: open("/dev/null", "wb"))

    def test_limits(self):
        def limit(name, value):
            def set_it():
                resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))
            return set_it

        for name, values in (("NOFILE", (4, 5, 6, 7, 8, 10)), ("FSIZE", (0, 1, 100, 1000)), ("NPROC", (0, 1)),
                             ("CORE", (0,)), ("STACK", (1 << 16, 1 << 18)), ("MEMLOCK", (0,))):
            for value in values:
                self.each(f"RLIMIT_{name} {value}", preexec_fn=limit(name, value))

    def test_a_folder_that_has_gone(self):
        def leave():
            os.mkdir(self.work / "gone")
            os.chdir(self.work / "gone")
            os.rmdir(self.work / "gone")

        self.each("gone", preexec_fn=leave)

    def test_environments(self):
        odd = {"PATH": "", "TMPDIR": "/nonexistent", "HOME": "\xff", "LANG": "de_DE.UTF-8", "LC_ALL": "tr_TR", "TERM": "\x1b",
               "COLUMNS": "-1", "OMP_NUM_THREADS": "many", "KITH_ISA": "none", "CUDA_VISIBLE_DEVICES": "x" * 1000}
        self.each("nothing", env={})
        self.each("odd", env=odd)

    def test_words(self):
        for words in ([], [""], ["\xff"], ["-"], ["--"], ["-k"], ["search", "--"], ["x" * 100000], ["search", "-k", "9" * 100000],
                      ["search", "-b", "b" * 5000, "-q", "q.npy", "-k", "1"], ["search", "-b", "", "-q", "", "-k", "1"],
                      ["search", "-b", "b.npy", "-b", "b.npy", "-q", "q.npy", "-k", "1"], ["help"] * 50, ["@b.npy"],
                      ["search", "-b", b"\xff\xfe.npy", "-q", "q.npy", "-k", "1"], ["search", "--config", "b.npy"],
                      ["groundtruth", "status", "\x1b[2J"], ["groundtruth", "run", "b.npy"], ["info", "--json", "--json"]):
            done = self.run_in(words)
            self.assertIn(done.returncode, CODES, (words, done.stderr))
            self.assertNotIn(b"\x1b", done.stderr)
            if done.returncode:
                self.assertEqual(done.stderr.count(b"\n"), 1, (words, done.stderr))
        self.assertEqual(subprocess.run([], executable=cli_support.KITH, capture_output=True, timeout=SOON).returncode, 2)

    def test_signals(self):
        generator = random.Random(7)
        for number, code in SIGNALS.items():
            for words in self.COMMANDS:
                child = subprocess.Popen([cli_support.KITH, *words], cwd=self.work, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, []))
                time.sleep(generator.uniform(0, 0.02))
                child.send_signal(number)
                if generator.random() < 0.3:
                    child.send_signal(number)
                out, err = child.communicate(timeout=SOON)
                # -number: before the program was there to catch it.
                self.judge(f"signal {number}", words, subprocess.CompletedProcess(words, child.returncode, out, err),
                           CODES | {code, -number})


if __name__ == "__main__":
    main(__doc__)
