"""What the fuzzer of command lines knows of files: writing small ones, and what results must hold. Values are small whole
numbers, so that sums are exact in any order."""
import gzip
import math
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from cli_support import f32, read_npy, read_vecs, write_npy, write_vecs  # noqa: E402, F401

LETTERS = {"f4": "f", "f8": "d", "i4": "i", "i8": "q", "u1": "B", "i1": "b"}
FORMATS = {"f4": ["npy", "npy", "fvecs", "fbin"], "f8": ["npy"], "u1": ["npy", "u8bin", "bvecs", "idx"], "i1": ["i8bin"]}


class Matrix:
    def __init__(self, values, code):
        self.values, self.code = values, code


def write(folder, name, values, code, random):
    """Writes a matrix in a random format of its element type; returns the file's name."""
    form = random.choice(FORMATS[code]) if random else "npy"
    path = folder / f"{name}.{form}"
    rows, cols, letter = len(values), len(values[0]), LETTERS[code]
    if form == "npy":
        write_npy(path, values, code)
    elif form.endswith("vecs"):
        write_vecs(path, values, letter)
    else:
        head = struct.pack("<ii", rows, cols) if form != "idx" else struct.pack(">BBBBII", 0, 0, 8, 2, rows, cols)
        path.write_bytes(head + b"".join(struct.pack(f"<{cols}{letter}", *row) for row in values))
    if random and random.random() < 0.15:
        packed = folder / f"{path.name}.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
        path = packed
    return path.name


def calm(kith, folder, *arguments):
    """A run without any trouble."""
    environment = {"PATH": os.environ.get("PATH", ""), "OMP_WAIT_POLICY": "passive"}
    return subprocess.run([kith, *map(str, arguments)], cwd=folder, env=environment, capture_output=True, text=True,
                          timeout=120)


def read(kith, folder, name):
    """A file's rows, by the reader of the command line itself unless it is a plain npy."""
    with tempfile.TemporaryDirectory() as other:
        copy = Path(other) / "copy.npy"
        done = calm(kith, folder, "convert", name, copy, "--type", "f64", "--quiet")
        if done.returncode != 0:
            raise ValueError(done.stderr.strip())
        return read_npy(copy)


def in_units(value):
    """A number as its f32, for comparison."""
    return f32(value) if math.isfinite(value) else value


class Expected:
    def check(self, kith, folder, name, kind):
        """"" where the file `name` holds it, as "ids", "distances", "both" of neighbours, or a "copy"."""
        try:
            if kind == "both":
                first = "neighbors" if Path(name).suffix in (".hdf5", ".h5") else "ids"
                return self.differs("ids", read(kith, folder, f"{name}/{first}")) or self.differs(
                    "distances", read(kith, folder, f"{name}/distances")) or self.judge(kith, folder, name, kind)
            if name.endswith(".hdf5"):
                name += "/train"
            return self.differs(kind, read(kith, folder, name)) or self.judge(kith, folder, name, kind)
        except ValueError as error:
            return f"is not complete: {error}"

    def judge(self, kith, folder, name, kind):
        return ""

    def compare(self, rows, want):
        if [len(r) for r in rows] != [len(r) for r in want]:
            return f"holds {len(rows)} x {len(rows[0])}, not {len(want)} x {len(want[0])}"
        for i, (row, right) in enumerate(zip(rows, want)):
            if [in_units(v) for v in row] != [in_units(v) for v in right]:
                return f"row {i} is {row}, not {right}"
        return ""


SIMPLE = {
    "sqeuclidean": (lambda q, x: sum((a - b) ** 2 for a, b in zip(q, x)), lambda rank, d: rank),
    "euclidean": (lambda q, x: sum((a - b) ** 2 for a, b in zip(q, x)), lambda rank, d: math.sqrt(rank)),
    "cityblock": (lambda q, x: sum(abs(a - b) for a, b in zip(q, x)), lambda rank, d: rank),
    "chebyshev": (lambda q, x: max(abs(a - b) for a, b in zip(q, x)), lambda rank, d: rank),
    "inner_product": (lambda q, x: -sum(a * b for a, b in zip(q, x)), lambda rank, d: -rank),
    "hamming": (lambda q, x: sum(a != b for a, b in zip(q, x)), lambda rank, d: rank / d),
}
ALIASES = {"l2sq": "sqeuclidean", "l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock", "linf": "chebyshev",
           "ip": "inner_product", "dot": "inner_product"}
