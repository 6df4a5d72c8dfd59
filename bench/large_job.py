"""A groundtruth job as large as a machine takes, killed twice on its way: what each step takes, as JSON.

    python3 bench/large_job.py --kith build/kith --folder /scratch [--rows N] [--device D] [--json FILE]

The base is u8 in clusters (10,000 centres and a little noise), 96 columns, in 16 files; 10,000 queries of the same kind,
k 100. A worker is killed by SIGKILL after a third and after two thirds of the units, and begun again. Then the result is
verified by a sample and merged, and the merged file compared with that of a job that nobody killed (--compare).
"""
import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "baselines"))

import run_head  # noqa: E402

COLUMNS, CENTRES, FILES, QUERIES, K = 96, 10_000, 16, 10_000, 100


def fill(path, rows, seed):
    """Writes rows x COLUMNS of u8 in the format u8bin."""
    common, own = numpy.random.default_rng(1), numpy.random.default_rng([seed, 2])
    centres = common.integers(30, 200, (CENTRES, COLUMNS), numpy.uint8)
    with open(path, "wb") as file:
        file.write(numpy.array([rows, COLUMNS], numpy.uint32).tobytes())
        for first in range(0, rows, 1 << 18):
            some = min(rows - first, 1 << 18)
            noise = numpy.frombuffer(own.bytes(some * COLUMNS), numpy.uint8).reshape(some, COLUMNS) >> 3
            file.write((centres[own.integers(0, CENTRES, some)] + noise).tobytes())


def status_of(kith, job):
    said = subprocess.run([kith, "groundtruth", "status", job, "--json"], capture_output=True, text=True, check=True)
    return json.loads(said.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kith", required=True)
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--memory", default="16GiB")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    kith, folder = arguments.kith, arguments.folder / "large-job"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    record = {"rows": arguments.rows // FILES * FILES, "columns": COLUMNS, "type": "u8", "queries": QUERIES, "k": K,
              "asked": arguments.device, **run_head.head(arguments.device), "seconds": {}}

    def timed(step, function):
        start = time.monotonic()
        result = function()
        record["seconds"][step] = round(record["seconds"].get(step, 0) + time.monotonic() - start, 2)
        return result

    def run(*command):
        return subprocess.run([kith, "groundtruth", *map(str, command)], check=True, capture_output=True, text=True)

    base = [folder / f"base.{i:02}.u8bin" for i in range(FILES)]
    with concurrent.futures.ProcessPoolExecutor() as pool:
        timed("made", lambda: list(pool.map(fill, base, [arguments.rows // FILES] * FILES, range(FILES))))
    fill(folder / "queries.u8bin", QUERIES, FILES)

    def make(name):
        run("init", folder / name, "--base", *base, "--queries", folder / "queries.u8bin", "-k", K, "--memory",
            arguments.memory, "--quiet")
        return folder / name

    job = timed("init", lambda: make("job"))
    record["units"] = total = status_of(kith, job)["units"]
    worker = [kith, "groundtruth", "run", job, "--device", arguments.device, "--quiet"]
    record["killed_after_units"] = []
    for share in (1, 2):
        process = subprocess.Popen(worker)
        start = time.monotonic()
        while status_of(kith, job)["done"] < share * total // 3 and process.poll() is None:
            time.sleep(0.05)
        process.kill()
        process.wait()
        record["seconds"]["run"] = round(record["seconds"].get("run", 0) + time.monotonic() - start, 2)
        record["killed_after_units"].append(status_of(kith, job)["done"])
    timed("run", lambda: subprocess.run(worker, check=True))
    record["verified"] = timed("verify", lambda: run("verify", job, "--sample", 100)).stdout.strip()
    timed("merge", lambda: run("merge", job, "--out", folder / "truth.gt", "--quiet"))
    pairs = record["rows"] * QUERIES
    record["pairs_per_second"] = pairs / record["seconds"]["run"]
    record["bytes_per_second"] = record["rows"] * COLUMNS / record["seconds"]["run"]
    if arguments.compare:
        whole = timed("init_again", lambda: make("whole"))
        timed("run_unkilled", lambda: run("run", whole, "--device", arguments.device, "--quiet"))
        run("merge", whole, "--out", folder / "whole.gt", "--quiet")
        digests = [hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in ("truth.gt", "whole.gt")]
        record["same_bytes_as_unkilled"] = digests[0] == digests[1]
    shutil.rmtree(folder)
    text = json.dumps(record, indent=1)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
