#!/usr/bin/env python3
"""The source distribution holds every tracked file that the package is built from, and nothing that is not tracked.

usage: check_sdist.py FILE.tar.gz [ROOT]
"""
import pathlib
import subprocess
import sys
import tarfile

BUILT_FROM = ("CMakeLists.txt", "LICENSE", "README.md", "cli/", "cmake/", "include/", "pyproject.toml", "python/", "src/")
MADE = {"PKG-INFO"}  # by the build


def main(archive, root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, text=True)
    if listed.returncode:
        print(f"sdist: {root} is no clone: nothing to compare with")
        return 77
    tracked = set(listed.stdout.split("\0")[:-1])
    with tarfile.open(archive) as tar:
        held = {member.name.partition("/")[2]: member for member in tar.getmembers() if not member.isdir()}
    complaints = [f"{name}: missing" for name in sorted(tracked - held.keys()) if name.startswith(BUILT_FROM)]
    complaints += [f"{name}: not tracked" for name in sorted(held.keys() - tracked - MADE)]
    complaints += [f"{name}: {member.size} bytes, not those of the tree" for name, member in sorted(held.items())
                   if name in tracked and member.isreg() and member.size != (root / name).stat().st_size]
    print(*complaints, sep="\n")
    print(f"sdist: {len(held)} files, {archive.stat().st_size / 1e6:.1f} MB; {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else pathlib.Path(__file__).parent.parent).resolve()))
