#!/usr/bin/env python3
"""Puts together the sources of the documentation site: stage.py SOURCES KITH_BINARY.

The pages are the Markdown files of the repository, as they are, at their own paths. A link of theirs to a file or folder
that is not a page becomes a page of the site that shows it, and `<!-- picture: NAME -->` one of the pictures (pictures.py).
The references are listed from what there is: the modules of the Python package, the public headers, the commands of the
command line.
"""
import gzip
import importlib.machinery
import importlib.util
import pathlib
import pkgutil
import posixpath
import re
import shutil
import subprocess
import sys

import pictures

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md", "docs/*/*.md")
PICTURE = re.compile(r"<!-- picture: (\w+) -->")
LINK = re.compile(r"(?<=\]\()([^)#\s:]+)(?=[)#])")
LANGUAGES = {".h": "cpp", ".cpp": "cpp", ".cu": "cuda", ".c": "c", ".py": "python", ".json": "json", ".def": "cpp"}


written, drawings = set(), set()


def put(path, text):
    """Writes a page where it is not the same already, so that Sphinx reads again only what has changed."""
    written.add(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def shown(target):
    """The page that shows a file or the names in a folder."""
    name = target.relative_to(ROOT).as_posix()
    if target.is_dir():
        names = sorted(part.name + "/" * part.is_dir() for part in target.iterdir() if part.name != "__pycache__")
        body = "".join(f"- `{part}`\n" for part in names)
    else:
        packed = target.suffix == ".gz"
        text = gzip.decompress(target.read_bytes()).decode() if packed else target.read_text()
        kind = pathlib.Path(target.stem).suffix if packed else target.suffix
        body = f"``````{LANGUAGES.get(kind, 'text')}\n{text}\n``````\n"
    return f"---\norphan: true\n---\n\n# {name}{'/' * target.is_dir()}\n\n{body}"


def page(sources, path, pages):
    """A Markdown file at its own path; what it links to and shows comes along."""
    name = path.relative_to(ROOT).as_posix()

    def link(match):
        target = (path.parent / match.group(1)).resolve()
        if target.suffix == ".svg" and target.with_suffix(".json").exists():
            drawings.add(target.with_suffix(".json"))  # a record is drawn where its drawing is shown
            return match.group(0)
        if not target.is_relative_to(ROOT) or not target.exists() or target in pages:
            return match.group(0)
        inside = target.relative_to(ROOT).as_posix()
        if target.suffix in (".png", ".svg"):
            (sources / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(target, sources / inside)
            return match.group(0)
        if inside == "docs/adr":
            return posixpath.relpath("docs/adr/index.md", posixpath.dirname(name) or ".")
        put(sources / "source" / f"{inside}.md", shown(target))
        return posixpath.relpath(f"source/{inside}.md", posixpath.dirname(name) or ".")

    def picture(match):
        drawn = sources / "pictures" / f"{match[1]}.svg"
        title = re.search("<title>(.*?)</title>", drawn.read_text())[1]
        return f"![{title}]({posixpath.relpath(f'pictures/{drawn.name}', posixpath.dirname(name) or '.')})"

    text = PICTURE.sub(picture, LINK.sub(link, path.read_text()))
    if path.name == "README.md" and path.parent != ROOT:  # the front page of a folder
        beside = "".join(f"{other.stem}\n" for other in pages if other.parent == path.parent and other != path)
        text += f"\n```{{toctree}}\n:hidden:\n\n{beside}```\n"
    put(sources / name, text)


def modules():
    """kith and its public modules, without importing what needs other libraries."""
    spec = importlib.util.find_spec("kith")
    yield "kith"
    for module in pkgutil.walk_packages(spec.submodule_search_locations, "kith."):
        if not any(part.startswith("_") or part == "contrib" for part in module.name.split(".")):  # whose import changes results
            yield module.name


def python_reference(sources):
    listed = "\n".join(f"   {name}" for name in modules())
    put(sources / "reference" / "python.rst", f"""Python
======

``pip install kith-knn``; the module is ``kith``. :doc:`/docs/guide/python` says what it takes and what it works with.

.. autosummary::
   :toctree: python
   :template: module.rst

{listed}
""")


def cpp_reference(sources):
    headers = sorted(path.name for path in (ROOT / "include" / "kith").glob("*.h") if path.name != "functor_tile.h")
    first = [name for name in ("kith.h", "types.h", "index.h", "c.h") if name in headers]
    own = {name: f"reference/cpp/{name.replace('.', '_')}" for name in first + [n for n in headers if n not in first]}
    for name in own:
        title = f"``kith/{name}``"
        put(sources / f"{own[name]}.rst", f"{title}\n{'=' * len(title)}\n\n.. doxygenfile:: {name}\n")
    toc = "\n".join(f"   cpp/{name.replace('.', '_')}" for name in own)
    put(sources / "reference" / "cpp.rst", f"""C++ and C
=========

``kith.h`` is where to start; ``c.h`` is the same for C. :doc:`/docs/install` says how a project takes them in.

.. toctree::
   :maxdepth: 1

{toc}
""")


def man_page():
    """scripts/man-page, which knows how a help text is built."""
    loader = importlib.machinery.SourceFileLoader("man_page", str(ROOT / "scripts" / "man-page"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("man_page", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def literal(text):
    return re.sub(r"([*`_|\\])", r"\\\1", text)


def cli_section(man, kith, command, depth):
    """What the help of a command says, in the directives of Sphinx, and that of the commands below it."""
    lines = man.help_of(kith, *command)
    usage = next(i for i, line in enumerate(lines) if line.startswith("Usage:"))
    title = " ".join(["kith", *command])
    out = [title, "=-~"[depth] * len(title), "", literal(lines[0]) + ".", "", f".. program:: {title}", "", "::", "",
           f"   {lines[usage].removeprefix('Usage: ')}", ""]
    below = man.commands_of(lines)
    listed = "Subcommands:" in lines
    option = False
    for line in lines[usage + 1:]:
        if line.startswith("   ") and option:
            out += [f"   {literal(line.strip())}", ""]
        elif line.startswith("  ") and not (listed and line.split()[0] in dict(below)):
            head, what = man.OPTION.match(line).groups()
            head = re.sub(r" (Excludes|Needs): .*| REQUIRED|:NONNEGATIVE", "", head)
            names, _, value = head.partition(" ")
            names = ", ".join(f"{name} {value}".strip() for name in names.split(","))
            out += [f".. option:: {names}", ""] + ([f"   {literal(what)}", ""] if what else [])
            option = True
        elif line.startswith("  "):
            name, what = man.COMMAND.match(line).groups()
            out += [f"``{name}``", f"   {literal(what)}", ""]
        elif line.endswith(":") and not option:
            out += [f"*{literal(line[:-1])}*", ""]
        else:
            option = option and bool(line)
            out += [literal(line)] if line else [""]
    out.append("")
    for name, _ in below if command else []:
        out += cli_section(man, kith, (*command, name), depth + 1)
    return out


def cli_reference(sources, kith):
    man = man_page()
    front = man.help_of(kith)
    commands = [name for name, _ in man.commands_of(front)]
    for name in commands:
        put(sources / "reference" / "cli" / f"{name}.rst", "\n".join(cli_section(man, kith, (name,), 0)) + "\n")
    text = ["Command line", "============", "", "What each command says with ``--help``. :doc:`/docs/guide/cli` explains them.", ""]
    for name, what in man.commands_of(front):
        text += [f":doc:`kith {name} <cli/{name}>`", f"   {literal(what)}", ""]
    text += [".. toctree::", "   :hidden:", "", *(f"   cli/{name}" for name in commands), ""]
    put(sources / "reference" / "cli.rst", "\n".join(text))


def decisions(sources):
    listed = "".join(f"{path.name}\n" for path in sorted((ROOT / "docs" / "adr").glob("*.md")))
    put(sources / "docs" / "adr" / "index.md", f"# Decisions\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}```\n")


def main(sources, kith):
    pictures.main(sources / "pictures", kith)
    pages = sorted({path for pattern in PAGES for path in ROOT.glob(pattern)})
    for path in pages:
        page(sources, path, pages)
    if drawings:
        subprocess.run([sys.executable, ROOT / "bench" / "plot", "--into", sources, *sorted(drawings)], check=True, stdout=subprocess.DEVNULL)
    for path in (ROOT / "docs" / "site" / "pages").rglob("*.*"):
        put(sources / path.relative_to(ROOT / "docs" / "site" / "pages"), path.read_text())
    index = (sources / "index.md").read_text()
    more = [f"docs/{path.stem}" for path in pages if path.parent == ROOT / "docs" and f"docs/{path.stem}\n" not in index]
    put(sources / "index.md", index.replace("limits\n", "\n".join(["limits", *more, ""])))  # pages that it does not name
    decisions(sources)
    python_reference(sources)
    cpp_reference(sources)
    cli_reference(sources, kith)
    for path in sources.rglob("*"):  # pages of earlier builds; other tools fill these two folders
        if path.suffix in (".md", ".rst") and path not in written and path.parent not in (sources / "gallery", sources / "reference" / "python"):
            path.unlink()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2])
