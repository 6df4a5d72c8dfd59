#!/usr/bin/env python3
"""The test `wheel`: what the wheels of a build hold asks for no newer system than manylinux_2_28, and for no other package.

usage: check_wheel.py FOLDER   (exit code 77: there is no wheel in it; scripts/wheel makes them)
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

# manylinux_2_28's, of PEP 600 as auditwheel has it, and the functions of zlib.
NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0), "ZLIB": (1, 2, 9)}
LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1",
             "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libkith.so"}
UNVERSIONED = r"_?Py|gz|(de|in)flate|(un)?compress|crc32|adler32"  # the interpreter's, and zlib's oldest
BACKENDS = ("310", "311", "312", "313", "314", "315")


def readelf(option, path):
    return subprocess.run(["readelf", option, "--wide", path], check=True, capture_output=True, text=True).stdout


def names(path, defined):
    """(binding, name with its version) of the dynamic symbols of a file."""
    for line in readelf("--dyn-syms", path).splitlines():
        words = line.split()
        if len(words) >= 8 and words[0][:-1].isdigit() and (words[6] != "UND") == defined:
            yield words[4], words[7]


def complaints_of(path, exported):
    for library in re.findall(r"NEEDED.*\[(.*)\]", readelf("--dynamic", path)):
        if library not in LIBRARIES:
            yield f"needs {library}"
    for binding, symbol in names(path, defined=False):
        name, _, version = symbol.partition("@")
        family, _, number = version.strip("@").partition("_")
        if family in NEWEST and re.fullmatch(r"[\d.]+", number):
            if tuple(map(int, number.split("."))) > NEWEST[family]:
                yield f"asks for {symbol}"
        elif version:
            yield f"asks for {symbol}, a version of no family"
        elif binding != "WEAK" and name not in exported and not re.match(UNVERSIONED, name):
            yield f"asks for {name}, which nothing says who has"


def check(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    files = [path for path in folder.rglob("*") if path.is_file() and path.open("rb").read(4) == b"\x7fELF"]
    exported = {name for _, name in names(folder / "kith/lib/libkith.so", defined=True)}
    complaints = [f"{path.relative_to(folder)} {complaint}" for path in files for complaint in complaints_of(path, exported)]
    metadata = next(folder.glob("*.dist-info/METADATA")).read_text()
    needed = re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra)", metadata, re.MULTILINE)
    if needed != ["numpy"]:
        complaints.append(f"needs the packages {needed}; expected numpy alone")
    if "-abi3-" in wheel.name:
        backends = {match[1] for path in files if (match := re.search(r"_nb/.*\.cpython-(\d+)-", str(path)))}
        complaints += [f"nanobind's module for CPython {version} is missing" for version in BACKENDS if version not in backends]
    if not re.search(r"-manylinux_2_28_(x86_64|aarch64)\.whl$", wheel.name):
        complaints.append("is not named manylinux_2_28")
    print(f"{wheel.name}: {len(files)} libraries, modules and programs")
    return [f"{wheel.name}: {complaint}" for complaint in complaints]


def main():
    wheels = sorted(pathlib.Path(sys.argv[1]).glob("*.whl"))
    if not wheels:
        print("no wheel")
        return 77
    complaints = []
    for wheel in wheels:
        with tempfile.TemporaryDirectory() as folder:
            complaints += check(wheel, pathlib.Path(folder))
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
