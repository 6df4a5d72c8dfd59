#!/usr/bin/env python3
"""The test `exports`: the shared libraries export what include/kith/ declares KITH_EXPORT, and nothing else.

usage: check_exports.py [--nm NM] LIBKITH LIBKITH_IO
"""
import argparse
import pathlib
import re
import subprocess
import sys

INCLUDE = pathlib.Path(__file__).resolve().parent.parent / "include" / "kith"
# What libkith_io exports; the other headers are libkith's.
OF_FILES = {"csr.h", "groundtruth.h", "io.h", "output.h", "searchable.h"}
OF_CLASS = ("typeinfo for ", "typeinfo name for ", "vtable for ")


def stripped(text):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL).replace("= {}", "")
    return re.sub(r"^\s*#.*(\\\n.*)*$", "", text, flags=re.MULTILINE)


def statements(text):
    """(enclosing class or "", statement) for each declaration of a header, in order; bodies of functions are left out."""
    scopes, statement = [], ""
    for piece in re.split(r"([;{}])", stripped(text)):
        inside_code = "code" in scopes
        if piece == "{":
            words = " ".join(statement.split())
            kind = re.search(r"\b(namespace|class|struct|enum(?: class)?|union|extern)\b", words.split("(")[0])
            if inside_code or (not kind and "(" in words) or statement.rstrip().endswith(("=", ")", "const")):
                scopes.append("code")
            elif kind and kind[1] in ("class", "struct"):
                yield "::".join(s for s in scopes if s), words + " {"
                named = re.search(r"(?:class|struct) (?:KITH_EXPORT )?(\w+)", words)
                scopes.append(named[1])
            else:  # of a namespace what follows kith
                scopes.append(words.split()[-1].removeprefix("kith").removeprefix("::") if words.startswith("namespace") else "")
            statement = ""
        elif piece == "}":
            scopes.pop()
            statement = ""
        elif piece == ";":
            if not inside_code and statement.strip():
                yield "::".join(s for s in scopes if s), " ".join(statement.split())
            statement = ""
        else:
            statement += piece


def declared(path):
    """The names that a header exports, and its functions that lack KITH_EXPORT."""
    exported, unmarked = set(), []
    prefix = "" if path.name == "c.h" else "kith::"
    private = False
    for scope, words in statements(path.read_text()):
        label = re.match(r"(?:.*\b)?(public|private|protected):\s*(.*)", words)
        if label:
            private, words = label[1] == "private", label[2]
        if re.match(r"(template|using|typedef|friend|static_assert|inline|constexpr)\b", words):
            continue
        whole = re.match(r"(?:class|struct) KITH_EXPORT (\w+)", words)
        if whole:
            exported |= {before + prefix + whole[1] for before in OF_CLASS}
        if re.match(r"(class|struct|enum)\b", words):
            private = private if not words.endswith("{") else words.startswith("class")
            continue
        function = re.match(r"(.*?)([~\w]+|operator\W+)\(", words)
        if not function or "(*" in words.split(")")[0] or "=" in function[1] or function[1].count("<") > function[1].count(">"):
            continue
        if "KITH_EXPORT" in function[1]:
            exported.add(prefix + (scope + "::" if scope else "") + function[2].strip())
        elif not private and not words.endswith("= delete") and not words.endswith("= default"):
            unmarked.append(f"{path.name}: {words}")
    return exported, unmarked


def found(nm, library):
    text = subprocess.run([nm, "-DC", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        symbol = line.split(" ", 2)[2]
        if symbol.startswith(OF_CLASS):
            yield symbol
        else:
            yield re.sub(r"\[abi:\w+\]|\(.*", "", symbol)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--nm", default="nm")
    options.add_argument("kith")
    options.add_argument("kith_io")
    options = options.parse_args()
    wanted, complaints = {False: set(), True: set()}, []
    for path in sorted(INCLUDE.glob("*.h")):
        names, unmarked = declared(path)
        wanted[path.name in OF_FILES] |= names
        complaints += [f"{what}: declared in a public header without KITH_EXPORT" for what in unmarked]
    error = {before + "kith::Error" for before in OF_CLASS}
    for library, names in ((options.kith, wanted[False]), (options.kith_io, wanted[True])):
        exported = set(found(options.nm, library))
        permitted = names | error  # inline: each library that throws it has its typeinfo
        complaints += [f"{library} exports {name}, which no public header declares" for name in exported - permitted]
        complaints += [f"{library} does not export {name}, which a public header declares" for name in names - exported]
        print(f"{library}: {len(exported)} names exported, {len(names)} declared")
    print("\n".join(sorted(complaints)))
    return 1 if complaints or not wanted[False] or not wanted[True] else 0


if __name__ == "__main__":
    sys.exit(main())
