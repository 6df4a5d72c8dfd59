"""What the tool leaves behind: files that are added to and never lost, messages that never end the work.

usage: test_cli_outputs.py KITH_BINARY [unittest arguments]
"""
import os
import pty
import re
import resource
import shutil
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


SLOW = "a + pow(fabs(q - x), 1.5) + exp(sqrt(fabs(q * x)))"  # 3,000 points: some ten seconds on one core


class Slow(Cli):
    """A search that is still running when a test does something to it."""

    def slow(self, rows, *outputs, **how):
        write_npy(self.at("many.npy"), random_rows(rows, 32, 5))
        how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, **how}
        return subprocess.Popen([cli_support.KITH, "graph", "-b", self.at("many.npy"), "-k", "3", "--device", "cpu", "-t", "1",
                                 "--formula", SLOW, *map(str, outputs)], **how)

    def wait_for(self, process, condition):
        while not condition():
            if process.poll() is not None:
                self.fail(f"it ended too early, with {process.returncode}: {process.stderr and process.stderr.read()}")
            time.sleep(0.01)


def closing(*numbers):
    def close():
        for number in numbers:
            os.close(number)
    return close


class Messages(Slow):
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
        master, slave = pty.openpty()
        process = self.slow(1000, "--ids", self.ids, stderr=slave,
                            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        os.close(slave)
        os.read(master, 1)  # the first bar
        os.close(master)
        self.assertEqual(process.wait(timeout=120), 0)
        self.assertEqual(len(read_npy(self.ids)), 1000)

    def test_results_that_do_not_arrive(self):
        with open("/dev/full", "w") as full:
            for command in (("--help",), ("--version",), ("search", "--help"), ("info",), ("completion", "bash")):
                done = run(*command, stdout=full)
                self.assertEqual(done.returncode, 2, command)
                self.assertEqual(done.stderr, "kith: cannot write to standard output\n")
            self.assertEqual(run("--help", stdout=full, stderr=full).returncode, 2)


class Kept(Slow):
    """What was there stays: HDF5 files are added to, inputs are never outputs, two outputs are two files."""

    def setUp(self):
        self.data = self.at("data.hdf5")
        self.data.unlink(missing_ok=True)
        kith("convert", self.at("base.npy"), f"{self.data}/train", "--quiet")

    def rows(self, name, of=None):
        kith("convert", f"{of or self.data}/{name}", self.at("read.npy"), "--lossy", "--quiet")
        return read_npy(self.at("read.npy"))

    def refused(self, *args, words=()):
        """Refused before any work, with all files as they were."""
        def contents():
            return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}
        before = contents()
        self.assert_error(kith(*args, code=2), *words)
        self.assertEqual(contents(), before)

    def test_added(self):
        kith("convert", self.at("queries.npy"), f"{self.data}/extra", "--quiet")
        kith("convert", self.at("grid.npy"), f"{self.data}/a/b", "--quiet")
        self.assertEqual(self.rows("train"), self.points)
        self.assertEqual(self.rows("extra"), self.queries)
        self.assertEqual(self.rows("a/b"), self.grid)

    def test_replaced_with_force_only(self):
        for name in ("train", "/train/", "./train", ""):
            self.refused("convert", self.at("grid.npy"), f"{self.data}/{name}", words=("train", "force"))
        kith("convert", self.at("queries.npy"), f"{self.data}/extra", "--quiet")
        kith("convert", self.at("grid.npy"), f"{self.data}/train", "--force", "--quiet")
        self.assertEqual(self.rows("train"), self.grid)
        self.assertEqual(self.rows("extra"), self.queries)
        self.refused("convert", self.at("grid.npy"), f"{self.data}/train/x", "--force", words=("train",))

    def test_both_into_one(self):
        result = self.at("r.hdf5")
        for ids, distances in ((f"{result}/neighbors", f"{result}/distances"), (result, result)):
            result.unlink(missing_ok=True)
            kith("search", *self.inputs("-k", 4, "--ids", ids, "--distances", distances, "--quiet"))
            kith("verify", *self.inputs("--ids", result, "--distances", result))
        write_npy(self.at("values.npy"), [[3.0, 1.0, 2.0]])
        selected = self.at("s.hdf5")
        kith("select", "-d", self.at("values.npy"), "-k", 2, "--ids", f"{selected}/i", "--values", f"{selected}/v", "--quiet")
        self.assertEqual((self.rows("i", selected), self.rows("v", selected)), ([[1, 2]], [[1.0, 2.0]]))

    def test_result_beside_its_data(self):
        kith("convert", self.at("queries.npy"), f"{self.data}/test", "--quiet")
        search = ("search", "-b", f"{self.data}/train", "-q", f"{self.data}/test", "-k", 3, "-m", "l2", "--out", self.data)
        kith(*search, "--quiet")
        self.assertEqual(self.rows("train"), self.points)
        self.assertEqual(self.rows("neighbors")[0], nearest(self.points, self.queries[0], 3)[0])
        self.refused(*search, words=("neighbors", "force"))
        kith(*search, "--force", "--quiet")
        self.refused(*search, "--force", "--with-data", words=("--out", "--base"))
        # Another metric than the file says.
        other = ("search", *self.inputs("-k", 3, "-m", "l1", "--out", self.data))
        self.refused(*other, words=("neighbors",))
        for name in ("m.hdf5", "n.hdf5"):
            kith("search", *self.inputs("-k", 3, "--out", self.at(name), "--quiet"))
        size = self.at("n.hdf5").stat().st_size
        for _ in range(5):
            kith("search", *self.inputs("-k", 3, "--out", self.at("n.hdf5"), "--force", "--quiet"))
        self.assertLess(self.at("n.hdf5").stat().st_size, size + 4096)

    def test_output_that_is_an_input(self):
        base = self.at("base.npy")
        (self.folder / "sub").mkdir(exist_ok=True)
        for number, other in enumerate((base, f"{self.folder}/./base.npy", f"{self.folder}/sub/../base.npy")):
            self.refused("graph", "-b", base, "-k", 1, "--ids", other, words=("--ids", "--base"))
        os.symlink(base, self.at("link.npy"))
        os.link(base, self.at("hard.npy"))
        for other in ("link.npy", "hard.npy"):
            self.refused("search", *self.inputs("-k", 1, "--distances", self.at(other)), words=("--distances", "--base"))
            self.refused("convert", base, self.at(other))
            self.at(other).unlink()
        self.refused("convert", f"{self.data}/train", f"{self.data}//train", "--force", words=("train",))
        self.refused("graph", "-b", f"{base}:0:5", "-k", 1, "--ids", base)
        self.refused("graph", "-b", f"{self.data}/train", "-k", 1, "--ids", f"{self.data}/train", "--force")
        write_npy(self.at("identity.npy"), [[float(i == j) for j in range(7)] for i in range(7)], "f8")
        self.refused("graph", "-b", base, "-k", 1, "-m", "mahalanobis", "--inverse-covariance", self.at("identity.npy"),
                     "--ids", self.at("identity.npy"), words=("--inverse-covariance",))
        relative = subprocess.run([cli_support.KITH, "graph", "-b", base, "-k", "1", "--ids", "base.npy"],
                                  cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(relative.returncode, 2)
        self.assertEqual(read_npy(base), self.points)

    def test_two_outputs_that_are_one(self):
        new, there = self.at("new.npy"), self.at("there.npy")
        there.write_bytes(b"old")
        os.symlink(there, self.at("to-there.npy"))
        os.symlink(new, self.at("to-new.npy"))
        (self.folder / "sub").mkdir(exist_ok=True)
        for one, other in ((new, f"{self.folder}/./new.npy"), (new, f"{self.folder}/sub/../new.npy"), (there, there),
                           (there, self.at("to-there.npy")), (new, self.at("to-new.npy"))):
            self.refused("search", *self.inputs("-k", 1, "--ids", one, "--distances", other), words=("--ids", "--distances"))
        write_npy(self.at("values.npy"), [[3.0, 1.0]])
        self.refused("select", "-d", self.at("values.npy"), "-k", 1, "--ids", there, "--values", f"{there}")
        self.refused("select", "-d", self.at("values.npy"), "-k", 1, "--ids", self.at("x.h5/a"), "--values", self.at("x.h5//a"))
        self.refused("search", *self.inputs("-k", 1, "--out", self.at("x.h5"), "--ids", self.at("x.h5")), words=("--out",))
        self.at("to-new.npy").unlink()

    def test_not_hdf5(self):
        self.at("text.hdf5").write_text("a diary")
        self.refused("convert", self.at("base.npy"), self.at("text.hdf5"), "--force", words=("text.hdf5", "HDF5"))
        self.refused("convert", self.at("base.npy"), self.at("x.hdf5.gz"), words=("x.hdf5.gz", ".gz"))
        self.refused("search", *self.inputs("-k", 1, "--ids", self.at("x.hdf5.gz/neighbors")), words=(".gz",))
        self.at("empty.hdf5").write_bytes(b"")  # as mktemp leaves it
        kith("convert", self.at("base.npy"), self.at("empty.hdf5"), "--quiet")

    def test_changed_meanwhile(self):
        process = self.slow(1000, "--ids", self.data, "--quiet")
        self.wait_for(process, lambda: any(path.stat().st_size for path in self.folder.glob("data.hdf5.part-*")))
        process.send_signal(signal.SIGSTOP)
        kith("convert", self.at("queries.npy"), f"{self.data}/test", "--quiet")
        process.send_signal(signal.SIGCONT)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 2)
        self.assertEqual(self.rows("test"), self.queries)
        kept = errors.split()[-1]
        os.rename(kept, self.at("kept.hdf5"))
        self.assertEqual(len(self.rows("neighbors", self.at("kept.hdf5"))), 1000)


