#!/usr/bin/env python3
"""The test `statics`: nothing in the libraries is made under a lock at its first use, or destroyed at exit.

A child of fork() may find a guard of a function-local static held by a thread that it does not have, and threads and
destructors that still run at exit may use what exit() has destroyed. So there is no guard, no registered destructor, no
dynamic initialiser, and no variable of a function: constants, and atomics of namespaces (src/machine/lasting.h) serve. What
nvcc makes of its own is excepted: the registration of its kernels, and the guards within the stubs that launch them.

usage: check_statics.py [--nm NM] [--objdump OBJDUMP] LIBRARY...
"""
import argparse
import re
import subprocess
import sys

# Such as counts of those that wait for an atomic, and what CUB keeps of devices, none of which a child of fork() can use.
OF_OTHERS = re.compile(r"_Z(GV)?ZNK?(St|3cub)")
MUTABLE = re.compile(r"\.t?(data|bss)(\._Z.*)?$")
KERNELS, LAUNCH = "__sti____cudaRegisterAll", "__device_stub__"  # nvcc's
STREAMS = "_ZStL8__ioinit"  # <iostream>, which CUB includes: the standard streams count who uses them
GUARD, AT_EXIT = "__cxa_guard_acquire", "__cxa_atexit"
REGISTERS = {AT_EXIT: "registers a destructor for exit()", "__cxa_thread_atexit": "has a thread_local with a destructor",
             GUARD: "makes a static under a guard"}


def symbols(nm, library):
    """(object, symbol, section) of every symbol."""
    text = subprocess.run([nm, "-A", "--format=sysv", library], check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        fields = line.split("|")
        if len(fields) == 7:
            where, name = fields[0].rsplit(":", 1)
            yield where.rsplit(":", 1)[-1], name.strip(), fields[6].strip()


def initialised(objdump, library):
    """(object, section, bytes) of what runs when a library is loaded."""
    text = subprocess.run([objdump, "-h", library], check=True, capture_output=True, text=True).stdout
    where = ""
    for line in text.splitlines():
        of_file = re.match(r"(\S+):\s+file format", line)
        section = re.match(r"\s*\d+ (\.(?:init_array|ctors)\S*)\s+([0-9a-f]+)", line)
        where = of_file[1] if of_file else where
        if section:
            yield where, section[1], int(section[2], 16)


def demangled(name):
    return subprocess.run(["c++filt", name], check=True, capture_output=True, text=True).stdout.strip()


def complaints_of(nm, objdump, library):
    found = list(symbols(nm, library))
    kernels = {where for where, name, _ in found if KERNELS in name}
    streams = {where for where, name, _ in found if name == STREAMS} & kernels
    for where, name, section in found:
        if name in REGISTERS and not (name == GUARD and where in kernels or name == AT_EXIT and where in streams):
            yield f"{where}: {REGISTERS[name]} ({name})"
        elif OF_OTHERS.match(name) or LAUNCH in name:
            continue
        elif name.startswith("_ZGV"):
            yield f"{where}: {demangled(name)}"
        elif name.startswith("_ZZ") and MUTABLE.match(section):
            yield f"{where}: {demangled(name)}: a variable of a function"
    pointer = 8
    for where, section, size in initialised(objdump, library):
        if where not in kernels or size > pointer * (1 + (where in streams)):
            yield f"{where}: {section}: a dynamic initialiser"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--nm", default="nm")
    options.add_argument("--objdump", default="objdump")
    options.add_argument("libraries", nargs="+")
    options = options.parse_args()
    complaints = []
    for library in options.libraries:
        found = list(complaints_of(options.nm, options.objdump, library))
        print(f"{library}: {len(found)} complaints")
        complaints += found
    print("\n".join(sorted(complaints)))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
