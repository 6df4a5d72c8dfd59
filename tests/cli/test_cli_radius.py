#!/usr/bin/env python3
"""kith radius: rows and counts against the definition, files, boundaries, refusals."""
import array
import json
import math
import struct
import zipfile

from cli_support import Cli, kith, main, read_npy, write_npy


def distance(a, b):
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)))


def within(points, query, r, open_ball=False, skip=-1):
    """Ids of the points within a Euclidean distance, by (distance, id)."""
    found = sorted((distance(query, p), i) for i, p in enumerate(points) if i != skip)
    return [i for d, i in found if (d < r if open_ball else d <= r)]


def read_csr(path):
    """indptr, indices, data, shape of a file of scipy.sparse.save_npz, and the types of the first three."""
    parts, types = {}, {}
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for name in archive.namelist():
            data = archive.read(name)
            length = struct.unpack_from("<H", data, 8)[0]
            header = eval(data[10 : 10 + length])  # noqa: S307: our own file
            letter = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "|S3": "b"}[header["descr"]]
            parts[name[:-4]] = list(array.array(letter, data[10 + length :]))
            types[name[:-4]] = header["descr"]
    assert bytes(parts["format"]) == b"csr"
    return parts, types


class RadiusTest(Cli):
    def test_table(self):
        text = kith("radius", *self.inputs("-r", 2.5), "--quiet").stdout
        self.assertIn("within", text)
        self.assertIn("The first 10 of 20 rows", text)

    def test_rows_are_those_within(self):
        kith("radius", *self.inputs("-r", 2.5, "--csr", self.at("near.npz"), "--quiet"))
        parts, types = read_csr(self.at("near.npz"))
        self.assertEqual(parts["shape"], [20, 300])
        self.assertEqual((types["indices"], types["data"]), ("<i4", "<f4"))
        for i, query in enumerate(self.queries):
            begin, end = parts["indptr"][i : i + 2]
            self.assertEqual(parts["indices"][begin:end], within(self.points, query, 2.5))
        self.assertGreater(len(parts["data"]), 20)

    def test_boundary(self):
        """On a grid many points are at exactly the radius."""
        inputs = ("-b", self.at("grid.npy"), "-q", self.at("grid.npy"))
        for options, open_ball in (((), False), (("--open",), True)):
            for r in (0, 1, 2, math.sqrt(2), math.sqrt(5)):
                answer = json.loads(kith("radius", *inputs, "-r", r, "--json", *options).stdout)
                for i, row in enumerate(answer["rows"]):
                    expected = within(self.grid, self.grid[i], r, open_ball)
                    self.assertEqual((row["count"], row["ids"]), (len(expected), expected[:6]))

    def test_counts(self):
        for option in ((), ("--csr", self.at("also.npz"))):
            kith("radius", *self.inputs("-r", 2.5, "--counts", self.at("counts.npy"), "--quiet", *option))
            self.assertEqual(read_npy(self.at("counts.npy")), [[len(within(self.points, q, 2.5))] for q in self.queries])
        answer = json.loads(kith("radius", *self.inputs("-r", 2.5, "--only-counts", "--json")).stdout)
        self.assertEqual(answer["rows"][0], {"count": len(within(self.points, self.queries[0], 2.5)), "ids": [], "distances": []})

    def test_the_points_among_themselves(self):
        base = ("-b", self.at("base.npy"))
        for option, own in (((), False), (("--include-self",), True)):
            kith("radius", *base, "-r", 2, "--csr", self.at("graph.npz"), "--f64", "--quiet", *option)
            parts, types = read_csr(self.at("graph.npz"))
            self.assertEqual(types["data"], "<f8")
            for i, point in enumerate(self.points):
                begin, end = parts["indptr"][i : i + 2]
                self.assertEqual(parts["indices"][begin:end], within(self.points, point, 2, skip=-1 if own else i))

    def test_a_radius_of_each(self):
        radii = [math.sqrt(0.5 * i) for i in range(20)]
        for rows in ([[r] for r in radii], [radii]):
            write_npy(self.at("radii.npy"), rows, "f8")
            kith("radius", *self.inputs("--radii", self.at("radii.npy"), "--counts", self.at("n.npy"), "--quiet"))
            expected = [[len(within(self.points, q, r))] for q, r in zip(self.queries, radii)]
            self.assertEqual(read_npy(self.at("n.npy")), expected)

    def test_inner_product_is_at_least(self):
        kith("radius", *self.inputs("-r", 3, "-m", "inner_product", "--counts", self.at("n.npy"), "--quiet"))
        for (count,), q in zip(read_npy(self.at("n.npy")), self.queries):
            self.assertEqual(count, sum(sum(a * b for a, b in zip(q, p)) >= 3 for p in self.points))
        kith("radius", *self.inputs("--radius=-2", "-m", "inner_product", "--quiet"))

    def test_little_memory_changes_nothing(self):
        kith("radius", *self.inputs("-r", 3, "--csr", self.at("a.npz"), "--quiet"))
        kith("radius", *self.inputs("-r", 3, "--csr", self.at("b.npz"), "--quiet", "--memory", "1MiB", "--threads", 1))
        self.assertEqual(self.at("a.npz").read_bytes(), self.at("b.npz").read_bytes())
        leftovers = [path.name for path in self.folder.iterdir() if path.name.startswith(".kith")]
        self.assertEqual(leftovers, [])

    def test_squares_are_named(self):
        """Without -m the radius is a distance, which with sqeuclidean is a square."""
        of_distances = kith("radius", *self.inputs("-r", 2, "--json", "--only-counts")).stdout
        self.assertEqual(json.loads(of_distances)["metric"]["name"], "euclidean")
        of_squares = kith("radius", *self.inputs("-r", 4, "-m", "sqeuclidean", "--json", "--only-counts")).stdout
        self.assertEqual(json.loads(of_distances)["rows"], json.loads(of_squares)["rows"])

    def test_infinity_is_a_radius(self):
        answer = json.loads(kith("radius", *self.inputs("-r", "inf", "--only-counts", "--json")).stdout)
        self.assertEqual((answer["r"], answer["within"]), ("inf", 20 * 300))
        text = kith("radius", *self.inputs("--radius=-inf", "-m", "inner_product", "--only-counts", "--json")).stdout
        self.assertEqual(json.loads(text)["r"], "-inf")

    def test_refused(self):
        self.assert_error(kith("radius", *self.inputs(), code=2), "-r", "--radii")
        self.assert_error(kith("radius", *self.inputs("-r", -1), code=2), "--radius: -1", "at least 0")
        self.assert_error(kith("radius", *self.inputs("-r", "nan"), code=2), "--radius: 'nan'")
        self.assert_error(kith("radius", *self.inputs("-r", 1, "--csr", "near.txt"), code=2), ".npz")
        self.assert_error(kith("radius", *self.inputs("-r", 1, "--include-self"), code=2), "--include-self")
        self.assert_error(kith("radius", *self.inputs("-r", 1, "--f64", "--only-counts"), code=2), "--f64")
        write_npy(self.at("three.npy"), [[1.0], [2.0], [3.0]], "f8")
        self.assert_error(kith("radius", *self.inputs("--radii", self.at("three.npy")), code=2), "20 queries")
        write_npy(self.at("two_by_ten.npy"), [[1.0] * 10] * 2, "f8")
        self.assert_error(kith("radius", *self.inputs("--radii", self.at("two_by_ten.npy")), code=2), "2 x 10", "20 queries")
        self.assert_error(kith("radius", *self.inputs("-r", 1, "--csr", self.at("nowhere") / "near.npz"), code=2), "nowhere")


if __name__ == "__main__":
    main(__doc__)
