#!/usr/bin/env python3
"""An option that names a file is not left out by naming it with nothing.

usage: test_cli_empty.py KITH
"""
import cli_support
from cli_support import Cli, kith


class Empty(Cli):
    def test_files_named_with_nothing(self):
        search = ("search", *self.inputs("-k", 3))
        for option in ("--ids", "--distances", "--out", "--csr", "--inverse-covariance", "--variances"):
            for given in ((option, ""), (option + "=",)):
                result = kith(*search, *given, code=2)
                self.assertEqual(result.stdout, "")
                if len(given) == 2:
                    self.assert_error(result, f"{option} '': expected the name of a file")
        ids = self.at("ids.npy")
        kith(*search, "--ids", ids, "--quiet")
        result = kith("verify", *self.inputs("--ids", ids, "--distances", ""), code=2)
        self.assert_error(result, "--distances '': expected the name of a file")
        self.assert_error(kith("demo", "--data", "", code=2), "--data '': expected the name of a folder")


if __name__ == "__main__":
    cli_support.main(__doc__)
