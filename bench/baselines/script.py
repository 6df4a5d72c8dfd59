"""The common parts of scripts that time kith alone on a CPU: their arguments, and the record of their rows."""
import argparse
import sys

import kith

import machine
import record


def whole_numbers(text):
    return [int(number) for number in text.split(",")]


def run(name, about, rows, dimensions, **numbers):
    """Parses the arguments of bench/`name`.py, with these defaults; runs rows(d, settings) for each number of dimensions,
    and writes what they yield where a record is asked for."""
    p = argparse.ArgumentParser(description=about.splitlines()[0])
    p.add_argument("--dimensions", type=whole_numbers, default=dimensions, metavar="D,D")
    for argument, default in (numbers | {"threads": 2, "rounds": 5}).items():
        p.add_argument(f"--{argument}", type=int, default=default, metavar=argument[0].upper())
    p.add_argument("--json", metavar="FILE")
    settings = p.parse_args()
    settings.kernels, settings.device = "shipped", "cpu"
    described = machine.describe(settings)
    found = [row for d in settings.dimensions for row in rows(d, settings)]
    record.write(settings, [f"bench/{name}.py", *sys.argv[1:]], described, found,
                 {"versions": {"kith": kith.__version__} | machine.versions()})
