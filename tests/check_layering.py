#!/usr/bin/env python3
"""The test `layering`: includes point downwards only, every file says what it is, no file grows past one idea.

usage: check_layering.py [ROOT]
"""
import pathlib
import re
import sys

# Room -> the rooms below it that its files may include, besides itself and include/kith (docs/design.md).
BELOW = {
    "src/api": {"plan", "strategy", "scale", "cpu", "gpu", "exact", "formula", "metric", "machine", "papers/plan.h", "papers/graph.h"},
    "src/estimators": {"api", "exact", "machine"},
    "src/recommend": {"api", "exact"},
    "src/plan": {"strategy", "machine/float_state.h", "machine/lasting.h", "machine/thread_pool.h", "metric", "cpu/tuning.h", "cpu/search/scan/scan_tile.h", "cpu/search/strategies.h", "exact/bounds/box_trial.h", "exact/ceil_div.h", "exact/refuse.h", "gpu/filter/levels.h", "gpu/filter/dense/value_groups.h", "gpu/filter/tuning.h", "gpu/search/batches/batches.h", "gpu/search/strategies.h", "gpu/search/tuning.h",
                 "gpu/select/selectors.h", "gpu/select/choice.h", "gpu/select/cluster/tuning.h", "cpu/select/selectors.h", "papers/plan.h"},
    "src/scale": {"exact", "machine"},
    "src/strategy": {"exact", "metric"},
    "src/cpu": {"strategy", "exact", "formula", "machine", "metric"},
    "src/gpu": {"strategy", "exact", "formula", "machine", "metric", "papers/gpu.h"},
    "src/papers": {"api", "plan", "strategy", "scale", "cpu", "gpu", "exact", "formula", "metric", "machine"},
    "src/exact": {"machine", "metric"},
    "src/formula": {"metric"},
    "src/metric": set(),
    "src/io": {"machine/float_state.h"},
    "src/jobs": {"io", "machine/float_state.h"},
    "src/machine": set(),
    "cli": set(),
    "python/src": set(),
    "include/kith": set(),
    "examples": set(),
}
# Folders of the backends and of the papers' component, from the bottom up: a file may include its own folder and those
# before it. What lies in the backend's own folder puts the others together: its interface, a metric's kernels.
FOLDERS = {
    "src/cpu": ["simd", "primitives", "metric", "filter", "tree", "points", "select", "search"],
    "src/gpu": ["runtime", "primitives", "metric", "filter", "refine", "tree", "points", "select", "search"],
    "src/papers": ["distance", "select", "fused", "search", "plan", "kato"],
}
COMMON = {"src/cpu": {"cpu/backend.h", "cpu/tuning.h"}, "src/gpu": {"gpu/backend.h"},
          "src/papers": {"papers/names.h", "papers/plan.h", "papers/graph.h", "papers/gpu.h"}}
ROOMS = {room.removeprefix("src/") for room in BELOW if room.startswith("src/")}
LONGEST = 450  # lines
SOURCES = {".h", ".cpp", ".cu", ".cuh", ".c", ".py", ".def", ".in", ".cmake"}
OPENERS = ("//", "#", '"""', "/*")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def sources(root, folder):
    for path in sorted((root / folder).rglob("*")):
        if path.suffix in SOURCES or path.name == "CMakeLists.txt":
            yield path


def check_includes(root, room, allowed):
    own = room.removeprefix("src/")
    for path in sources(root, room):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = match.group(1)
            where = f"{path.relative_to(root)}:{number}: "
            if ".." in pathlib.PurePosixPath(target).parts:
                yield f"{where}includes {target}: name the path from the root of src/"
                continue
            of_room = target.split("/")[0]
            if of_room in ROOMS and of_room != own and of_room not in allowed and target not in allowed:
                below = ", ".join(sorted(allowed)) or "nothing but include/kith"
                yield f"{where}{room} includes {target}; below it are: {below}"


def check_folders(root, room, order):
    """Within a backend, includes point down the order of its folders."""
    backend = room.removeprefix("src/")
    for path in sources(root, room):
        folder = path.relative_to(root / room).parts[0]
        if path.parent == root / room:
            continue
        where = path.relative_to(root)
        if folder not in order:
            yield f"{where}: {room}/{folder} has no place in the order of folders; give it one in tests/check_layering.py"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            target = match.group(1) if match else ""
            if not target.startswith(backend + "/") or target in COMMON[room] or ".def" in target:
                continue
            part = target.split("/")[1]
            if part not in order[: order.index(folder) + 1]:
                yield f"{where}:{number}: includes {target}; {room}/{folder} lies below it"


def check_oracle(root):
    """The oracle that the library is judged by shares no code with it."""
    support = root / "tests" / "support"
    if not (support / "oracle.h").exists():
        yield "tests/support/oracle.h: there is no oracle"
    for path in sorted(support.glob("oracle*")) + sorted(support.glob("adversarial*")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match and match.group(1).split("/")[0] in ROOMS:
                yield f"{path.relative_to(root)}:{number}: the oracle includes {match.group(1)}"


def check_without_cuda(root):
    """What tests that need no GPU call of the GPU's code is compiled where there is no CUDA as well."""
    compiled = re.search(r"set\(gpu_on_host ([^)]*)\)", (root / "src" / "CMakeLists.txt").read_text()).group(1)
    tests = [*(root / "tests" / "unit").glob("*.cpp"), *(root / "tests" / "papers").glob("*.cpp")]
    for path in sorted(tests):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            on_gpu = "_cuda_" in path.name or "_gpu_" in path.name
            target = match.group(1) if match and not on_gpu else ""
            if not re.match("gpu/|papers/(distance|fused|search|select)/", target):
                continue
            for source in (pathlib.PurePosixPath(target).with_suffix(suffix) for suffix in (".cpp", ".cu")):
                if (root / "src" / source).exists() and str(source) not in compiled:
                    yield (f"{path.relative_to(root)}:{number}: includes {target}, but src/CMakeLists.txt leaves out "
                           f"{source} where there is no CUDA")


def check_form(root, folder):
    for path in sources(root, folder):
        lines = path.read_text().splitlines()
        name = path.relative_to(root)
        first = lines[1:2] if lines and lines[0].startswith("#!") else lines[:1]
        opening = first[0] if first else ""
        if not opening.startswith(OPENERS) or opening.startswith(("#include", "#pragma", "#define", "#if")):
            yield f"{name}:1: does not start with a comment that says what the file is"
        if len(lines) > LONGEST and folder in ("src", "include", "cli"):
            yield f"{name}: {len(lines)} lines, more than {LONGEST}: two ideas in one file?"


def main(root):
    complaints = []
    for room, allowed in BELOW.items():
        complaints += check_includes(root, room, allowed)
    for room, order in FOLDERS.items():
        complaints += check_folders(root, room, order)
    complaints += check_oracle(root)
    complaints += check_without_cuda(root)
    for folder in ("include", "src", "cli", "tests", "bench", "examples", "cmake", "python"):
        complaints += check_form(root, folder)
    rooms = {path.name for path in (root / "src").iterdir() if path.is_dir()}
    complaints += [f"src/{room}: not a folder of the layering; give it a line in tests/check_layering.py" for room in
                   sorted(rooms - ROOMS)]
    print(*complaints, sep="\n")
    print(f"layering: {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else
                  pathlib.Path(__file__).resolve().parent.parent))
