#!/usr/bin/env python3
"""The test `links`: links between documents lead to files and headings, and comments cite lemmas and sections that exist.

usage: check_links.py [ROOT]

Pages of the Web are not asked. Pages keep to their lengths: 120 lines the README, 350 any page.
"""
import pathlib
import re
import sys

PAGES = ("*.md", "docs/*.md", "docs/*/*.md", "lab/*.md", ".github/*.md", "docs/site/pages/*.md")
SOURCES = ("src", "include", "cli", "bench", "python", "tests", "cmake", "scripts", "examples")
LINK = re.compile(r"!?\[(?:[^\]\\]|\\.)*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CITED = re.compile(r"(docs/(?:proofs/)?[\w-]+\.md)(?:,?\s+(?://|#|\*)?\s*(lemma|section)s?\s+(?://|#|\*)?\s*(\d+))?")
LONGEST = {"README.md": 120, "CONTRIBUTING.md": 450}  # others: 350; the notebook and generated tables as long as they are
FREE = ("lab/", "docs/papers.md", "docs/selection.md")


def slug(heading):
    """GitHub's anchor of a heading."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-")


def anchors(text):
    found = {}
    names = set()
    for heading in re.findall(r"^#{1,6}\s+(.+?)\s*$", FENCED.sub("", text), re.MULTILINE):
        name = slug(heading)
        names.add(f"{name}-{found[name]}" if name in found else name)
        found[name] = found.get(name, 0) + 1
    return names | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def numbers(text, kind):
    return set(re.findall(rf"^##+ {'Lemma ' if kind == 'lemma' else ''}(\d+)\b", text, re.MULTILINE))


def check_page(root, path, texts):
    name = path.relative_to(root).as_posix()
    text = texts(path)
    lines = text.count("\n")
    most = LONGEST.get(name, 350)
    if lines > most and not name.startswith(FREE):
        yield f"{name}: {lines} lines; expected {most} at most"
    for number, line in enumerate(FENCED.sub(lambda match: "\n" * match[0].count("\n"), text).splitlines(), 1):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            where = (path.parent / file).resolve() if file else path
            drawn = where.suffix == ".svg" and where.with_suffix(".json").exists()  # a record, where it is shown
            if not where.exists() and not drawn:
                yield f"{name}:{number}: {target}: no such file"
            elif anchor and where.suffix == ".md" and anchor not in anchors(texts(where)):
                yield f"{name}:{number}: {target}: no such heading"


def check_source(root, path, texts):
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        return
    for match in CITED.finditer(text):
        file, kind, number = match.groups()
        where = f"{path.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}: {file}"
        if not (root / file).exists():
            yield f"{where}: no such page"
        elif kind and number not in numbers(texts(root / file), kind):
            yield f"{where}: no {kind} {number}"


def main(root):
    read = {}

    def texts(path):
        return read.setdefault(path, path.read_text())

    complaints = []
    for path in sorted({path for pattern in PAGES for path in root.glob(pattern)}):
        complaints += check_page(root, path, texts)
    for folder in SOURCES:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and "results" not in path.parts and "__pycache__" not in path.parts:
                complaints += check_source(root, path, texts)
    print(*complaints, sep="\n")
    print(f"links: {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()))
