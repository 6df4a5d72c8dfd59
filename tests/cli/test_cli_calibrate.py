#!/usr/bin/env python3
"""kith calibrate and the file that it writes: which file is read, which is refused, and that no answer depends on it.

usage: test_cli_calibrate.py KITH
"""
import json
import os
import pathlib
import subprocess

import cli_support
from cli_support import Cli, main, random_rows, write_npy

PLAN = ("plan", "-n", 5000, "-q", 1000, "-d", 16, "-k", 10, "--device", "cpu")


class Calibrate(Cli):
    def setUp(self):
        self.home = self.at("home")
        self.folder = self.home / "kith"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file = self.folder / "machine.json"
        self.file.unlink(missing_ok=True)

    def kith(self, *words, code=0, **environment):
        variables = {k: v for k, v in os.environ.items() if k != "KITH_MACHINE"}
        variables |= {"XDG_CONFIG_HOME": str(self.home), "OMP_NUM_THREADS": "2"} | environment
        done = subprocess.run([cli_support.KITH, *map(str, words)], capture_output=True, text=True, env=variables,
                              timeout=250)
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done

    def source(self, *words, **environment):
        return json.loads(self.kith(*PLAN, "--json", *words, **environment).stdout)["estimate"]["source"]

    # A file of this machine with one rate, of the path of PLAN, that nothing has.
    def write(self, path, call_seconds=1234.5, **facts):
        plan = json.loads(self.kith(*PLAN, "--json", XDG_CONFIG_HOME="/nonexistent").stdout)["plan"]
        flags = pathlib.Path("/proc/cpuinfo").read_text() if pathlib.Path("/proc/cpuinfo").exists() else ""
        here = {"isa": plan["isa"], "bf16": "avx512_bf16" in flags and plan["isa"] in ("avx512", "amx"),
                "vnni": "avx512_vnni" in flags and plan["isa"] in ("avx512", "amx"), "threads": 2,
                "free_bytes": 1 << 30, "no_device": "", "devices": []}
        path.write_text(json.dumps({
            "version": 1, "name": "this machine", "what": "this machine", "date": "2026-11-29", "source": "a test",
            "machine": here | facts, "start_seconds": 0, "copied_bytes_per_second": 0, "prepared_values_per_second": 0,
            "rates": [{"device": "cpu", "path": plan["path"], "metric": "", "d": 16, "k": 10,
                       "call_seconds": call_seconds}]}))

    def test_the_file_is_written_read_and_compared(self):
        done = json.loads(self.kith("calibrate", "--json", "--quiet", HOME="/nonexistent").stdout)
        self.assertEqual(done["file"], str(self.file))
        self.assertLess(done["seconds"], 60)
        self.assertGreater(done["rates"], 10)
        self.assertGreaterEqual(len(done["changes"]), 10)
        written = json.loads(self.file.read_text())
        self.assertEqual(len(written["rates"]), done["rates"])
        self.assertIn("rates of this machine, kith calibrate", self.source())

    def test_precedence(self):
        self.assertIn("measured now", self.source())
        self.write(self.file, 1000)
        other = self.home / "other.json"
        self.write(other, 2000)

        def seconds(*words, **environment):
            return json.loads(self.kith(*PLAN, "--json", *words, **environment).stdout)["estimate"]["seconds"]
        self.assertEqual(seconds(), 1000)
        self.assertEqual(seconds(KITH_MACHINE=str(other)), 2000)
        self.assertEqual(seconds("--machine", other), 2000)
        self.assertEqual(seconds("--machine", self.file, KITH_MACHINE=str(other)), 1000)
        self.assertLess(seconds("--machine", "zen5", KITH_MACHINE=str(other)), 1)
        (self.home / ".config").mkdir(exist_ok=True)
        if not (self.home / ".config/kith").exists():
            (self.home / ".config/kith").symlink_to(self.folder)
        self.assertEqual(seconds(HOME=str(self.home), XDG_CONFIG_HOME=""), 1000)
        self.assertEqual(seconds(HOME=str(self.home), XDG_CONFIG_HOME="home"), 1000)

    def test_a_broken_file_is_refused_where_it_was_asked_for(self):
        broken = self.home / "broken.json"
        for text in ("", "{", "[1, 2]", '{"version": 1}'):
            broken.write_text(text)
            self.assert_error(self.kith(*PLAN, "--machine", broken, code=2), str(broken))
            self.assert_error(self.kith(*PLAN, KITH_MACHINE=str(broken), code=2), "KITH_MACHINE", str(broken))
        absent = self.home / "absent.json"
        self.assert_error(self.kith(*PLAN, "--machine", absent, code=2), str(absent))
        self.assert_error(self.kith(*PLAN, KITH_MACHINE=str(absent), code=2), "KITH_MACHINE", str(absent))
        self.assert_error(self.kith(*PLAN, "--machine", "h1000", code=2), "h1000", "h100", "kith calibrate")

    def test_what_is_no_file_is_refused_and_not_waited_for(self):
        fifo, folder = self.home / "pipe.json", self.home / "folder.json"
        os.mkfifo(fifo)
        folder.mkdir()
        for path in (fifo, folder, pathlib.Path("/dev/zero")):
            words = (str(path), "regular file")
            self.assert_error(self.kith(*PLAN, KITH_MACHINE=str(path), code=2), "KITH_MACHINE", *words)
            self.assert_error(self.kith(*PLAN, "--machine", path, code=2), *words)
        os.mkfifo(self.file)
        done = self.kith(*PLAN)
        self.assertEqual(done.stderr.count("warning"), 1, done.stderr)
        self.assertIn("regular file", done.stderr)

    def test_a_broken_file_of_the_folder_is_a_warning_once(self):
        for text in ("", "{", "[1, 2]"):
            self.file.write_text(text)
            done = self.kith(*PLAN)
            self.assertEqual(done.stderr.count("warning"), 1, done.stderr)
            self.assertIn(str(self.file), done.stderr)
            self.assertIn("measured now", done.stdout)
        self.write(self.file, isa="sse9")
        self.assertIn("another machine", self.kith(*PLAN).stderr)
        self.assertEqual(self.kith(*PLAN, "--machine", "zen5").stderr, "")

    def test_no_answer_depends_on_the_file(self):
        write_npy(self.at("b.npy"), random_rows(3000, 5, 1))
        write_npy(self.at("q.npy"), random_rows(300, 5, 2))

        def answer(**environment):
            out = self.at("ids.npy")
            self.kith("search", "-b", self.at("b.npy"), "-q", self.at("q.npy"), "-k", 7, "--ids", out, "--quiet", **environment)
            return out.read_bytes()
        without = answer()
        self.write(self.file, 1e-9)
        self.assertEqual(answer(), without)
        self.write(self.file, 1e9, threads=1)
        self.assertEqual(answer(), without)
        self.file.write_text("{")
        self.assertEqual(answer(), without)
        self.assertEqual(answer(KITH_MACHINE="/nonexistent/machine.json"), without)

    def test_refused(self):
        self.assert_error(self.kith("calibrate", "--out", self.home / "rates.txt", code=2), "--out", ".json")
        self.assert_error(self.kith("calibrate", XDG_CONFIG_HOME="", HOME="", code=2), "--out", "XDG_CONFIG_HOME")
        self.assert_error(self.kith("calibrate", "--out", "/proc/no/such/folder/m.json", code=2), "/proc/no")


if __name__ == "__main__":
    main(__doc__)
