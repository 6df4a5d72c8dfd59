"""The table of docs/migrate/README.md that says how other projects' tests came out, from the record."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "docs" / "peers-tests.json"
PAGE = ROOT / "docs" / "migrate" / "README.md"
_BEGIN = "| tests of | passed | cannot pass |"


def unpaired(path: Path) -> dict[str, dict[str, str]]:
    """cannot.toml: of each suite the tests and their reasons. A TOML of tables of strings, as Python 3.10 reads none."""
    suites: dict[str, dict[str, str]] = {}
    here: dict[str, str] = {}
    for line in path.read_text().splitlines():
        table, entry = re.fullmatch(r"\[(\w+)\]", line), re.fullmatch(r'"([^"]+)" = "([^"]+)"', line)
        if table:
            here = suites.setdefault(table[1], {})
        elif entry:
            here[entry[1]] = entry[2]
        elif line and not line.startswith("#"):
            raise ValueError(f"{path}: {line!r}; expected [suite], or \"test\" = \"reason\"")
    return suites


def _row(said: dict[str, Any], reasons: dict[str, str]) -> str:
    version = said["version"] if "." in said["version"] else said["version"][:7]
    cannot = "; ".join(f"{count} `{name.rpartition('::')[2]}`: {reasons[name]}" for name, count in said["cannot"].items())
    return f"| {said['project']} ({version}) | {said['passed']:,} | {cannot or '-'} |"


def page_with(page: str, record: dict[str, Any], reasons: dict[str, dict[str, str]]) -> str:
    """The page with the table of the record in place of its own."""
    before, _, rest = page.partition(_BEGIN)
    lines = rest.splitlines(keepends=True)
    end = next((i for i, line in enumerate(lines[1:], 1) if not line.startswith("|")), len(lines))
    table = [_BEGIN, "|---|---|---|", *(_row(said, reasons.get(name, {})) for name, said in record.items())]
    return before + "\n".join(table) + "\n" + "".join(lines[end:])
