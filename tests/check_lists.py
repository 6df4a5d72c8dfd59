#!/usr/bin/env python3
"""The test `lists`: the documents say of every metric, format and strategy what the lists say, and quote messages that there are.

usage: check_lists.py [ROOT]
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))
from metric_list import metrics  # noqa: E402


def rows(text, heading):
    """The cells of the Markdown table whose first column has that heading."""
    lines = text[text.index(f"| {heading} |"):].splitlines()[2:]
    for line in lines:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def demand(metric):
    """What the metric asks of coordinates, in the words of docs/contract.md."""
    words = []
    if metric.non_negative:
        words.append("at least 0")
    if metric.dimensions:
        words.append(f"{metric.dimensions} of them")
    if metric.largest:
        words.append(f"within {' and '.join(f'{most:.8g}' for most in metric.largest)} of 0")
    if metric.packed_bits:
        words.append("or packed bits")
    return ", ".join(words)


def check_metrics(root):
    said = {}
    for row in rows((root / "docs/contract.md").read_text(), "metric"):
        for name in re.split(r"[,;] ", row[0]):
            said[name] = row[3] if len(row) > 3 else None
    known = {metric.name: demand(metric) for metric in metrics(root)}
    for name in sorted(known.keys() - said.keys()):
        yield f"docs/contract.md, section 1: no row for {name}"
    for name in sorted(said.keys() - known.keys()):
        yield f"docs/contract.md, section 1: {name} is not in include/kith/metrics.def"
    for name in sorted(known.keys() & said.keys()):
        if said[name] != known[name]:
            yield f"docs/contract.md, section 1: {name}: expected '{known[name]}' of coordinates, found '{said[name]}'"
    of_bits = ", ".join(metric.name for metric in metrics(root) if metric.packed_bits)
    line = next((part for part in (root / "cli/options.cpp").read_text().split('"--packed-bits", args.packed_bits, "')[1:]), "")
    if not line.startswith(of_bits + ":"):
        yield f"cli/options.cpp: --packed-bits: expected '{of_bits}:'"


def check_choice(root):
    """docs/metrics.md has the texts and the other names of metrics.def."""
    line = re.compile(r'^KITH_METRIC\((\w+), \w+, "([^"]*)", "(.*)"\)$', re.MULTILINE)
    known = {name: (what, ", ".join(f"`{alias}`" for alias in aliases.split()))
             for name, aliases, what in line.findall((root / "include/kith/metrics.def").read_text())}
    said = {row[0].strip("`"): (row[1].replace("\\|", "|"), row[2]) for row in rows((root / "docs/metrics.md").read_text(), "metric")}
    for name in sorted(known.keys() | said.keys()):
        if known.get(name) != said.get(name):
            yield f"docs/metrics.md: {name}: expected {known.get(name)}, found {said.get(name)}"


def check_formats(root):
    known = re.findall(r"^KITH_(?:FORMAT|CONTAINER)\((\w+),", (root / "src/io/formats.def").read_text(), re.MULTILINE)
    said = [name for row in rows((root / "docs/formats.md").read_text(), "format") for name in re.findall(r"`(\w+)`", row[0])]
    for name in sorted(set(known) ^ set(said)):
        where = "no row for" if name in known else "not in src/io/formats.def:"
        yield f"docs/formats.md: {where} {name}"


def text_of(source, field):
    """The string literals, one behind the other, that a field of facts is given."""
    found = re.search(rf'\.{field} =\s*((?:"[^"]*"\s*)+)', source)
    return "".join(re.findall(r'"([^"]*)"', found.group(1))) if found else ""


def strategies(root, backend):
    """(name, what, whether its row may be missing) of each strategy of a backend's list."""
    search = root / "src" / backend / "search"
    listed = (search / "strategies.def").read_text()
    planned = (search / "strategies.cpp").read_text()
    for entry in re.split(r"^KITH_(?:CPU|GPU)_STRATEGY\(", listed, flags=re.MULTILINE)[1:]:
        identifier = re.match(r"\w+", entry).group()
        facts = entry if backend == "gpu" else (search / "strategies" / f"{identifier}.cpp").read_text()
        yield text_of(facts, "name"), text_of(facts, "what"), f"strategies::{identifier}" not in planned


def check_strategies(root):
    """docs/design.md has a row for every strategy that a search asks by itself, in the order of the lists."""
    for backend, heading in (("cpu", "strategy of a CPU"), ("gpu", "strategy of a GPU")):
        where = f"docs/design.md, {heading}"
        known = {name: (what, optional) for name, what, optional in strategies(root, backend)}
        said = {}
        for row in rows((root / "docs/design.md").read_text(), heading):
            if len(row) != 4 or not all(row):
                yield f"{where}: {row[0]}: expected name, what it does, what it takes and when"
            said[row[0].strip("`")] = row[1]
        for name, (what, optional) in known.items():
            if name not in said and not optional:
                yield f"{where}: no row for {name}; expected | `{name}` | {what} | ... | ... |"
            if name in said and said[name] != what:
                yield f"{where}: {name}: expected '{what}', found '{said[name]}'"
        for name in said.keys() - known.keys():
            yield f"{where}: {name} is not in src/{backend}/search/strategies.def"
        if [name for name in known if name in said] != [name for name in said if name in known]:
            yield f"{where}: expected the order of the list: {', '.join(known)}"


def check_messages(root):
    """docs/troubleshooting.md quotes messages that the sources have; `...` stands for values."""
    page = (root / "docs/troubleshooting.md").read_text()
    sources = (path for folder in ("src", "cli", "python/kith") for path in (root / folder).rglob("*") if path.suffix in (".cpp", ".h", ".py"))
    # Adjacent literals are one, and what is formatted into them is left out.
    text = "\n".join(re.sub(r"\{[^{}\n\"]*\}", "...", re.sub(r'"\s*\n?\s*f?"', "", path.read_text())) for path in sources)
    for heading in ("message", "message or symptom"):
        for part in page.split(f"| {heading} |")[1:]:
            for row in rows(f"| {heading} |{part}", heading):
                if row[0].startswith("`") and row[0].endswith("`"):
                    for fragment in row[0].strip("`").split("..."):
                        if len(fragment.strip()) >= 8 and fragment.strip() not in text:
                            yield f"docs/troubleshooting.md: no source has the message '{fragment.strip()}'"


def main(root):
    complaints = [*check_messages(root), *check_metrics(root), *check_choice(root), *check_formats(root), *check_strategies(root)]
    print(*complaints, sep="\n")
    print(f"lists: {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()))
