"""The fuzzer of whole command lines: options x files x limits x signals.

    command_lines.py KITH [--seed S] [--trials N | --seconds T] [--keep]

Trial i has the seed S + i; only when a signal arrives depends on more. What must hold of every run:
  - it ends within a minute, with a documented exit code, never by a signal that nobody sent;
  - a failure is one line on standard error that begins with "kith:", if that can be written to;
  - inputs keep their bytes, no other files appear than the outputs that were named;
  - an output is complete and right, or what it was before: with exit code 0 it is there and right.
What fails is printed with its command, limits and seed; --keep leaves its folder.
"""
import argparse
import os
import random
import shlex
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import command_oracle as oracle
from command_run import SIGNALS, Conditions, Finding, start

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from metric_list import metrics  # noqa: E402

METRICS = {name: metric for metric in metrics() for name in (metric.name, *metric.aliases)}
PLAIN = ["sqeuclidean", "euclidean", "l2", "cityblock", "chebyshev"]


class Trial:
    def __init__(self, kith, seed, folder):
        self.kith, self.folder, self.random = kith, folder, random.Random(seed)
        self.inputs, self.before = {}, {}
        self.outputs = {}  # name: what it must hold, see oracle.Expected
        # Something is meant to go wrong; and what is asked for is no longer what was expected.
        self.arguments, self.hostile, self.spoiled = [], False, False
        self.clash = False  # one file for two things
        self.others = []    # HDF5 files with other data in them

    # ------------------------------------------------------------ files

    def matrix(self, name, rows, cols, low, high, types=("f4", "f8", "u1", "f4", "i1")):
        """A matrix of small whole numbers in a random format; returns the name to pass."""
        code = self.random.choice(types)
        low = max(low, 0) if code == "u1" else low
        values = [[self.random.randrange(low, high) for _ in range(cols)] for _ in range(rows)]
        path = oracle.write(self.folder, name, values, code, self.random)
        if self.random.random() < 0.15:
            oracle.calm(self.kith, self.folder, "convert", path, f"{name}.hdf5", "--quiet")
            (self.folder / path).unlink()
            path = f"{name}.hdf5/train"
        self.inputs[path] = oracle.Matrix(values, code)
        return path

    def bad_file(self, name):
        self.hostile = True
        path = self.folder / (name + self.random.choice([".npy", ".fvecs", ".fbin", ".hdf5", ".u8bin", ".npy.gz", ".idx"]))
        kind = self.random.randrange(6)
        if kind == 0:
            path.mkdir()
        elif kind == 1:
            path.write_bytes(b"")
        elif kind == 2:
            path.write_bytes(self.random.randbytes(self.random.randrange(1, 300)))
        elif kind == 3 and self.inputs:
            whole = self.folder / next(iter(self.inputs)).split("/")[0]
            data = whole.read_bytes()
            path = path.with_suffix("").with_suffix(whole.suffix)
            path.write_bytes(data[: self.random.randrange(len(data))])
        elif kind == 4:
            path.write_bytes(b"\xff" * 64)
        return path.name

    def output(self, name, suffixes, expected):
        """A name to write to, sometimes one where something is already, or that cannot be written."""
        suffix = self.random.choice(suffixes)
        path, kind = name + suffix, self.random.randrange(24)
        there = self.folder / path.split("/")[0]
        if kind == 0:
            path, self.hostile = "absent/" + path, True
        elif kind == 1:
            there.mkdir()
            self.hostile = True
            return path
        elif kind == 2:
            path, self.hostile = "x" * 260 + suffix, True
        elif kind == 3:
            taken = [*self.inputs, *self.outputs]
            if taken:
                self.hostile = self.clash = True
                return self.random.choice(["", "./", f"../{self.folder.name}/"]) + self.random.choice(taken)
        elif kind == 4:
            os.mkfifo(there)
            self.hostile = True
            return path
        elif kind == 5 and ".h" in suffix:
            # Data that are none of its business.
            oracle.write_npy(self.folder / "other.npy", [[1, 2], [3, 4]], "u1")
            oracle.calm(self.kith, self.folder, "convert", "other.npy", f"{there.name}/other", "--quiet")
            (self.folder / "other.npy").unlink()
            self.others.append(there.name)
        elif kind < 8:
            there.write_bytes(b"what was there before")
        self.outputs[path] = expected
        return path

    # ------------------------------------------------------------ command lines

    def options_of_speed(self):
        r, out = self.random, []
        if r.random() < 0.4:
            out += ["-t", r.choice(["0", "1", "2", "3", "64", "1000"])]
        if r.random() < 0.3:
            out += ["--memory", r.choice(["1", "40000", "1MB", "24.01MiB", "64MiB", "1G"])]
        if r.random() < 0.2:
            out += ["--path", r.choice(["exact", "gemm-f32", "gemm-bf16", "gemm-i8", "direct-f32", "tree", "projected"])]
        if r.random() < 0.2:
            out += ["--isa", r.choice(["amx", "avx512", "avx2", "baseline"])]
        if r.random() < 0.2:
            out += ["--device", r.choice(["cpu", "auto"])]
        for option in ("--quiet", "--json"):
            if r.random() < 0.2:
                out.append(option)
        return out

    def options_of_metric(self, metric, d):
        r = self.random
        if metric == "formula":
            return ["--formula", r.choice(["a + abs(q - x)", "a+(q-x)*(q-x)"])]
        out = ["-m", metric] if metric != "sqeuclidean" or r.random() < 0.5 else []
        name = METRICS[metric].name
        if name == "minkowski":
            out += ["--p", r.choice(["1", "2", "3", "1.5", "inf"])]
        if name == "seuclidean":
            path = oracle.write(self.folder, "variances", [[1.0 + i for i in range(d)]], "f8", None)
            self.inputs[path] = oracle.Matrix([[1.0 + i for i in range(d)]], "f8")
            out += ["--variances", path]
        if name == "mahalanobis":
            identity = [[float(i == j) for j in range(d)] for i in range(d)]
            path = oracle.write(self.folder, "inverse", identity, "f8", None)
            self.inputs[path] = oracle.Matrix(identity, "f8")
            out += ["--inverse-covariance", path]
        return out

    def search(self, graph=False):
        r = self.random
        d, n = r.randrange(1, 12), r.choice([1, 5, 60, r.randrange(1, 300)])
        k = r.choice([1, 2, min(n, 10), n, n + 3])
        metric = "formula" if r.random() < 0.1 else r.choice(PLAIN) if r.random() < 0.5 else r.choice(list(METRICS))
        asked = METRICS.get(metric)
        d = asked.dimensions if asked and asked.dimensions else d
        metric_options = self.options_of_metric(metric, d)
        low = 0 if asked and asked.non_negative else -5
        base = self.matrix("base", n, d, low, 6)
        self.arguments = ["graph" if graph else "search", "-b", base]
        queries = base
        if not graph:
            queries = self.matrix("queries", r.randrange(1, 12), d, low, 6)
            self.arguments += ["-q", queries]
        self.arguments += ["-k", str(k), *metric_options, *self.options_of_speed()]
        expected = oracle.Neighbors(self.inputs[base].values, self.inputs[queries].values, k, metric, graph,
                                    ["-b", base] + (["--graph"] if graph else ["-q", queries]) + metric_options)
        f64 = r.random() < 0.2
        if r.random() < 0.5:
            self.arguments += ["--ids", self.output("ids", [".npy", ".ivecs", ".ibin", ".npy.gz", ".hdf5/ids"], ("ids", expected))]
        if r.random() < 0.4:
            self.arguments += ["--distances", self.output("dist", [".npy", ".fvecs", ".fbin", ".hdf5/d"], ("distances", expected))]
        if not {"--ids", "--distances"} & set(self.arguments) and r.random() < 0.2:  # both into one file
            self.arguments += ["--ids", "pair.hdf5/ids", "--distances", "pair.hdf5/distances"]
            self.outputs |= {"pair.hdf5/ids": ("ids", expected), "pair.hdf5/distances": ("distances", expected)}
        if r.random() < 0.3 and not f64:
            self.arguments += ["-o", self.output("out", [".hdf5", ".truth", ".h5", ".gt"], ("both", expected))]
        # Where only ids are written it is refused.
        if f64 and ("--distances" in self.arguments or "--ids" not in self.arguments):
            self.arguments.append("--f64")
        if r.random() < 0.1:
            self.arguments.append("--explain")

    def graph(self):
        self.search(graph=True)

    def select(self):
        r = self.random
        rows, cols = r.randrange(1, 20), r.choice([1, 7, r.randrange(1, 500)])
        k = r.randrange(1, cols + 1)
        source = self.matrix("values", rows, cols, -50, 50, types=("f4", "f8"))
        largest = r.random() < 0.5
        self.arguments = ["select", "-d", source, "-k", str(k), *(["--largest"] if largest else [])]
        self.arguments += [o for o in self.options_of_speed() if o not in ("--path", "exact", "gemm-f32", "gemm-bf16", "direct-f32", "tree", "projected")]
        expected = oracle.Selection(self.inputs[source].values, k, largest)
        if r.random() < 0.2:
            self.arguments += ["--selector", r.choice(["vector", "heap", "nth-element", "insertion"])]
        if r.random() < 0.6:
            self.arguments += ["--ids", self.output("columns", [".npy", ".ivecs", ".ibin"], ("ids", expected))]
        if r.random() < 0.5:
            self.arguments += ["--values", self.output("best", [".npy", ".fbin"], ("distances", expected))]

    def radius(self):
        r = self.random
        d, metric, open_ = r.randrange(1, 9), r.choice(PLAIN), r.random() < 0.5
        base = self.matrix("base", r.choice([1, 60, r.randrange(1, 300)]), d, -5, 6)
        self.arguments = ["radius", "-b", base]
        queries = base
        if r.random() < 0.5:
            queries = self.matrix("queries", r.randrange(1, 12), d, -5, 6)
            self.arguments += ["-q", queries]
        # Whole numbers lie at it; 0 and infinity are radii, too.
        radius = r.choice(["0", "1", "5", "12.5", "40", "inf"])
        self.arguments += ["-r", radius, "-m", metric, *(["--open"] if open_ else []), *self.options_of_speed()]
        expected = oracle.Counts(self.inputs[base].values, self.inputs[queries].values, float(radius), metric, open_, queries == base)
        if r.random() < 0.7:
            self.arguments += ["--counts", self.output("counts", [".npy", ".ivecs", ".hdf5/counts"], ("counts", expected))]

    def match(self):
        r = self.random
        d, mutual = r.randrange(1, 9), r.random() < 0.5
        ratio = r.choice([None, "0.5", "0.8", "1"])
        a = self.matrix("left", r.randrange(1, 40), d, -5, 6)
        b = self.matrix("right", r.randrange(2, 40), d, -5, 6)
        expected = oracle.Matches(self.inputs[a].values, self.inputs[b].values, float(ratio) if ratio else None, mutual)
        self.arguments = ["match", a, b, *(["--ratio", ratio] if ratio else []), *(["--mutual"] if mutual else [])]
        if r.random() < 0.7:
            self.arguments += ["-o", self.output("pairs", [".npy"], ("ids", expected))]
        if r.random() < 0.5:
            self.arguments += ["--distances", self.output("far", [".npy", ".npy.gz"], ("distances", expected))]
        self.hostile = self.hostile or not expected.pairs  # nothing to write
        self.arguments += self.options_of_speed()

    def estimate(self):
        r = self.random
        n, d = r.choice([2, 9, r.randrange(2, 300)]), r.randrange(1, 5)
        x, y = self.matrix("x", n, d, -50, 51), self.matrix("y", n, d, -50, 51)
        self.hostile = True  # too few samples, or all of them equal
        what = r.choice(["entropy", "divergence", "mutual-information", "transfer-entropy"])
        if what == "transfer-entropy":
            self.arguments = ["estimate", what, "--source", x, "--target", y, "--source-lags", r.choice(["1", "2", "8"])]
        else:
            self.arguments = ["estimate", what, "-x", x, *(["-y", y] if what != "entropy" else [])]
        if what == "divergence" and r.random() < 0.5:
            self.arguments += ["--form", r.choice(["nearest", "ball", "ball-distances"])]
        if what == "mutual-information" and r.random() < 0.4:
            self.arguments += ["-z", self.matrix("z", n, 1, -50, 51)]
        if r.random() < 0.5:
            self.arguments += ["--bootstrap", r.choice(["0", "1", "3"]), "--parts", r.choice(["2", "3", "9"]),
                               "--stretch", r.choice(["1", "2", "7", "400"]), "--seed", r.choice(["0", "1", "9223372036854775807"])]
        self.arguments += ["-k", r.choice(["1", "3", str(n)]), *self.options_of_speed()]

    def convert(self):
        r = self.random
        rows, cols = r.randrange(1, 200), r.randrange(1, 9)
        source = self.matrix("in", rows, cols, 0, 100)
        first, count = 0, rows
        name = source
        if r.random() < 0.3:
            first = r.randrange(rows)
            count = r.randrange(1, rows - first + 1)
            name = f"{source}:{first}:{count}"
        expected = oracle.Copy(self.inputs[source].values[first : first + count])
        suffixes = [".npy", ".fvecs", ".fbin", ".bvecs", ".u8bin", ".hdf5", ".npy.gz", ".idx", ".ivecs", ".fbin.gz", ".hdf5/a"]
        self.arguments = ["convert", name, self.output("copy", suffixes, ("copy", expected))]
        if r.random() < 0.2:
            self.arguments += ["--lossy"]

    def verify(self):
        """Of neighbours that a calm search wrote, sometimes with one changed."""
        r = self.random
        self.search(graph=r.random() < 0.3)
        self.outputs, self.hostile, self.clash, self.others = {}, False, False, []
        command = [a for a in self.arguments if a not in ("--explain", "--f64", "--json", "--quiet")]
        for option in ("--ids", "--distances", "-o", "--path", "--memory", "--isa"):
            if option in command:
                del command[command.index(option) : command.index(option) + 2]
        for path in self.folder.iterdir():
            if path.name not in {name.split("/")[0] for name in self.inputs}:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        calm = start(self.kith, command + ["--ids", "found.npy"], self.folder, Conditions(r, True))
        if calm.code != 0:
            raise Finding(f"a calm search failed: {shlex.join(command)}: {calm.err.decode(errors='replace')}")
        ids = oracle.read_npy(self.folder / "found.npy")
        self.inputs["found.npy"] = oracle.Matrix(ids, "i8")
        self.wrong = r.random() < 0.4 and ids[0][0] >= 0
        if self.wrong:
            ids[r.randrange(len(ids))][0] = -1
            oracle.write_npy(self.folder / "found.npy", ids, "i8")
        self.arguments = ["verify", *command[1:], "--ids", "found.npy"]
        if command[0] == "graph":
            self.arguments.append("--graph")
        if r.random() < 0.3:
            self.arguments.append("--json")

    def plain(self):
        r = self.random
        self.arguments = r.choice([
            ["--help"], ["--version"], ["info"], ["info", "--json"], [], ["search", "--help"], ["completion", "bash"],
            ["completion", "zsh"], ["completion"], ["nonsense"], ["plan", "-n", "1000", "-q", "10", "-d", "16", "-k", "5"],
            ["plan", "-n", "9223372036854775807", "--graph", "-d", "3", "-k", "2"], ["plan", "-k", "1"],
            ["plan", "--select", "--rows", "10", "--cols", "10", "-k", "11"]])

    def spoil(self):
        """Replaces, drops or doubles an argument, or adds one that is wrong."""
        r, a = self.random, self.arguments
        self.hostile = self.spoiled = True
        numbers = ["-1", "0", "99999999999999999999", "1e9", "nan", "", "x", "-0", "100000000", "2147483648"]
        kind = r.randrange(7)
        if kind == 0 and len(a) > 1:
            del a[r.randrange(1, len(a))]
        elif kind == 1 and "-k" in a:
            # Columns of nothing are written where they are asked for: not by the gigabyte.
            a[a.index("-k") + 1] = r.choice([n for n in numbers if n not in ("1e9", "100000000", "2147483648")])
        elif kind == 2 and len(a) > 1:
            a.append(r.choice(a[1:]))
        elif kind == 3:
            a += [r.choice(["--memory", "-t", "--p", "--start", "--sample"]), r.choice(numbers)]
        elif kind == 4:
            for option in ("-b", "-q", "-d"):
                if option in a and r.random() < 0.6:
                    a[a.index(option) + 1] = r.choice([self.bad_file(f"bad{option}"), a[a.index(option) + 1] + r.choice(
                        [":0:0", ":5", ":-1:2", ":100000:1", "/x", ":"])])
        elif kind == 5:
            a += ["--formula", r.choice(["", "a +", "(", "a + y", "q" * 5000, "1/0", "a ? q : x", "((((((((a))))))))"])]
        else:
            a += [r.choice(["--format", "--isa", "--path", "--device", "--selector", "-m", "--frobnicate"]),
                  r.choice(["", "npy", "cuda:99", "nothing", "é\x01", "-"])]

    # ------------------------------------------------------------ judgement

    def snapshot(self):
        out = {}
        for path in sorted(self.folder.rglob("*")):
            name = str(path.relative_to(self.folder))
            out[name] = "folder" if path.is_dir() else "fifo" if path.is_fifo() else path.read_bytes()
        return out

    def run(self):
        r = self.random
        self.wrong = False
        r.choice([self.search, self.search, self.search, self.graph, self.select, self.convert, self.convert,
                  self.radius, self.match, self.estimate, self.verify, self.plain])()
        if r.random() < 0.15:
            self.spoil()
        self.conditions = Conditions(r, r.random() < 0.4)
        self.before = self.snapshot()
        result = start(self.kith, self.arguments, self.folder, self.conditions)
        self.judge(result)

    def judge(self, result):
        c = self.conditions
        allowed = {0, 2, 3} | ({1} if self.arguments[:1] == ["verify"] else set())
        if c.signal:
            number = SIGNALS[c.signal]
            allowed |= {128 + number, -number}  # before its handlers are there, a signal kills as it does by default
        if "broken" in (c.stdout, c.stderr):
            allowed |= {-signal.SIGPIPE, 128 + signal.SIGPIPE}
        text = result.err.decode(errors="replace")
        shown = f"exit code {result.code}; standard error: {text.strip()[-600:]!r}"
        if result.code == 127 and "error while loading shared libraries" in text:
            return  # not yet kith
        if result.code not in allowed:
            raise Finding(shown)
        lines = [line for line in text.splitlines() if line.startswith("kith:") and not line.startswith("kith: warning")]
        failed = result.code not in (0, 1) and result.code > 0
        if c.stderr == "pipe" and result.code >= 0 and len(lines) != (1 if failed else 0):
            raise Finding(f"{len(lines)} lines that begin with 'kith:'; {shown}")
        if failed and c.stderr == "pipe" and not text.rstrip("\n").splitlines()[-1].startswith("kith:"):
            raise Finding(f"the error is not the last line; {shown}")
        if c.stdout == "full" and result.code == 0 and self.prints():
            raise Finding("exit code 0, and its output is lost")
        self.judge_files(result, shown)
        if self.arguments[:1] == ["verify"] and not self.hostile and result.code in (0, 1) and \
                (result.code == 1) != self.wrong:
            raise Finding(f"verify of {'changed' if self.wrong else 'right'} neighbours: {shown}")

    def prints(self):
        a = self.arguments
        return a in (["--help"], ["--version"]) or a[:1] in (["info"], ["plan"], ["verify"], ["estimate"]) or "--json" in a

    def judge_files(self, result, shown):
        after = self.snapshot()
        for name, content in self.before.items():
            if name not in after:
                raise Finding(f"{name} is gone; {shown}")
            if name not in {given.split("/")[0] for given in self.outputs} and after[name] != content:
                raise Finding(f"{name} was changed; {shown}")
        files = {name: name.split("/")[0] if ".hdf5/" in name else name for name in self.outputs}
        for name in after.keys() - self.before.keys():
            if name not in files.values():
                raise Finding(f"left {name}; {shown}")
        if self.clash and result.code == 0 and not self.spoiled:
            raise Finding(f"one file for two things; {shown}")
        for name in self.others:
            if oracle.read(self.kith, self.folder, f"{name}/other") != [[1, 2], [3, 4]]:
                raise Finding(f"{name}/other is gone; {shown}")
        for name, file in files.items():
            kind, expected = self.outputs[name]
            if after.get(file) is None or after[file] == self.before.get(file):
                if result.code == 0:
                    raise Finding(f"exit code 0, and {name} is not written")
            elif not self.spoiled and (why := expected.check(self.kith, self.folder, name, kind)):
                if result.code and "no data set" in why:  # not written, beside one that was
                    continue
                raise Finding(f"{name}: {why}; {shown}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kith", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--all", action="store_true", help="go on after a finding")
    a = parser.parse_args()
    began, done, found = time.monotonic(), 0, 0
    while done < a.trials if a.trials is not None else time.monotonic() - began < a.seconds:
        seed = a.seed + done
        done += 1
        folder = Path(tempfile.mkdtemp(prefix="kith-lines-"))
        trial = Trial(str(a.kith.resolve()), seed, folder)
        try:
            trial.run()
        except (Finding, ValueError) as finding:
            found += 1
            conditions = getattr(trial, "conditions", "before the run")
            print(f"FOUND (seed {seed}): {finding}\n  kith {shlex.join(trial.arguments)}\n  {conditions}\n"
                  f"  repeat: python3 {sys.argv[0]} {a.kith} --seed {seed} --trials 1 --keep"
                  + (f"\n  folder: {folder}" if a.keep else ""), flush=True)
            if not a.all:
                return 1
        finally:
            if not a.keep:
                shutil.rmtree(folder)
    print(f"command_lines: {done} runs in {time.monotonic() - began:.1f} s, {found} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
