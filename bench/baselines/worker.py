"""One library in a process of its own: worker.py SETTINGS. packages.py starts it and asks; answers are lines of JSON.

Says that it has started. For a first line says which ways the library has, then, for each line {"way": NAME, "ids": FILE
or null}, runs one and says what it took.
"""
import argparse
import importlib
import json
import os
import pathlib
import sys
import threading


def say(**what):
    print(json.dumps(what), file=ANSWERS, flush=True)


def kith(case, settings):
    """kith's package, by its own calls."""
    import kith as package
    from baseline import Baseline
    how = {"metric": case.metric, "threads": settings.threads}
    index = package.Index(case.points, device=settings.device, **how)
    one_shot, prepared = (Baseline(f"kith {name}", "kith", mode, None) for name, mode in
                          (("search", "one-shot"), ("Index", "prepared")))

    def run(way, call):
        found = call()
        way.report = {name: getattr(found.report, name) for name in ("path", "certified", "retried", "scanned", "seconds")}
        return found.indices

    one_shot.run = lambda: run(one_shot, lambda: package.search(case.points, case.queries, case.k, device=settings.device, **how))
    prepared.run = lambda: run(prepared, lambda: index.search(case.queries, case.k, threads=settings.threads))
    return [one_shot, prepared]


class HostMemory:
    """The most that this process has held since `again`, beyond what it held at the start."""

    def __init__(self):
        self.before = self.field("VmRSS")
        self.again()

    def again(self):
        pathlib.Path("/proc/self/clear_refs").write_text("5")

    def most(self):
        return self.field("VmHWM") - self.before

    @staticmethod
    def field(name):
        lines = pathlib.Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name + ":"))


class DeviceMemory:
    """As above, for the device's memory, looked at a thousand times a second while `most` is to come."""

    def __init__(self):
        import torch
        self.free = torch.cuda.mem_get_info
        self.before = self.free()[0]
        self.again()

    def again(self):
        self.least, self.stop = self.free()[0], threading.Event()
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        while not self.stop.wait(0.001):
            self.least = min(self.least, self.free()[0])

    def most(self):
        self.stop.set()  # the times are of rounds without it
        return self.before - self.least


def preload(library):
    """Modules that take seconds, while the other processes start; one that is missing is missed when it is asked for."""
    for name in (library, f"{library}.neighbors", f"{library}.torch"):
        try:
            importlib.import_module(name)
        except Exception:  # whatever is wrong with it is said then
            pass


def main():
    settings = argparse.Namespace(**json.loads(sys.argv[1]))
    import machine
    machine.set_environment(settings)
    import baselines_cpu
    import baselines_gpu
    import cases
    import numpy as np
    import oracle

    libraries = {"kith": kith} | (baselines_gpu if settings.device == "cuda" else baselines_cpu).ALL
    synchronize = machine.synchronizer(settings)
    case = next(cases.cases(settings))
    synchronize()
    if settings.device == "cuda":
        preload(settings.library)
    say(ready=True)
    sys.stdin.readline()
    memory = DeviceMemory() if settings.device == "cuda" else HostMemory()
    try:
        ways = {way.name: way for way in libraries[settings.library](case, settings)}
    except Exception as error:
        say(error=str(error), kind="ImportError" if isinstance(error, ImportError) else "")
        return
    say(ways=[(way.name, way.mode) for way in ways.values()])
    made, taken = memory.most(), {}
    for line in sys.stdin:
        asked = json.loads(line)
        way = ways[asked["way"]]
        if asked["ids"]:
            memory.again()
        try:
            ids, seconds, cpu = machine.timed(way.run, synchronize)
        except Exception as error:
            say(error=f"{type(error).__name__}: {error}", kind="")
            continue
        if asked["ids"]:
            taken[way.name] = max(memory.most(), made if way.mode == "prepared" else 0)
            np.save(asked["ids"], oracle.host(ids))
        del ids
        say(seconds=seconds, cpu_s=cpu, memory_bytes=taken[way.name], report=way.report)


if __name__ == "__main__":
    ANSWERS = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    main()