class Early(Cli):
    """An output that cannot be written is found before the search: this one would take minutes."""

    def setUp(self):
        many = random_rows(3000, 32, 5)
        write_npy(self.at("many.npy"), many)
        self.search = ("search", "-b", self.at("many.npy"), "-q", self.at("many.npy"), "-k", 3, "--device", "cpu", "-t", 1,
                       "--formula", SLOW)

    def refused(self, *more, **how):
        done = subprocess.run([cli_support.KITH, *map(str, (*self.search, *more))], capture_output=True, text=True,
                              timeout=20, **how)
        self.assertEqual(done.returncode, 2)
        self.assert_error(done)
        self.assertEqual([path for path in self.folder.rglob("*") if "part-" in path.name], [])

    def test_places(self):
        for name in ("d.npy", "d.hdf5", "d.truth"):
            self.at(name).mkdir()
        os.mkfifo(self.at("f.npy"))
        os.mkfifo(self.at("f.hdf5"))
        long = "x" * 300
        (self.folder / "file").write_text("")
        for option, name in (("--ids", "d.npy"), ("--out", "d.hdf5"), ("--out", "d.truth"), ("--ids", "f.npy"),
                             ("--out", "f.hdf5"), ("--ids", long + ".npy"), ("--out", long + ".hdf5"),
                             ("--out", long + ".gt"), ("--distances", "none/x.fvecs"), ("--out", "none/x.truth"),
                             ("--ids", "file/x.npy"), ("--out", "file/x.truth")):
            self.refused(option, self.at(name))
        self.refused("--ids", "/proc/x.npy")

    def test_names_as_long_as_they_may_be(self):
        name = self.at("y" * 251 + ".npy")
        kith("search", *self.inputs("-k", 1, "--ids", name, "--quiet"))
        self.assertEqual(len(read_npy(name)), 20)

    def test_permissions(self):
        how = {"user": 65534} if os.geteuid() == 0 else {}  # root may write anywhere
        try:
            kith_runs = subprocess.run([cli_support.KITH, "--version"], capture_output=True, **how).returncode == 0
        except OSError:
            kith_runs = False
        if not kith_runs:
            self.skipTest("nobody else may run the tool here")
        folder = self.at("closed")
        folder.mkdir()
        (folder / "old.npy").write_bytes(b"old")
        folder.chmod(0o555)
        self.at("protected.npy").write_bytes(b"old")
        self.at("protected.npy").chmod(0o444)
        self.folder.chmod(0o777)
        self.refused("--ids", folder / "new.npy", **how)
        self.refused("--ids", folder / "old.npy", **how)
        self.refused("--out", folder / "new.truth", **how)
        self.refused("--ids", self.at("protected.npy"), **how)
        folder.chmod(0o755)


