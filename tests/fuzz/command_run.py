"""One run of a command line under conditions: limits, closed or full descriptors, a signal."""
import os
import resource
import signal
import subprocess

SECONDS = 60  # of a run
SIGNALS = {"INT": signal.SIGINT, "TERM": signal.SIGTERM, "HUP": signal.SIGHUP}


class Finding(Exception):
    pass


class Conditions:
    """What a run meets beside its arguments."""

    def __init__(self, random_, calm):
        self.limits, self.stdout, self.stderr, self.stdin = {}, "pipe", "pipe", "null"
        self.signal = self.delay = None
        if calm:
            return
        kind = random_.randrange(10)
        if kind < 2:
            self.limits["AS"] = random_.choice([1 << 27, 1 << 28, 1 << 29, 1 << 30, random_.randrange(1 << 26, 1 << 30)])
        elif kind == 2:
            self.limits["FSIZE"] = random_.choice([0, 1, 100, 4096, random_.randrange(20000)])
        elif kind == 3:
            self.limits["NOFILE"] = random_.randrange(3, 12)
        elif kind == 4:
            self.stdout = random_.choice(["full", "closed", "broken"])
        elif kind == 5:
            self.stderr = random_.choice(["full", "closed", "broken"])
        elif kind == 6:
            self.stdin = "closed"
            self.stdout, self.stderr = random_.choice(["pipe", "closed"]), random_.choice(["pipe", "closed"])
        elif kind < 9:
            self.signal = random_.choice(list(SIGNALS))
            self.delay = random_.uniform(0, random_.choice([0.02, 0.1, 0.5]))

    def apply(self):
        """In the child."""
        for name, value in self.limits.items():
            resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))
        for name, fd in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
            if getattr(self, name) == "closed":
                os.close(fd)

    def __str__(self):
        parts = [f"RLIMIT_{name}={value}" for name, value in self.limits.items()]
        parts += [f"{name} {getattr(self, name)}" for name in ("stdin", "stdout", "stderr")
                  if getattr(self, name) not in ("pipe", "null")]
        if self.signal:
            parts.append(f"SIG{self.signal} after {self.delay:.4f} s")
        return ", ".join(parts) or "nothing special"


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


def target(kind):
    """A file to write to, and what to close once the child has it."""
    if kind == "full":
        file = open("/dev/full", "wb")
        return file, file
    if kind == "broken":
        read, write = os.pipe()
        os.close(read)
        file = os.fdopen(write, "wb")
        return file, file
    return (subprocess.DEVNULL if kind == "closed" else subprocess.PIPE), None


def start(kith, arguments, folder, conditions):
    environment = {"PATH": os.environ.get("PATH", ""), "TMPDIR": str(folder), "OMP_WAIT_POLICY": "passive",
                   "HOME": str(folder)}
    out, out_file = target(conditions.stdout)
    err, err_file = target(conditions.stderr)
    child = subprocess.Popen([kith, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                             env=environment, preexec_fn=conditions.apply)
    for file in (out_file, err_file):
        if file:
            file.close()
    try:
        if conditions.signal:
            try:
                child.wait(conditions.delay)
            except subprocess.TimeoutExpired:
                child.send_signal(SIGNALS[conditions.signal])
        out, err = child.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        raise Finding(f"runs for more than {SECONDS} s") from None
    return Result(child.returncode, out or b"", err or b"")
