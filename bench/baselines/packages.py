"""kith's Python package next to the packages that pip installs: speed, recall, memory and install size in one run and one table.

usage: python3 bench/baselines/packages.py [--device cuda] [--case NAME] [--json FILE] ... (--help)

`make packages` installs them and runs this. Each library has a process of its own, so that none changes another's threads,
memory or BLAS; they start together, and then only one of them works at a time, in interleaved rounds.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import record

DISTRIBUTIONS = {"kith": ("kith-knn",), "faiss": ("faiss-cpu", "faiss-gpu", "faiss-gpu-cu12"), "cuvs": ("cuvs-cu12", "cuvs-cu13"),
                 "cupy": ("cupy-cuda12x", "cupy-cuda13x"), "certex": ("certex",), "flashlib": ("flashlib",)}  # where the name is another than the library's
CASES = {"cpu": ("100k-128", "100k-3"), "cuda": ("1m-16", "1m-128")}


def parse():
    p = argparse.ArgumentParser(prog="bench/baselines/packages.py", description=__doc__.splitlines()[0])
    p.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="whose packages (default cpu)")
    p.add_argument("--case", action="append", metavar="NAME", help="these cases of bench/baselines --list "
                   "(repeatable; default 100k-128 and 100k-3, on cuda 1m-16 and 1m-128)")
    p.add_argument("-k", action="append", type=int, metavar="K", help="this k instead of 10 (repeatable)")
    p.add_argument("--baselines", type=lambda s: s.split(","), metavar="A,B", help="only these libraries beside kith")
    p.add_argument("--rounds", type=int, default=3, help="at least this many (default 3; short cases get more)")
    p.add_argument("--threads", type=int, default=2, help="CPU threads of everyone (default 2)")
    p.add_argument("--kernels", choices=("tuned", "shipped"), default="shipped", help="as of bench/baselines (default shipped)")
    p.add_argument("--quick", action="store_true", help="a tenth of the queries")
    p.add_argument("--n", type=int, metavar="N", help="at most this many points: a trial run")
    p.add_argument("--sample", type=int, default=32, metavar="Q", help="queries that the binary64 oracle answers (default 32)")
    p.add_argument("--data", default="/usr/share/datasets/fashion-mnist", metavar="DIR", help="Fashion-MNIST")
    p.add_argument("--json", metavar="FILE", help="write everything there as JSON")
    settings = p.parse_args()
    settings.case = settings.case or list(CASES[settings.device])
    settings.k = settings.k or [10]
    settings.metric, settings.readme, settings.path = ["sqeuclidean"], False, ""
    return settings


class Process:
    """A library at work in worker.py: commands and answers are lines of JSON."""

    def __init__(self, library, case, settings, folder):
        self.library, self.folder = library, folder
        asked = vars(settings) | {"library": library, "case": [case.name], "metric": [case.metric], "k": [case.k]}
        here = pathlib.Path(__file__).parent
        self.process = subprocess.Popen([sys.executable, here / "worker.py", json.dumps(asked)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def begin(self):
        """Once all have started: the library may prepare."""
        return self.ask(begin=True)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"its process ended with code {self.process.wait()}")
        said = json.loads(line)
        if "error" in said:
            raise {"ImportError": ImportError}.get(said["kind"], RuntimeError)(said["error"])
        return said

    def ask(self, **command):
        print(json.dumps(command), file=self.process.stdin, flush=True)
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def ways_of(process):
    """The ways that the library has, as baselines; their ids come through files."""
    import numpy as np
    from baseline import Baseline
    installed = record.installed(DISTRIBUTIONS.get(process.library, (process.library,)))

    class Way(Baseline):
        def timed(self, _):
            first = self.run is not None
            into = pathlib.Path(process.folder) / f"{process.library}.npy" if first else None
            said = process.ask(way=self.name, ids=str(into) if into else None)
            self.report = said["report"]
            self.facts = {"memory_bytes": said["memory_bytes"], **installed}
            ids = np.load(into) if into else None
            self.run = None
            return ids, said["seconds"], said["cpu_s"]

    return [Way(name, process.library, mode, run=True) for name, mode in process.begin()["ways"]]


def main():
    settings = parse()
    import machine
    machine.set_environment(settings)
    import baselines_cpu
    import baselines_gpu
    import cases
    import rounds
    import table

    others = (baselines_gpu if settings.device == "cuda" else baselines_cpu).ALL
    about = machine.describe(settings)
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    print(table.HEADER, flush=True)
    cells, absent = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for case in cases.cases(settings):
            chosen = ["kith", *(name for name in others if settings.baselines is None or name in settings.baselines)]
            processes = {name: Process(name, case, settings, folder) for name in chosen}

            def of(library, processes=processes):
                return lambda case, settings: ways_of(processes[library])

            try:
                for process in processes.values():
                    process.answer()  # it is ready
                cell = rounds.run(case, of("kith"), {name: of(name) for name in chosen[1:]}, settings)
            finally:
                for process in processes.values():
                    process.close()
            cells.append(cell)
            absent |= cell["absent"]
            print(*table.lines(cell), sep="\n", flush=True)
            record.write(settings, sys.argv, about, cells, {})
    print()
    print(*table.packages(cells), sep="\n")
    if absent:
        print("\nnot run: " + "; ".join(f"{name} ({why})" for name, why in absent.items()))
    return 1 if any(c["verified"]["wrong"] or not c["verified"]["index_equal"] for c in cells) else 0


if __name__ == "__main__":
    sys.exit(main())
