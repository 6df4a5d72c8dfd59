"""kith next to whoever else is installed: the same arrays, interleaved rounds, medians, recall next to speed.

usage: python3 bench/baselines [--device cuda] [--quick] [--json FILE] ... (--help)
"""
import argparse
import functools
import pathlib
import sys


def parse():
    p = argparse.ArgumentParser(prog="bench/baselines", description=__doc__.splitlines()[0])
    p.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="which suite (default cpu)")
    p.add_argument("--quick", action="store_true", help="a tenth of the queries")
    p.add_argument("--case", action="append", metavar="NAME", help="only this case (repeatable; --list names them)")
    p.add_argument("--metric", action="append", metavar="NAME", help="only this metric (repeatable)")
    p.add_argument("-k", action="append", type=int, metavar="K", help="this k instead of 10 and 100 (repeatable)")
    p.add_argument("--baselines", type=lambda s: s.split(","), metavar="A,B", help="only these libraries beside kith")
    p.add_argument("--rounds", type=int, default=3, help="at least this many (default 3; short cases get more)")
    p.add_argument("--threads", type=int, default=2, help="CPU threads of everyone (default 2)")
    p.add_argument("--kernels", choices=("tuned", "shipped"), default="tuned",
                   help="tuned (default): OpenBLAS is told to use its AVX-512 kernels where the processor has AVX-512, "
                   "and faiss gets larger blocks; shipped: as they come")
    p.add_argument("--path", default="", help="force kith's path by name")
    p.add_argument("--readme", action="store_true",
                   help="on cuda k 10, 100 and 1000; and a table at the end, in Markdown")
    p.add_argument("--n", type=int, metavar="N", help="at most this many points: a trial run")
    p.add_argument("--sample", type=int, default=None, metavar="Q",
                   help="queries that the binary64 oracle answers (default 32, on cuda 64)")
    p.add_argument("--library", metavar="FILE", help="libkith.so (default: the newest below build/)")
    p.add_argument("--data", default="/usr/share/datasets/fashion-mnist", metavar="DIR",
                   help="Fashion-MNIST (default: where the Debian package dataset-fashion-mnist puts it)")
    p.add_argument("--json", metavar="FILE", help="write everything there as JSON")
    p.add_argument("--list", action="store_true", help="list the cases and leave")
    settings = p.parse_args()
    settings.sample = settings.sample or (64 if settings.device == "cuda" else 32)
    return settings


def main():
    settings = parse()
    import machine
    machine.set_environment(settings)
    import baseline
    import cases
    import library
    import baselines_cpu
    import baselines_gpu
    import record
    import rounds
    import table

    if settings.list:
        for data in cases.CUDA if settings.device == "cuda" else cases.CPU:
            print(f"{data.name:<18} {', '.join(data.metrics)}; k {', '.join(map(str, cases.neighbours(settings)))}")
        return 0
    root = pathlib.Path(__file__).resolve().parents[2]
    kith = library.Library(library.find(root, settings.library))
    about = machine.describe(settings)
    print(f"kith {kith.version()} from {kith.path}")
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    print(", ".join(f"{key} {value}" for key, value in machine.versions().items()))
    print(table.HEADER, flush=True)
    baselines = baselines_gpu.ALL if settings.device == "cuda" else baselines_cpu.ALL
    own = functools.partial(baseline.kith, kith)
    cells, absent = [], {}

    for case in cases.cases(settings):
        cell = rounds.run(case, own, baselines, settings)
        cells.append(cell)
        for name, why in cell["absent"].items():
            if name not in absent:
                print(f"skipped: {name}: {why}")
        absent |= cell["absent"]
        print(*table.lines(cell), sep="\n", flush=True)
        record.write(settings, ["bench/baselines", *sys.argv[1:]], about, cells,
                     {"versions": {"kith": kith.version()} | machine.versions(), "build": kith.build_info()})
        del case  # its arrays, before the next case's are made
        machine.release(settings)
    print()
    print(*table.summary(cells), sep="\n")
    print("\nratio, kith/it: how many times as fast as the baseline kith is; one-shot against one-shot, prepared "
          "against prepared.\nof gemm: multiply-adds per second over the f32 matrix product's of the same rounds.\n"
          "recall: of the sampled queries' neighbours, how many are not farther than the k-th nearest in binary64.")
    if absent:
        print("not run: " + "; ".join(f"{name} ({why})" for name, why in absent.items()))
    if settings.readme:
        print()
        print(*table.readme(cells), sep="\n")
    return 1 if any(c["verified"]["wrong"] or not c["verified"]["index_equal"] for c in cells) else 0


if __name__ == "__main__":
    sys.exit(main())
