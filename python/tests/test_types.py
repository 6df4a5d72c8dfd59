"""Types as users' checkers see them: pyright in its strict mode finds nothing unknown in what calls return."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"
# The interpreter that pyright asks where packages are.
ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "VIRTUAL_ENV": sys.prefix,
               "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
PROGRAM = """
import numpy as np

import kith
import kith.groundtruth

x = np.zeros((30, 4), np.float32)
distances, indices = kith.search(x, x[:3], 2, metric="cosine", device="cpu")
found = kith.graph(x, 2)
print(distances.shape, indices.shape, found.report.path, found.report.trace[0].strategy)
index = kith.Index(x, metric="euclidean")
distances, indices = index.search(x, 2)
distances, indices, offsets = kith.radius(x, x, 0.5)
counts, report = kith.radius_counts(x, None, 0.5)
print(offsets[-1], counts.sum(), report.seconds, kith.radius_graph(x, 0.5).rows()[0][0])
for block in kith.radius_blocks(x, None, 0.5):
    print(block.first, block.indices)
values, columns = kith.topk(x, k=2)
print(values, columns, kith.distances(x, x), kith.info(), kith.__version__)
pairs, lengths = kith.match(x, x, mutual=True)
print(pairs, lengths, kith.verify(x, x, indices, distances).exact, kith.recommend(x, 2).items, kith.variances(x))
job = kith.groundtruth.init("truth", x, k=2)
print(job.units, kith.groundtruth.run("truth").status.seconds_left, kith.groundtruth.merge("truth").indices)
"""


def test_strict(tmp_path: Path) -> None:
    pytest.importorskip("pyright")
    (tmp_path / "program.py").write_text(PROGRAM)
    if EXAMPLES.exists():
        (tmp_path / "start.py").write_text((EXAMPLES / "start.py").read_text())
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"include": ["."], "typeCheckingMode": "strict"}))
    done = subprocess.run([sys.executable, "-m", "pyright", "--outputjson", "-p", str(tmp_path)],
                          capture_output=True, text=True, env=ENVIRONMENT)
    if done.returncode not in (0, 1):
        pytest.skip(f"pyright does not run here: {done.stderr[-300:]}")
    said = json.loads(done.stdout)
    assert not [f"{Path(one['file']).name}:{one['range']['start']['line'] + 1}: {one['message']}" for one in said["generalDiagnostics"]]
    assert said["summary"]["filesAnalyzed"] >= 1


def test_no_name_of_the_package_is_of_unknown_type(tmp_path: Path) -> None:
    """For the package itself; what other libraries give no types for is theirs."""
    pytest.importorskip("pyright")
    done = subprocess.run([sys.executable, "-m", "pyright", "--outputjson", "--ignoreexternal", "--verifytypes", "kith"],
                          capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT)
    if done.returncode not in (0, 1):
        pytest.skip(f"pyright does not run here: {done.stderr[-300:]}")
    symbols = json.loads(done.stdout)["typeCompleteness"]["symbols"]
    own = [one for one in symbols if one["isExported"] and one["name"].count(".") == 1 or
           one["name"].startswith(("kith.groundtruth.", "kith.information.", "kith.shards.", "kith._index.", "kith._results."))]
    assert len(own) > 60
    assert not [one["name"] for one in own if not one["isTypeKnown"] or one["isTypeAmbiguous"]]
