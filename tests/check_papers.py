#!/usr/bin/env python3
"""The test `papers`: kith-bench papers measures, goes on where a file ends, takes cells of another table, refuses other files; all tables
in parts.

usage: check_papers.py KITH_BENCH
"""
import json
import pathlib
import subprocess
import sys
import tempfile


ON_A_CPU = ["garcia-fig-3", "garcia-fig-4", "garcia-fig-5", "garcia-table-1", "garcia-tables-2-5", "hanak-fig-5-13", "kato",
            "sismanis-sorts-cpu", "tang-1"]


def all_in_parts(papers, folder):
    every = ("--all", "--device", "cpu", "--quick", "--methods", "bf-c,kith,kith-1,sort:merge,sort:bitonic", "--json", folder)
    nothing = papers(*every, "--seconds", 0)
    assert nothing.returncode == 4 and "--resume" in nothing.stderr, nothing
    parts = 1
    while (last := papers(*every, "--resume", "--seconds", 2)).returncode == 4:
        parts += 1
        assert parts < 100
    assert last.returncode == 0, last
    assert sorted(file.stem for file in folder.glob("*.json")) == ON_A_CPU, last
    documents = {name: json.loads((folder / f"{name}.json").read_text()) for name in ON_A_CPU}
    assert all(document.get("cells") or document.get("cases") or document.get("rows") for document in documents.values())
    assert "hanak-5.12: left out: needs a GPU" in last.stdout and "`cmake --preset counted`" in last.stdout, last
    # What is there is not measured again: Fig. 5 is a part of Table 1.
    shared = [{(c["method"], c["n"], c["d"]): c["seconds"] for c in documents[name]["cells"]}
              for name in ("garcia-table-1", "garcia-fig-5")]
    assert shared[1] and shared[1].items() <= shared[0].items(), shared
    again = papers(*every, "--resume", "--seconds", 0)
    assert again.returncode == 0, again
    refused = papers(*every)
    assert refused.returncode == 2 and "--resume" in refused.stderr, refused
    for wrong in (("--all",), ("--all", "tang-1", "--json", folder), ("--all", "--json", folder, "--times", folder)):
        refused = papers(*wrong)
        assert refused.returncode == 2, refused


def main(bench):
    with tempfile.TemporaryDirectory() as folder:
        five, one = (pathlib.Path(folder, name) for name in ("fig-5.json", "table-1.json"))

        def papers(*arguments):
            return subprocess.run([bench, "papers", *map(str, arguments)], capture_output=True, text=True)

        listed = papers("--list")
        assert listed.returncode == 0 and "garcia-table-1" in listed.stdout and "tang-1" in listed.stdout, listed

        few = ("--device", "cpu", "--quick", "--repeat", 1)
        first = papers("garcia-fig-5", *few, "--methods", "bf-c,kith-1", "--json", five)
        assert first.returncode == 0, first
        document = json.loads(five.read_text())
        assert document["command"][:3] == ["kith-bench", "papers", "garcia-fig-5"] and len(document["sources"]) == 64, document
        assert document["device"] and document["date"] and "earlier_sources" not in document, document
        cells = document["cells"]
        assert [(c["method"], c["n"]) for c in cells] == [(m, n) for m in ("bf-c", "kith-1") for n in (1200, 2400)], cells
        assert all(c["d"] == 32 and c["k"] == 20 and c["seconds"] > 0 and c["same_ids"] > 0.999 for c in cells), cells
        assert all(0 < c["distance_s"] + c["sort_s"] <= 1.01 * c["seconds"] for c in cells if c["method"] == "bf-c"), cells

        # Cells that are there stay; others join them.
        document["cells"] = [dict(c, seconds=123.0) for c in cells if (c["method"], c["n"]) != ("bf-c", 2400)]
        five.write_text(json.dumps(document))
        again = papers("garcia-fig-5", *few, "--methods", "bf-c", "--resume", "--json", five, "--limit", 1e9)
        assert again.returncode == 0, again
        found = {(c["method"], c["n"]): c["seconds"] for c in json.loads(five.read_text())["cells"]}
        assert found["bf-c", 1200] == 123 and found["kith-1", 2400] == 123 and 0 < found["bf-c", 2400] < 123, found

        # Of another table: what both have. What would take too long, by fewer points or dimensions, is left out, and said.
        taken = papers("garciatable1", *few, "--methods", "bf-c", "--times", five, "--json", one, "--limit", 0)
        assert taken.returncode == 0 and "left out" in taken.stdout, taken
        document = json.loads(one.read_text())
        found = {(c["n"], c["d"]): c["seconds"] for c in document["cells"] if c["method"] == "bf-c"}
        assert found[1200, 32] == 123 and found[1200, 8] < 123 and found[2400, 32] < 123 and len(found) == 3, found
        left_out = {(n, d) for n in (1200, 2400) for d in (8, 16, 64, 80, 96)} - {(1200, 8)}
        assert {(c["n"], c["d"]) for c in document["left_out"]} == left_out, document

        refused = papers("garcia-table-1", *few, "--resume", "--json", five)
        assert refused.returncode == 2 and "garcia-fig-5" in refused.stderr, refused
        five.write_text('{"table": "garcia-fig-5"}')
        refused = papers("garcia-fig-5", *few, "--resume", "--json", five)
        assert refused.returncode == 2, refused
        unknown = papers("garcia-table-9", "--device", "cpu")
        assert unknown.returncode == 2 and "garcia-table-9" in unknown.stderr, unknown
        # Selections, case by case.
        selection = pathlib.Path(folder, "tang-1.json")
        on_cpu = ("tang-1", "--quick", "--device", "cpu", "--repeat", 1, "--json", selection)
        first = papers(*on_cpu)
        assert first.returncode == 0, first
        document = json.loads(selection.read_text())
        cases = document["cases"]
        assert cases and all(c["seconds"] > 0 and c["selector"] == "heap" and c["threads"] in (0, 1) for c in cases), cases
        document["cases"] = [dict(c, seconds=123.0) for c in cases[1:]]
        selection.write_text(json.dumps(document))
        again = papers(*on_cpu, "--resume")
        assert again.returncode == 0, again
        found = sorted(c["seconds"] for c in json.loads(selection.read_text())["cases"])
        assert len(found) == len(cases) and found[0] < 123 and set(found[1:]) == {123}, found
        document["device"] = "another"
        selection.write_text(json.dumps(document))
        refused = papers(*on_cpu, "--resume")
        assert refused.returncode == 2 and "another" in refused.stderr, refused
        all_in_parts(papers, pathlib.Path(folder, "all"))
    print("papers: as they should be")


if __name__ == "__main__":
    main(sys.argv[1])
