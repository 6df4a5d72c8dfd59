"""Compiles what other libraries need to be called from a benchmark in Python."""
import ctypes
import os
import pathlib
import subprocess
import tempfile

FLAGS = ["-O3", "-march=native", "-shared", "-fPIC"]


def compiled(name, library):
    """The driver NAME.cpp of this folder, linked with that library, as a ctypes.CDLL."""
    source = pathlib.Path(__file__).with_name(f"{name}.cpp")
    with tempfile.TemporaryDirectory() as folder:
        driver = pathlib.Path(folder) / f"{name}.so"
        subprocess.run([os.environ.get("CXX", "c++"), *FLAGS, "-o", driver, source, f"-l{library}"], check=True)
        return ctypes.CDLL(str(driver))


def machine():
    """The processor, by its own name and numbers."""
    said = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        said.setdefault(name.strip(), value.strip())
    return {"processor": f"{said.get('model name')}, family {said.get('cpu family')}, model {said.get('model')}",
            "cores": os.cpu_count(), "load": os.getloadavg()}
