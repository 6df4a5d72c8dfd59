#!/usr/bin/env python3
"""The test `quoted_examples`: every C++ block of the README and docs/ is a verbatim part of an example.

usage: check_quotes.py [ROOT]
"""
import pathlib
import re
import sys
import textwrap

BLOCK = re.compile(r"^```(?:cpp|c\+\+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main(root):
    sources = [path.read_text() for path in sorted((root / "examples").glob("*.c*"))]
    # A part may be quoted without the indentation that all of it has.
    texts = sources + [textwrap.dedent(part) for text in sources for part in re.findall(r"(?:^ {4}.*\n|^\n)+", text, re.M)]
    blocks = complaints = 0
    # CONTRIBUTING.md's blocks are files of their own, which the test `contributing` writes and builds.
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        text = page.read_text()
        for match in BLOCK.finditer(text):
            blocks += 1
            if not any(match.group(1) in candidate for candidate in texts):
                complaints += 1
                line = text.count("\n", 0, match.start()) + 1
                print(f"{page.relative_to(root)}:{line}: this block is not a part of any example")
    if not re.search(BLOCK, (root / "README.md").read_text()):
        complaints += 1
        print("README.md: no C++ example")
    print(f"{blocks} quoted blocks, {complaints} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()))
