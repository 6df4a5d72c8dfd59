"""The traces of a run: its record as JSON, and the size of what pip has installed."""
import functools
import importlib.metadata
import json
import os
import pathlib
import re

import machine
import run_head


def write(settings, command, about, cells, more):
    """The record, where one is asked for."""
    if not settings.json:
        return
    about["load_after"] = [round(x, 2) for x in os.getloadavg()]
    command = ["python3", *(pathlib.Path(word).name if word.startswith("/") else word for word in command)]
    document = run_head.head(settings.device) | {"command": command, "machine": about, "blas": machine.blas(),
                                                 "versions": machine.versions()} | more | {"cells": cells}
    pathlib.Path(settings.json).write_text(json.dumps(document, indent=1) + "\n")


@functools.cache
def size(name):
    """Bytes of the files of a distribution; the files of another's that it shares count for both."""
    files = importlib.metadata.distribution(name).files or []
    return sum(path.stat().st_size for path in (file.locate() for file in files) if path.is_file())


def needed(name, known=None):
    """A distribution and all that it needs, extras apart."""
    try:
        from packaging.requirements import Requirement
    except ImportError:
        from pip._vendor.packaging.requirements import Requirement
    known = set() if known is None else known
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key not in known:
        try:
            requires = importlib.metadata.requires(key)
        except importlib.metadata.PackageNotFoundError:
            return known
        known.add(key)
        for requirement in map(Requirement, requires or []):
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                needed(requirement.name, known)
    return known


def installed(names):
    """Version and size of the first distribution of these names that is there, alone and with all that it needs."""
    for name in names:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        return {"distribution": name, "version": version, "installed_bytes": size(name),
                "installed_with_needed_bytes": sum(map(size, needed(name)))}
    return {}
