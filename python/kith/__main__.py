"""The command line: ``python -m kith`` and the command ``kith``. The program lies next to this module and takes Python's place."""
from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(FOLDER, "bin", "kith")
DEMO_DATA = os.path.join(FOLDER, "data", "fashion-mnist")


def arguments(given: list[str]) -> list[str]:
    """`kith demo` without a folder of images takes the package's."""
    names = {word.partition("=")[0] for word in given}
    if given[:1] == ["demo"] and not names & {"--data", "--help", "-h"}:
        return [*given, "--data", DEMO_DATA]
    return given


def main() -> NoReturn:
    """Runs the program with the arguments of this process; exit code 2 where it cannot be run."""
    try:
        os.execv(PROGRAM, ["kith", *arguments(sys.argv[1:])])
    except FileNotFoundError:
        why = ("this build of the package is without the command line, whose build needs CLI11, nlohmann-json and libpng; "
               "expected a wheel of kith-knn, or a build that finds them")
    except OSError as error:
        why = f"cannot run {PROGRAM}: {error.strerror}"
    sys.stderr.write(f"kith: {why}\n")
    sys.exit(2)


if __name__ == "__main__":
    main()
