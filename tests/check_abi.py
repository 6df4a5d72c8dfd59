#!/usr/bin/env python3
"""The test `abi`: the binary interface is that of tests/abi, which docs/install.md says when it may change.

c.abi        types and functions of c.h, by libabigail (abidw), of a library that defines each of them to do nothing
layout.txt   sizes of the classes and structs of C++ headers, and offsets of their members, in bytes
symbols.txt  the symbols that the shared libraries export

usage: check_abi.py [--write] [--nm NM] [--cc CC] [--cxx CXX] LIBKITH LIBKITH_IO
--write writes tests/abi anew. Exit code 77: there is no abidw and abidiff (Debian: abigail-tools).
"""
import argparse
import difflib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE, KEPT = ROOT / "include", ROOT / "tests" / "abi"
INCOMPATIBLE = 8  # a bit of abidiff's exit code
# Headers of C++ that need more than a compiler for the host.
NOT_COMPILED = {"c.h", "functor_cuda.h", "functor_tile.h"}
DEBUG = ("-g", "-O0", "-fPIC", "-shared", "-fno-eliminate-unused-debug-types", f"-I{INCLUDE}")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(nm, libraries):
    for library in libraries:
        names = sorted({line.split()[-1] for line in run(nm, "-D", "--defined-only", library).splitlines()})
        yield from (f"{library.name.split('.')[0].removesuffix('_shared')} {name}" for name in names)


def c_stub(folder, cc):
    """A library with all functions of c.h and no code in them."""
    text = re.sub(r"/\*.*?\*/", "", (INCLUDE / "kith/c.h").read_text(), flags=re.DOTALL)
    declared = re.findall(r"KITH_EXPORT ([^;]*?\));", text)
    source, library = folder / "stub.c", folder / "libkith_c.so"
    source.write_text("#include <stdlib.h>\n#include \"kith/c.h\"\n" +
                      "".join(f"KITH_EXPORT {' '.join(each.split())} {{ abort(); }}\n" for each in declared))
    run(cc, "-std=c2x", "-w", *DEBUG, source, "-o", library)
    return library


def described(library, *options):
    """abidw's description of a library, by the public headers, without places in files."""
    return run("abidw", "--no-corpus-path", "--no-comp-dir-path", "--type-id-style", "hash", "--headers-dir", INCLUDE / "kith",
               "--drop-private-types", *options, library)


def layouts(folder, cxx):
    """A line for each class of the headers in C++: its size, its members and where they lie."""
    headers = sorted(path.name for path in (INCLUDE / "kith").glob("*.h") if path.name not in NOT_COMPILED)
    source, library = folder / "headers.cpp", folder / "libheaders.so"
    source.write_text("".join(f"#include \"kith/{name}\"\n" for name in headers) +
                      "extern \"C\" __attribute__((visibility(\"default\"))) int kith_headers() { return 0; }\n")
    run(cxx, "-std=c++20", *DEBUG, source, "-o", library)
    found = set()

    def walk(element, scope):
        for each in element:
            name = each.get("name", "")
            if each.tag == "namespace-decl":
                walk(each, f"{scope}{name}::")
            elif each.tag == "class-decl" and f"{INCLUDE}/kith/" in each.get("filepath", "") and each.get("size-in-bits"):
                members = [f"{member[0].get('name')}@{int(member.get('layout-offset-in-bits')) // 8}"
                           for member in each.iter("data-member") if member.get("layout-offset-in-bits")]
                found.add(f"{scope}{name} {int(each.get('size-in-bits')) // 8}: {' '.join(members)}".rstrip(": "))
                walk(each, f"{scope}{name}::")
            elif each.tag in ("abi-instr", "member-type"):
                walk(each, scope)

    walk(xml.fromstring(described(library, "--load-all-types")), "")
    return sorted(found)


def changes(name, lines):
    old = (KEPT / name).read_text().splitlines()
    return [line for line in difflib.unified_diff(old, lines, lineterm="", n=0) if line[0] in "+-" and line[:3] not in ("+++", "---")]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--write", action="store_true")
    options.add_argument("--nm", default="nm")
    options.add_argument("--cc", default="cc")
    options.add_argument("--cxx", default="c++")
    options.add_argument("libraries", nargs=2, type=pathlib.Path)
    options = options.parse_args()
    exported = list(symbols(options.nm, options.libraries))
    has_tools = shutil.which("abidw") and shutil.which("abidiff")
    if not has_tools and options.write:
        sys.exit("abi: no abidw and abidiff; Debian: abigail-tools")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        now = folder / "c.abi"
        if has_tools:
            now.write_text(described(c_stub(folder, options.cc), "--load-all-types", "--no-show-locs"))
            structs = layouts(folder, options.cxx)
        if options.write:
            shutil.copyfile(now, KEPT / "c.abi")
            (KEPT / "layout.txt").write_text("\n".join(structs) + "\n")
            (KEPT / "symbols.txt").write_text("\n".join(exported) + "\n")
            return 0
        found = changes("symbols.txt", exported)
        lost = any(line.startswith("-") for line in found)
        if has_tools:
            found += changes("layout.txt", structs)
            difference = subprocess.run(["abidiff", KEPT / "c.abi", now], capture_output=True, text=True)
            if difference.returncode:
                found += ["c.h:", difference.stdout + difference.stderr]
                lost = lost or bool(difference.returncode & INCOMPATIBLE)
    print(*found, sep="\n")
    print(f"abi: {len(exported)} symbols, {len(found)} changes{', some incompatible' if lost else ''}")
    if found:
        print("docs/install.md, Binary interface, says which version may change it; if this one may: tests/check_abi.py --write")
        return 1
    if not has_tools:
        print("abi: no abidw and abidiff (Debian: abigail-tools): layouts and c.h were not compared")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
