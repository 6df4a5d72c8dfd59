#!/usr/bin/env python3
"""Doxygen's INPUT_FILTER: a public header, whose comments are plain ones, with comments that Doxygen reads."""
import pathlib
import re
import sys
import textwrap

METRIC = re.compile(r'^KITH_METRIC\((\w+), \w+, "([^"]*)", "(.*)"\)$', re.MULTILINE)
METRIC_LIST = re.compile(r'#define KITH_METRIC\(name, type, aliases, what\) (.*)name,\n#include "kith/metrics.def"\n#undef KITH_METRIC\n')
ITEM = re.compile(r"^ {2,4}(\S+) {2,}(\S.*)$")


def enumerators(header, text):
    """metrics.def in the place where a header includes it."""
    listed = METRIC.findall((header.parent / "metrics.def").read_text())
    said = "/* {} */" if header.name == "c.h" else "// {}"
    return METRIC_LIST.sub(lambda match: "".join(f"    {match.group(1).replace('##', '')}{name}, {said.format(what)}\n"
                                                 for name, _, what in listed), text)


def escaped(text):
    """A line of prose without what Doxygen takes for HTML, commands or links."""
    return re.sub(r"(?<![\w`])kith::", "%kith::", re.sub(r"[\\@<>#]", r"\\\g<0>", text))


def prose(lines):
    """Lines of a comment: programs (five spaces or more), lists of arguments (name, two spaces, what) and sentences."""
    out, program, items = [], [], False
    for line in [*lines, ""]:
        item = ITEM.match(line)
        if line.startswith(" " * 5) and not items:
            program.append(line)
            continue
        if program:
            out += ["", "@code{.cpp}", *textwrap.dedent("\n".join(program)).splitlines(), "@endcode"]
            program = []
        if item:
            out += ([] if items else [""]) + [f"- `{item.group(1)}`: {escaped(item.group(2))}"]
            items = True
        elif items and line.startswith("    "):
            out.append("  " + escaped(line.strip()))
        else:
            out += ([""] if items else []) + [escaped(line.strip())]
            items = False
    return out[:-1]


def comment(lines, indent, mark="///"):
    return [f"{indent}{mark} {line}".rstrip() for line in prose(lines)]


def cpp(text):
    """// above a declaration becomes ///, // behind one ///<; the first comment is the file's."""
    out, block, indent, trailing = [], [], "", None
    first = True
    for line in [*text.splitlines(), ""]:
        code, slashes, words = line.partition("//")
        if slashes and not code.strip():
            if trailing is not None and len(code) >= trailing - 1 and not block:
                out.append(f"{code}///< {escaped(words.strip())}")
                continue
            indent = code
            if not words.startswith((" ----", " NOLINT")):
                block.append(words)
            continue
        if block:
            out += (["/// @file"] if first else []) + comment(block, indent) + ([""] if first else [])
            block, first = [], False
        trailing = None
        if slashes and code.count('"') % 2 == 0 and "NOLINT" not in words:
            trailing = len(code)
            line = f"{code}///< {escaped(words.strip())}"
        out.append(line)
    return "\n".join(out)


def c(text):
    """/* above a declaration becomes /**, /* behind one /**<."""
    def replaced(match):
        lead, words = match.group(1), match.group(2)
        if words.lstrip().startswith(("-----", "extern")) or "NOLINT" in words:
            return lead
        lines = [re.sub(r"^ *\*", "", line) for line in words.rstrip().split("\n")]
        if lead.strip():
            return f"{lead}/**< {' '.join(escaped(line.strip()) for line in lines)} */"
        start = "@file\n" if match.start() == 0 else ""
        return f"{lead}/** {start}" + "\n".join(prose(lines)) + " */"
    return re.sub(r"^([^\n]*?)/\*(.*?)\*/", replaced, text, flags=re.MULTILINE | re.DOTALL)


if __name__ == "__main__":
    header = pathlib.Path(sys.argv[1])
    source = enumerators(header, header.read_text())
    print(c(source) if header.name == "c.h" else cpp(source))
