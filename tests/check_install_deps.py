#!/usr/bin/env python3
"""The test `install_deps`: scripts/install-deps installs what is missing and never upgrades or removes, on a make-believe Debian.

usage: check_install_deps.py
"""
import os
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).parent.parent / "scripts" / "install-deps"

TOOLS = {
    # Nothing is installed but what INSTALLED names.
    "dpkg-query": '#!/bin/sh\nfor last; do :; done\ncase " $INSTALLED " in *" $last "*) echo installed ;; *) exit 1 ;; esac\n',
    # -s prints the plan; install notes what it was asked for.
    "apt-get": '#!/bin/sh\ncase "$*" in\n*-s*) printf "$PLAN" ;;\n*install*) echo "$@" >> "$LOG" ;;\nesac\n',
    "id": "#!/bin/sh\necho 0\n",
}


def run(groups, plan, installed="", **more):
    """(exit code, standard error, what apt-get install was asked for)."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in TOOLS.items():
            tool = pathlib.Path(folder, name)
            tool.write_text(text)
            tool.chmod(0o755)
        log = pathlib.Path(folder, "log")
        log.touch()
        environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PLAN": plan, "INSTALLED": installed,
                       "LOG": str(log), **more}
        environment.setdefault("UPGRADE", "0")
        done = subprocess.run(["sh", SCRIPT, *groups], env=environment, capture_output=True, text=True)
        return done.returncode, done.stderr, log.read_text()


def main():
    new = "Inst libhdf5-dev (1.10.8 Debian:12 [amd64])\\nConf libhdf5-dev (1.10.8)\\n"
    code, _, asked = run(["hdf5"], new)
    assert code == 0 and "libhdf5-dev" in asked, (code, asked)

    curl = "Inst libcurl4 [7.88.1-10+deb12u8] (7.88.1-10+deb12u14 Debian:12 [amd64])\\n"
    code, said, asked = run(["hdf5"], curl + new)
    assert code == 3 and not asked, (code, asked)
    assert "libcurl4 (7.88.1-10+deb12u8 to 7.88.1-10+deb12u14)" in said and "UPGRADE=1" in said, said

    code, said, asked = run(["hdf5"], "Remv libfoo-dev [1.0]\\n" + new)
    assert code == 3 and not asked and "libfoo-dev (removed)" in said, (code, said)

    code, _, asked = run(["hdf5"], curl + new, UPGRADE="1")
    assert code == 0 and "libhdf5-dev" in asked, (code, asked)

    # What only the benchmark needs, it alone asks for.
    _, _, asked = run(["build", "hdf5", "test", "lint"], new)
    only = ("libhwy-dev", "libann-dev", "libvlfeat-dev")
    assert "libcli11-dev" in asked and not any(name in asked for name in only), asked
    _, _, asked = run(["bench"], new)
    assert all(name in asked for name in only), asked

    code, _, asked = run(["hdf5"], curl + new, installed="libhdf5-dev")
    assert code == 0 and not asked, (code, asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
