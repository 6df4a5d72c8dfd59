"""Tables of the documents that are made of the records under bench/results: performance-tables and papers-tables say which."""
import gzip
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench/results"
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)


def read(name):
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text() if path.exists() else gzip.decompress(path.with_suffix(".json.gz").read_bytes()))


def digits(value, most=3):
    """Three significant digits, and all of the whole part."""
    places = 0
    while places < most and abs(value) < 10 ** (most - 1 - places):
        places += 1
    return f"{value:,.{places}f}"


def ms(seconds):
    return digits(seconds * 1e3)


def rate(pairs_per_s):
    return digits(pairs_per_s / 1e9)


def made(table):
    """The Markdown of a table's rows, the first of which is its head."""
    head, *rows = ("| " + " | ".join(row) + " |\n" for row in table())
    return "".join([head, "|" + "---|" * (len(re.findall(r"(?<!\\)\|", head)) - 1) + "\n", *rows])


def run(script, about, pages, tables, by_hand=()):
    """A script's `update`, `check` and `print`. A table is found by its head, on one of the pages; by_hand: heads of tables that
    no record makes. A page may hold the place of a table whose record is to come: a line `<!-- table NAME -->`, the maker's name."""
    command = sys.argv[1] if len(sys.argv) == 2 else ""
    if command not in ("update", "check", "print"):
        sys.exit(about)
    of_maker = {table.__name__: made(table) for table in tables}
    wanted = {lines.partition("\n")[0]: lines for lines in of_maker.values()}
    if command == "print":
        print(*wanted.values(), sep="\n")
        return 0
    complaints, seen = [], set()
    for page in pages:
        text, name = page.read_text(), page.relative_to(ROOT).as_posix()
        if command == "update":
            for maker, lines in of_maker.items():
                text = text.replace(f"<!-- table {maker} -->\n", lines)
        found = {lines.partition("\n")[0]: lines for lines in TABLE.findall(text)}
        complaints += [f"{name}: no record makes the table {head}" for head in found.keys() - wanted.keys()
                       if not head.startswith(tuple(by_hand) or ("\0",))]
        seen |= found.keys()
        if command == "update":
            page.write_text(TABLE.sub(lambda match: wanted.get(match[0].partition("\n")[0], match[0]), text))
            continue
        for head in found.keys() & wanted.keys():
            if found[head] != wanted[head]:
                differ = [f"  {line}" for line in wanted[head].splitlines() if line not in found[head].splitlines()]
                complaints.append("\n".join([f"{name}: this table is not what its records say: {head}",
                                             f"  scripts/{script} update:", *differ[:5]]))
    complaints += [f"no page has a table with the head {head}" for head in wanted.keys() - seen]
    print(*complaints, sep="\n", end="\n" if complaints else "")
    print(f"{script}: {len(complaints)} complaints")
    return 1 if complaints else 0