class Ends(Slow):
    """However the work ends, no temporary file stays, and what is replaced keeps its mode."""

    def assert_clean(self):
        self.assertEqual([path.name for path in self.folder.iterdir() if "part-" in path.name], [])

    def slow_with_two_outputs(self):
        """Returned when both temporary files are there."""
        process = self.slow(6000, "--ids", self.at("i.npy"), "--out", self.at("o.hdf5"))
        self.wait_for(process, lambda: len([path for path in self.folder.iterdir() if "part-" in path.name]) >= 2)
        return process

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.slow_with_two_outputs()
            process.send_signal(number)
            _, errors = process.communicate(timeout=30)
            self.assertEqual(process.returncode, 128 + number)
            self.assertEqual(errors, "kith: cancelled\n")
            self.assert_clean()

    def test_second_signal(self):
        """Two signals before the work looks at the first: the handler removes the temporary files and ends it."""
        process = self.slow_with_two_outputs()
        for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):
            process.send_signal(number)
        _, errors = process.communicate(timeout=30)
        self.assertIn(process.returncode, (130, 143))
        self.assertEqual(errors, "")
        self.assert_clean()

    def test_size_limit(self):
        write_npy(self.at("wide.npy"), random_rows(300, 200, 6))
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000))  # noqa: E731
        for name in ("big.fvecs", "big.npy", "big.hdf5", "big.fvecs.gz"):
            done = run("convert", self.at("wide.npy"), self.at(name), preexec_fn=limit)
            self.assertEqual(done.returncode, 2, (name, done))
            self.assert_error(done, name, "File too large")
            self.assertFalse(self.at(name).exists())
            self.assert_clean()
        graph = ("graph", "-b", self.at("wide.npy"), "-k", 100, "--out")
        for name in ("big.truth", "big.hdf5"):
            done = run(*graph, self.at(name), preexec_fn=limit)
            self.assertEqual(done.returncode, 2, (name, done))
            self.assert_error(done, name, "File too large")
            self.assert_clean()

    def test_size_limit_in_every_phase(self):
        file = self.at("some.hdf5")
        kith("convert", self.at("queries.npy"), file, "--quiet")
        before = file.read_bytes()
        most = len(before) + 4 * 7 * 300
        # ThreadSanitizer writes a file of its own, and ends where it cannot write any of it.
        least = 1 if "thread" in os.environ.get("KITH_SANITIZE", "") else 0
        for size in (*range(least, most, most // 25), most):
            done = run("convert", self.at("base.npy"), f"{file}/more",
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
            self.assertEqual(done.returncode, 2, (size, done))
            self.assert_error(done, "some.hdf5", "File too large")
            self.assertEqual(file.read_bytes(), before)
            self.assert_clean()

    def test_mode(self):
        for name, mode in (("a.npy", 0o600), ("b.hdf5", 0o640), ("c.fvecs.gz", 0o4711)):
            kith("convert", self.at("base.npy"), self.at(name), "--quiet")
            self.at(name).chmod(mode)
            if os.geteuid() == 0:
                os.chown(self.at(name), 65534, 65534)
                self.at(name).chmod(mode)
            kith("convert", self.at("base.npy"), self.at(name), "--force", "--quiet")
            found = self.at(name).stat()
            self.assertEqual(found.st_mode & 0o7777, mode)
            if os.geteuid() == 0:
                self.assertEqual((found.st_uid, found.st_gid), (65534, 65534))
        before = os.umask(0o027)
        try:
            kith("convert", self.at("base.npy"), self.at("new.npy"), "--quiet")
        finally:
            os.umask(before)
        self.assertEqual(self.at("new.npy").stat().st_mode & 0o777, 0o640)

    @unittest.skipUnless(shutil.which("strace"), "no strace")
    def test_on_the_disk_before_the_rename(self):
        for name in ("s.npy", "s.hdf5"):
            trace = subprocess.run(["strace", "-f", "-e", "trace=fsync,rename,renameat,renameat2", cli_support.KITH, "convert",
                                    self.at("base.npy"), self.at(name), "--quiet"], capture_output=True, text=True)
            calls = re.findall(r"^(?:\[pid +\d+\] )?(fsync|rename)", trace.stderr, re.M)
            self.assertEqual(calls, ["fsync", "rename", "fsync"], trace.stderr)


if __name__ == "__main__":
    main(__doc__)
