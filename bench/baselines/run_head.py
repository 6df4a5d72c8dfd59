"""The beginning of every record of a benchmark in Python, as of kith-bench's."""
import datetime
import pathlib
import subprocess
import sys

import machine

ROOT = pathlib.Path(__file__).resolve().parents[2]


def gpu():
    """Name and driver of the first GPU."""
    line = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True,
                          text=True, check=True).stdout.splitlines()[0]
    return [field.strip() for field in line.split(",")]


def head(device="cpu"):
    """Device, driver, date, arguments, and the hash of the sources (scripts/source-hash bench). device: cpu, or cuda..."""
    script, *arguments = sys.argv
    said = {"device": machine.cpu_fields().get("model name", "CPU"),
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "command": ["python3", pathlib.Path(script).resolve().relative_to(ROOT).as_posix(),
                        *(pathlib.Path(word).name if word.startswith("/") else word for word in arguments)],
            "sources": subprocess.run([ROOT / "scripts/source-hash", "bench"], capture_output=True, text=True,
                                      check=True).stdout.strip()}
    if device.startswith("cuda"):
        said["device"], said["driver"] = gpu()
    return said
