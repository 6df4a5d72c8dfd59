#!/usr/bin/env python3
"""Options that belong to one metric: variances, packed bits, and what they say of another."""
import json
import math

from cli_support import Cli, kith, main, read_npy, write_npy


class Metrics(Cli):
    def ids(self, *options, code=0):
        return json.loads(kith("search", *self.inputs("-k", 6, "--json", *options), code=code).stdout)["neighbors"]["ids"]

    def test_variances(self):
        write_npy(self.at("fours.npy"), [[4.0]] * 7, "f8")
        write_npy(self.at("row.npy"), [[4.0] * 7], "f8")
        for name in ("fours.npy", "row.npy"):
            self.assertEqual(self.ids("-m", "seuclidean", "--variances", self.at(name)), self.ids("-m", "l2"))
        answer = json.loads(kith("search", *self.inputs("-k", 2, "--json", "-m", "seuclidean")).stdout)
        self.assertEqual(answer["metric"], {"name": "seuclidean", "estimated": True})
        bad = kith("search", *self.inputs("-k", 6, "--variances", self.at("fours.npy")), code=2)
        self.assert_error(bad, "--variances", "seuclidean", "sqeuclidean")

    def test_verify_estimates_from_all_points(self):
        kith("search", *self.inputs("-k", 4, "-m", "seuclidean", "--ids", self.at("ids.npy"), "--quiet"))
        kith("verify", *self.inputs("-m", "seuclidean", "--ids", self.at("ids.npy")))
        ids = read_npy(self.at("ids.npy"))
        ids[3][0], ids[3][3] = ids[3][3], ids[3][0]
        write_npy(self.at("wrong.npy"), ids, "i8")
        kith("verify", *self.inputs("-m", "seuclidean", "--ids", self.at("wrong.npy")), code=1)

    def test_packed_fingerprints(self):
        write_npy(self.at("bits.npy"), [[255, 0], [15, 0], [1, 0], [0, 0]], "u1")
        for metric, distances in (("jaccard", [0, 0.5, 0.875, 1]), ("dice", [0, 1 / 3, 7 / 9, 1])):
            kith("search", "-b", self.at("bits.npy"), "-q", f"{self.at('bits.npy')}:0:1", "-k", 4, "-m", metric, "--packed-bits",
                 "--f64", "--distances", self.at("d.npy"), "--quiet")
            self.assertEqual(read_npy(self.at("d.npy")), [distances])

    def test_rows_with_nan_beside_one_query(self):
        """Coordinates that are equal but for a NaN are no neighbours, nor do they make the others look far."""
        rows = [[0.0] * 6 for _ in range(500)] + [[1.0 + i / 64, 0.5, -i / 128, 0.0, 0.25, 0.0] for i in range(100)]
        for i in range(500):
            rows[i][i % 6] = math.nan
        write_npy(self.at("points.npy"), rows, "f4")
        write_npy(self.at("query.npy"), [[0.0] * 6], "f4")
        for metric in ("chebyshev", "cityblock", "sqeuclidean", "cosine"):
            kith("search", "-b", self.at("points.npy"), "-q", self.at("query.npy"), "-k", 5, "-m", metric, "--ids",
                 self.at("nearest.npy"), "--quiet", "--force")
            self.assertEqual(read_npy(self.at("nearest.npy")), [[500, 501, 502, 503, 504]], metric)

    def test_haversine_wants_two_columns(self):
        self.assert_error(kith("search", *self.inputs("-k", 1, "-m", "haversine"), code=2), "7 columns", "haversine expected 2")

    def test_a_latitude_ends_at_a_pole(self):
        write_npy(self.at("points.npy"), [[0.5, 3.0], [1.5, -6.0]], "f8")
        write_npy(self.at("beyond.npy"), [[0.5, 3.0], [-1.83, 0.0]], "f8")
        for base, queries, what in (("points", "beyond", "queries"), ("beyond", "points", "points")):
            self.assert_error(kith("search", "-b", self.at(base + ".npy"), "-q", self.at(queries + ".npy"), "-k", 1, "-m", "haversine",
                                   code=2), what + ": row 1, column 0 is -1.83", "latitude")


if __name__ == "__main__":
    main(__doc__)
