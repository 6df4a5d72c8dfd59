#!/usr/bin/env python3
"""Formulas on the command line: what is none is an error, and what is one means what C says."""
import json

import cli_support
from cli_support import kith, random_rows, write_npy


class Formula(cli_support.Cli):
    def inputs(self, *more):
        write_npy(self.at("points.npy"), random_rows(60, 3, 1))
        write_npy(self.at("asked.npy"), random_rows(4, 3, 2))
        return ["--base", self.at("points.npy"), "--queries", self.at("asked.npy"), "-k", 9, *more]

    def test_an_empty_formula_is_an_error(self):
        kith("search", *self.inputs("--ids", self.at("ids.npy"), "--quiet"))
        files = ["--base", self.at("points.npy"), "--queries", self.at("asked.npy"), "--ids", self.at("ids.npy")]
        for text, position in (("", 1), ("  ", 3)):
            told = f"formula: '{text}' at position {position}: it is empty; expected"
            self.assertIn(told, kith("search", *self.inputs("--formula", text), code=2).stderr)
            self.assertIn(told, kith("verify", *files, "--formula", text, code=2).stderr)

    def test_an_error_names_one_position(self):
        error = kith("search", *self.inputs("--formula", "a + nonsense(q"), code=2).stderr
        self.assertEqual(error.count("position"), 1)
        self.assertIn("at position 5: unknown name 'nonsense'; expected a, q, x", error)

    def test_numbers_are_doubles_and_the_order_is_as_written(self):
        def found(text):
            answer = json.loads(kith("search", *self.inputs("--json", "--f64", "--formula", text)).stdout)
            return answer["neighbors"]

        self.assertEqual(found("a + fabs(q - x) * 010"), found("a + fabs(q - x) * 10"))
        self.assertEqual(found("a + 1/3 * fabs(q)")["distances"][0][0] > 0, True)
        # (x + 1e16) - 1e16 is a multiple of 2: coordinates below 1 vanish.
        for row in found("a + fabs((x + 1e16) - 1e16)")["distances"]:
            self.assertTrue(all(distance % 2 == 0 for distance in row))


if __name__ == "__main__":
    cli_support.main(__doc__)
