"""Other projects' own tests, run with kith in place of what they test: run.py [SUITE...] [--write] [--no-install].

Their sources are fetched when they are needed, from GitHub and PyPI, into a folder of the build; KITH_PEERS_SOURCES names a folder
that has them already, one folder for each suite, for where there is no network. cannot.toml lists what cannot pass, and why:
exit code 1 where another test fails, where one of those passes, or where docs/peers-tests.json is not what has come out. --write
writes it, and the table of docs/migrate/README.md.
"""
from __future__ import annotations

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
from suites import SUITES, Suite  # noqa: E402
from table import PAGE, RECORD, page_with, unpaired  # noqa: E402


def fetched(suite: Suite, folder: Path) -> Path:
    """The sources of a suite: a folder of those given, else the repository at its commit or the source distribution."""
    if not suite.repository and not suite.package:
        return HERE  # tests of an installed package
    of, given = suite.sources or suite.name, os.environ.get("KITH_PEERS_SOURCES")
    if given:
        sources = Path(given) / of
        if not sources.exists():
            raise SystemExit(f"KITH_PEERS_SOURCES: {sources} is not there")
    else:
        sources = folder / f"{of}-{suite.version[:12]}"
        if not sources.exists():
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder) as unfinished:
                try:
                    (of_repository if suite.repository else of_package)(suite, Path(unfinished)).rename(sources)
                except subprocess.CalledProcessError as error:
                    raise SystemExit(f"{suite.name}: its tests could not be fetched; KITH_PEERS_SOURCES names a folder that has them. "
                                     f"{error}") from None
    overlay = HERE / "overlays" / suite.name
    if overlay.exists():
        subprocess.run(["cp", "-r", f"{overlay}/.", str(sources)], check=True)
    return sources


def of_repository(suite: Suite, folder: Path) -> Path:
    """The files of the repository that are needed, at its commit."""
    sources = folder / "sources"
    sources.mkdir()
    for arguments in (("init",), ("fetch", "--depth=1", "--filter=blob:none", f"https://github.com/{suite.repository}", suite.version),
                      ("sparse-checkout", "set", "--no-cone", *(f"/{path}" for path in suite.paths)), ("checkout", "FETCH_HEAD")):
        quiet = () if arguments[0] == "sparse-checkout" else ("--quiet",)
        subprocess.run(["git", "-C", str(sources), arguments[0], *quiet, *arguments[1:]], check=True)
    return sources


def of_package(suite: Suite, folder: Path) -> Path:
    """The source distribution."""
    pip("download", "--no-deps", "--no-binary", suite.package, "-d", str(folder), f"{suite.package}=={suite.version}")
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder / "archive", filter="data")
    sources, = (folder / "archive").iterdir()
    return sources


def pip(*arguments: str) -> None:
    """This environment's, quietly."""
    subprocess.run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)


def outcome(suite: Suite, sources: Path) -> dict[str, tuple[str, str]]:
    """How each test of the suite came out, with its last line where it failed."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "outcome.json"
        done = subprocess.run([sys.executable, "-W", "ignore", str(HERE / "one_suite.py"), suite.name, str(sources), str(record)],
                              capture_output=True, text=True)
        if done.returncode or not record.exists():
            raise SystemExit(f"{suite.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return {name: (what, why) for name, (what, why) in json.loads(record.read_text()).items()}


def listed(name: str) -> str:
    """The name that cannot.toml has for a test: without its parameters."""
    return re.sub(r"\[.*", "", name, flags=re.S)


def judged(suite: Suite, tests: dict[str, tuple[str, str]], reasons: dict[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The record's line about a suite, and what is wrong with it."""
    counts = collections.Counter(what for what, _ in tests.values())
    cannot = collections.Counter(listed(name) for name, (what, _) in tests.items() if what == "failed" and listed(name) in reasons)
    wrong = [f"{suite.name}: {name}: {why}" for name, (what, why) in tests.items() if what == "failed" and listed(name) not in reasons]
    wrong += [f"{suite.name}: {name} passes: take it out of cannot.toml" for name in reasons if name not in cannot]
    if not counts["passed"]:
        wrong.append(f"{suite.name}: no test has passed")
    said = {"project": suite.project, "version": suite.version, "passed": counts["passed"], "cannot": dict(sorted(cannot.items())),
            "another kind": counts["another kind"]}
    print(f"{suite.name}: {counts['passed']} passed, {sum(cannot.values())} cannot pass, {counts['another kind']} of another kind of "
          f"index, {counts['skipped']} skipped, {len(wrong)} wrong", flush=True)
    return said, wrong


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(suite.name for suite in SUITES))
    parser.add_argument("--write", action="store_true", help="the record, and the table of docs/migrate/README.md")
    parser.add_argument("--no-install", action="store_true", help="packages that the suites need are there")
    parser.add_argument("--sources", default=str(ROOT / "build" / "peers"), help="where sources are kept")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.suites) - {suite.name for suite in SUITES}
    if unknown:
        parser.error(f"no suite is named {', '.join(sorted(unknown))}")
    suites = [suite for suite in SUITES if not chosen.suites or suite.name in chosen.suites]
    if not chosen.no_install:
        pip("install", "pytest", *sorted({package for suite in suites for package in suite.needs}))
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    installed = {suite.name: metadata.version("scikit-learn") for suite in suites if not suite.repository and not suite.package}
    reasons = unpaired(HERE / "cannot.toml")
    wrong, before = [], json.loads(json.dumps(record))
    for suite in suites:
        said, errors = judged(suite, outcome(suite, fetched(suite, Path(chosen.sources))), reasons.get(suite.name, {}))
        wrong += errors
        if installed.get(suite.name, suite.version) == suite.version:
            record[suite.name] = said
    record = {suite.name: record[suite.name] for suite in SUITES if suite.name in record}
    if chosen.write and not wrong:
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
        PAGE.write_text(page_with(PAGE.read_text(), record, reasons))
    elif record != before:
        wrong.append(f"{RECORD.relative_to(ROOT)} is not what has come out: --write")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