SIMPLE |= {alias: SIMPLE[name] for alias, name in ALIASES.items()}


class Neighbors(Expected):
    def __init__(self, base, queries, k, metric, graph, options):
        self.base, self.queries, self.k, self.metric, self.graph, self.options = base, queries, k, metric, graph, options

    def differs(self, kind, rows):
        if self.metric not in SIMPLE:
            return self.compare([[0] * len(row) for row in rows], [[0] * self.k] * len(self.queries))
        rank, report = SIMPLE[self.metric]
        missing = -math.inf if ALIASES.get(self.metric, self.metric) == "inner_product" else math.inf
        want = []
        for i, query in enumerate(self.queries):
            found = sorted((rank(query, x), id_) for id_, x in enumerate(self.base) if not (self.graph and id_ == i))
            found = found[: self.k]
            if kind == "ids":
                row = [id_ for _, id_ in found]
            else:
                row = [float(report(r, len(query))) for r, _ in found]
            want.append(row + [-1 if kind == "ids" else missing] * (self.k - len(row)))
        return self.compare(rows, want)

    def judge(self, kith, folder, name, kind):
        """Other metrics, by the exact path of `verify`."""
        if self.metric in SIMPLE or kind == "distances":
            return ""
        done = calm(kith, folder, "verify", *self.options, "--ids", name, "--path", "exact", "--quiet")
        return "" if done.returncode == 0 else f"verify: {done.stdout.strip()[:300]} {done.stderr.strip()[:300]}"


class Selection(Expected):
    def __init__(self, values, k, largest):
        self.values, self.k, self.largest = values, k, largest

    def differs(self, kind, rows):
        want = []
        for row in self.values:
            order = sorted((-v if self.largest else v, i) for i, v in enumerate(row))[: self.k]
            want.append([float(i if kind == "ids" else row[i]) for _, i in order])
        return self.compare(rows, want)


class Copy(Expected):
    def __init__(self, values):
        self.values = values

    def differs(self, kind, rows):
        return self.compare(rows, self.values)


class Counts(Expected):
    """How many points lie within a radius: a column."""

    def __init__(self, base, queries, radius, metric, open_, graph):
        self.base, self.queries, self.radius, self.metric, self.open, self.graph = base, queries, radius, metric, open_, graph

    def differs(self, kind, rows):
        rank, report = SIMPLE[self.metric]
        want = []
        for i, query in enumerate(self.queries):
            distances = [report(rank(query, x), len(query)) for id_, x in enumerate(self.base) if not (self.graph and id_ == i)]
            want.append(sum(d < self.radius if self.open else d <= self.radius for d in distances))
        return self.compare([[v for row in rows for v in row]], [want])


class Matches(Expected):
    """Pairs of rows, or their distances, by the definition of a match in the Euclidean distance."""

    def __init__(self, a, b, ratio, mutual):
        far = [[math.sqrt(sum((u - v) ** 2 for u, v in zip(x, y))) for y in b] for x in a]
        self.pairs, self.distances = [], []
        for i, row in enumerate(far):
            order = sorted((d, j) for j, d in enumerate(row))
            d, j = order[0]
            kept = ratio is None or d < ratio * order[1][0]
            if kept and (not mutual or min((far[o][j], o) for o in range(len(a)))[1] == i):
                self.pairs.append([i, j])
                self.distances.append(d)

    def differs(self, kind, rows):
        return self.compare(rows, self.pairs) if kind == "ids" else self.compare([[v for row in rows for v in row]], [self.distances])
