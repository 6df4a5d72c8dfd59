"""kith recommend and kith retrieve on small files; usage: test_cli_recommend.py KITH_BINARY"""
import array
import io
import json
import random
import struct
import subprocess
import zipfile

import cli_support
from cli_support import Cli, kith, main, read_npy, write_npy

TAKEN = [[3, 1, 0, 0], [3, 1, 2, 0], [0, 0, 1, 4], [0, 0, 0, 5]]


def npy(values, letter, descr, shape):
    header = repr({"descr": descr, "fortran_order": False, "shape": shape})
    header += " " * ((64 - (10 + len(header) + 1) % 64) % 64) + "\n"
    body = values if isinstance(values, bytes) else array.array(letter, values).tobytes()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + body


def write_csr(path, rows, name=b"csr", compressed=False, backwards=False, **changed):
    """As scipy.sparse.save_npz; backwards: the columns of each row descend, and their values are in halves."""
    indices, data, indptr = [], [], [0]
    for row in rows:
        cells = [(i, v) for i, v in enumerate(row) if v]
        if backwards:
            cells = [(i, v / 2) for i, v in reversed(cells) for _ in range(2)]
        indices += [i for i, _ in cells]
        data += [float(v) for _, v in cells]
        indptr.append(len(indices))
    parts = {"indices": npy(indices, "i", "<i4", (len(indices),)), "indptr": npy(indptr, "i", "<i4", (len(indptr),)),
             "format": npy(name, "", f"|S{len(name)}", ()), "shape": npy([len(rows), len(rows[0])], "q", "<i8", (2,)),
             "data": npy(data, "d", "<f8", (len(data),))} | changed
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
        for part, content in parts.items():
            if content is not None:
                archive.writestr(part + ".npy", content)


NOTHING = {"indices": npy([], "i", "<i4", (0,)), "data": npy([], "d", "<f8", (0,))}


class Recommend(Cli):
    def test_sparse_and_dense(self):
        write_csr(self.at("taken.npz"), TAKEN)
        write_csr(self.at("squeezed.npz"), TAKEN, compressed=True)
        write_csr(self.at("backwards.npz"), TAKEN, backwards=True)
        write_npy(self.at("taken.npy"), TAKEN, "i4")
        for file in ("taken.npz", "squeezed.npz", "backwards.npz", "taken.npy"):
            kith("recommend", self.at(file), "-k", 1, "-n", 2, "-o", self.at("items.npy"), "--predictions",
                 self.at("predictions.npy"), "--quiet")
            self.assertEqual(read_npy(self.at("items.npy")), [[2, -1], [-1, -1], [-1, -1], [2, -1]], file)
            predictions = read_npy(self.at("predictions.npy"))
            self.assertAlmostEqual(predictions[0][0], 2 / 6, 6)
            self.assertAlmostEqual(predictions[3][0], 1 / 5, 6)
            self.assertEqual(predictions[1], [0, 0])
        given = ("recommend", self.at("taken.npz"), "-k", 1, "--as-given", "-m", "cityblock")
        self.assertIn("0  2 (2)", kith(*given).stdout)
        self.assertIn("0  2 (2)", kith(*given, "--users-at-once", 2, "--uniform").stdout)

    def test_hold_out(self):
        generator = random.Random(5)
        rows = [[generator.randrange(3) if item % 4 == user % 4 else 0 for item in range(24)] for user in range(80)]
        write_csr(self.at("many.npz"), rows)
        files = ("recommend", self.at("many.npz"), "-k", 15, "-n", 3, "--hold-out", "--seed", 4)
        said = json.loads(kith(*files, "--held-out", self.at("held.npy"), "-o", self.at("items.npy"), "--json").stdout)
        held, items = [row[0] for row in read_npy(self.at("held.npy"))], read_npy(self.at("items.npy"))
        judged = [user for user, row in enumerate(rows) if sum(v != 0 for v in row) > 1]
        self.assertEqual([user for user, item in enumerate(held) if item >= 0], judged)
        self.assertTrue(all(rows[user][held[user]] for user in judged))
        self.assertEqual((said["users"], said["items"], said["judged"]), (80, 24, len(judged)))
        self.assertAlmostEqual(said["hit_rate"], sum(held[u] in items[u] for u in judged) / len(judged))
        self.assertGreater(said["hit_rate"], said["popular_hit_rate"])
        self.assertEqual(said["report"]["queries"], 80)
        self.assertTrue(0 < said["search_seconds"] <= said["seconds"])
        self.assertIn(f"{len(judged)} users", kith(*files).stdout)
        blocks = json.loads(kith(*files, "--users-at-once", 7, "-t", 1, "--json").stdout)
        self.assertEqual(blocks["hit_rate"], said["hit_rate"])

    def test_first_rows_in_json(self):
        write_npy(self.at("taken.npy"), TAKEN, "i4")
        given = ("recommend", self.at("taken.npy"), "-k", 1, "--json")
        said = json.loads(kith(*given).stdout)
        self.assertEqual(said["count"], 4)  # of few items all
        self.assertEqual([(row["user"], row["items"]) for row in said["rows"]], [(0, [2]), (1, []), (2, []), (3, [2])])
        self.assertAlmostEqual(said["rows"][0]["predictions"][0], 2 / 6, 6)
        self.assertNotIn("rows", json.loads(kith(*given, "-o", self.at("items.npy")).stdout))

    def test_without_preferences(self):
        self.at("far.csv").write_text("0\n10\n20\n")
        kith("radius", "-b", self.at("far.csv"), "-r", 1, "--csr", self.at("none.npz"), "--quiet")
        kith("recommend", self.at("none.npz"), "-o", self.at("items.npy"), "--quiet")
        self.assertEqual(read_npy(self.at("items.npy")), [[-1] * 3] * 3)
        write_csr(self.at("none.npz"), [[0] * 4] * 2, **NOTHING)
        self.assertIn("0 users", kith("recommend", self.at("none.npz"), "--hold-out").stdout)
        write_csr(self.at("none.npz"), TAKEN, **NOTHING)
        self.assert_error(kith("recommend", self.at("none.npz"), code=2), "none.npz", "0 indices")

    def test_standard_input_and_upper_case(self):
        write_csr(self.at("TAKEN.NPZ"), TAKEN)
        wanted = kith("recommend", self.at("TAKEN.NPZ"), "-k", 1, "--quiet").stdout
        self.assertIn("0  2 (", wanted)
        with open(self.at("TAKEN.NPZ"), "rb") as file:
            got = subprocess.run([cli_support.KITH, "recommend", "-", "--format", "npz", "-k", "1", "--quiet"], stdin=file,
                                 capture_output=True, text=True, timeout=60)
        self.assertEqual((got.stdout, got.stderr), (wanted, ""))

    def test_refused(self):
        write_csr(self.at("taken.npz"), TAKEN)
        self.assert_error(kith("recommend", self.at("taken.npz"), "-k", 0, code=2), "-k")
        for epsilon in ("0", "5e-324", "-1"):
            self.assert_error(kith("recommend", self.at("taken.npz"), "--epsilon", epsilon, code=2), "epsilon", "1e-240")
        for count in ("5", "1e18"):
            self.assert_error(kith("recommend", self.at("taken.npz"), "-n", count, code=2), "count: ", "at most the 4 items")
        all_others = kith("recommend", self.at("taken.npz"), "-k", 3, "--quiet").stdout
        for more in ((), ("--users-at-once", 1)):
            self.assertEqual(kith("recommend", self.at("taken.npz"), "-k", "1e12", "--quiet", *more).stdout, all_others)
        self.assert_error(kith("recommend", self.at("taken.npz"), "--packed-bits", code=2), "--packed-bits")
        self.assert_error(kith("recommend", self.at("taken.npz"), "-m", "ip", code=2), "inner_product")
        self.assert_error(kith("recommend", self.at("taken.npz"), "--held-out", self.at("h.npy"), code=2), "--hold-out")
        self.assert_error(kith("recommend", self.at("taken.npz"), "-o", self.at("taken.npz"), code=2), "taken.npz")
        self.assert_error(kith("recommend", self.at("nosuch.npz"), code=2), "nosuch.npz")
        write_npy(self.at("below.npy"), [[1.0, -1.0], [1.0, 2.0]])
        self.assert_error(kith("recommend", self.at("below.npy"), code=2), "row 0, column 1")
        for bad, changed, words in (("csc", {"name": b"csc"}, ("csc", "csr")),
                                    ("coo", {"name": b"coo", "indptr": None, "indices": None, "row": npy([0], "i", "<i4", (1,)),
                                             "col": npy([0], "i", "<i4", (1,))}, ("coo", "csr")),
                                    ("dia", {"name": b"dia", "indptr": None, "indices": None,
                                             "offsets": npy([0], "i", "<i4", (1,))}, ("dia", "csr")),
                                    ("short", {"indptr": npy([0, 2, 5, 7], "i", "<i4", (4,))}, ("4 offsets",)),
                                    ("down", {"indptr": npy([0, 5, 2, 7, 8], "i", "<i4", (5,))}, ("contradict",)),
                                    ("wide", {"shape": npy([4, 3], "q", "<i8", (2,))}, ("column 3",)),
                                    ("real", {"indices": npy([0.0] * 8, "d", "<f8", (8,))}, ("f64",)),
                                    ("unnamed", {"format": None}, ("format",))):
            write_csr(self.at(f"{bad}.npz"), TAKEN, **changed)
            self.assert_error(kith("recommend", self.at(f"{bad}.npz"), code=2), f"{bad}.npz", *words)


class Retrieve(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        generator = random.Random(6)
        # Two kinds of pictures: coarse patches of colour, and fine ones.
        cls.pictures = []
        for number in range(4):
            step = 2 if number % 2 else 16
            tiles = [[[generator.randrange(256) for _ in range(3)] for _ in range(96 // step)] for _ in range(64 // step)]
            pixels = bytes(v for y in range(64) for x in range(96) for v in tiles[y // step][x // step])
            name = cls.folder / f"picture{number}.ppm"
            name.write_bytes(b"P6\n# a comment\n96 64\n255\n" + pixels)
            cls.pictures.append(name)
        write_npy(cls.folder / "kinds.npy", [[0], [1], [0], [1]], "i8")

    def test_pictures(self):
        files = ("retrieve", *self.pictures, "-k", 5)
        said = json.loads(kith(*files, "--labels", self.at("kinds.npy"), "-o", self.at("away.npy"), "--order",
                               self.at("order.npy"), "--json").stdout)
        self.assertEqual((said["images"], said["scales"], said["asked"]), (4, 3, [0, 1, 2, 3]))
        self.assertEqual(said["precision_at"][0], 1)
        away, order = read_npy(self.at("away.npy")), read_npy(self.at("order.npy"))
        self.assertEqual([row[0] for row in order], [2, 3, 0, 1])
        for image, row in enumerate(away):
            self.assertEqual(row[image], 0)
            self.assertEqual(order[image], sorted((i for i in range(4) if i != image), key=lambda i: row[i]))
        text = kith(*files, "--ask", "2,1", "--nearest", 1, "--labels", self.at("kinds.npy")).stdout
        self.assertIn("picture2.ppm: picture0.ppm (", text)
        self.assertIn("picture1.ppm: picture3.ppm (", text)
        self.assertIn("precision at 1: 100.0 %", text)
        both = kith(*files, "--both-ways", "-o", self.at("both.npy"), "--quiet")
        self.assertEqual(both.stdout, "")
        self.assertAlmostEqual(read_npy(self.at("both.npy"))[0][1], away[0][1] + away[1][0])
        rows = json.loads(kith(*files, "--ask", "2", "--ask", "1", "--nearest", 2, "--json").stdout)["rows"]
        self.assertEqual([row["image"] for row in rows], [2, 1])
        for row in rows:
            self.assertEqual(row["nearest"], order[row["image"]][:2])
            self.assertEqual(row["divergences"], [away[row["image"]][image] for image in row["nearest"]])
        self.assertNotIn("rows", json.loads(kith(*files, "-o", self.at("away.npy"), "--json").stdout))
        # Before the images, too, an option takes one value.
        self.assertIn("picture2.ppm: picture0.ppm (", kith("retrieve", "--ask", "2", *self.pictures, "-k", 5).stdout)

    def test_noise_of_each_image(self):
        flat = self.at("flat.PGM")
        flat.write_bytes(b"P5\n64 48\n255\n" + bytes([128]) * (64 * 48))
        same = self.at("same.pgm")
        same.write_bytes(flat.read_bytes())
        found = set()
        for seed in range(3):
            said = json.loads(kith("retrieve", flat, same, "-k", 1, "--seed", seed, "--json").stdout)
            # Of one noise each sample of the one would be in the other.
            self.assertEqual(said["left_out"], 0)
            found |= {row["divergences"][0] for row in said["rows"]}
        self.assertNotIn(None, found)
        self.assertEqual(len(found), 6)

    def test_duplicates(self):
        generator = random.Random(8)
        rows = [[[generator.gauss(number, 1) for _ in range(3)] for _ in range(40)] for number in range(3)]
        for name, of in (("a", rows[0]), ("again", rows[0]), ("b", rows[1]), ("constant", [[1.0] * 3] * 40), ("c", rows[2])):
            write_npy(self.at(f"{name}.npy"), of, "f8")
        files = [self.at(f"{name}.npy") for name in ("constant", "a", "c", "b", "again")]
        for order in (files, files[::-1]):
            result = kith("retrieve", *order, "-k", 1, "--nearest", 4, "--quiet").stdout
            self.assertIn("a.npy: again.npy (-inf) ", result)
            self.assertIn("again.npy: a.npy (-inf) ", result)
            said = json.loads(kith("retrieve", *order, "-k", 1, "--nearest", 4, "--json").stdout)["rows"]
            of_a = next(row for row in said if order[row["image"]].name == "a.npy")
            self.assertIsNone(of_a["divergences"][0])
            self.assertEqual(of_a["divergences"][1:], sorted(of_a["divergences"][1:]))
            of_constant = next(row for row in said if order[row["image"]].name == "constant.npy")
            self.assertEqual(of_constant["divergences"], [None] * 4)
            self.assertEqual(of_constant["nearest"], sorted(of_constant["nearest"]))

    def test_features(self):
        generator = random.Random(7)
        for number in range(3):
            sets = {f"scale{s}": [[generator.gauss(number % 2, 1) for _ in range(d)] for _ in range(60)]
                    for s, d in enumerate((3, 4))}
            with zipfile.ZipFile(self.at(f"image{number}.npz"), "w") as archive:
                for name, rows in sets.items():
                    buffer = io.BytesIO(npy([v for row in rows for v in row], "d", "<f8", (60, len(rows[0]))))
                    archive.writestr(name + ".npy", buffer.getvalue())
            write_npy(self.at(f"image{number}.npy"), sets["scale0"], "f8")
        files = [self.at(f"image{i}.npz") for i in range(3)]
        said = json.loads(kith("retrieve", *files, "-k", 3, "--order", self.at("order.npy"), "--json").stdout)
        self.assertEqual(said["scales"], 2)
        order = read_npy(self.at("order.npy"))
        self.assertEqual((order[0][0], order[2][0]), (2, 0))
        # Of one scale each it is the divergence that kith estimate gives.
        kith("retrieve", *(self.at(f"image{i}.npy") for i in range(3)), "-k", 3, "-o", self.at("one.npy"), "--quiet")
        alone = json.loads(kith("estimate", "divergence", "-x", self.at("image0.npy"), "-y", self.at("image1.npy"), "-k", 3,
                                "--json").stdout)
        self.assertAlmostEqual(read_npy(self.at("one.npy"))[0][1], alone["value"], 12)

    def test_refused(self):
        files = ("retrieve", *self.pictures)
        write_npy(self.at("three.npy"), [[0], [1], [0]], "i8")
        self.assert_error(kith("retrieve", self.pictures[0], code=2), "images: 1")
        self.assert_error(kith(*files, "--form", "new", code=2), "new", "nearest")
        self.assert_error(kith(*files, "--ask", 4, code=2), "4")
        for bad in ("", "1,", "1,,2", "x", "99999999999999999999"):
            self.assert_error(kith(*files, "--ask", bad, code=2), f"--ask: '{bad.split(',')[-1] if bad != '1,,2' else ''}'",
                              "expected a whole number")
        self.assert_error(kith(*files, "--ask=", code=2), "--ask")
        self.assert_error(kith(*files, "--ask=010", code=2), "10")  # no octal number
        self.assert_error(kith(*files, "-k", 100000, code=2), "k", "fewer than", "picture0.ppm, scale 0")
        write_npy(self.at("two.npy"), [[0.0, 1.0]] * 9)
        self.assert_error(kith("retrieve", self.at("three.npy"), self.at("two.npy"), "-k", 1, code=2),
                          "two.npy, scale 0: 2 columns; expected 1, as", "three.npy has")
        for metric, option in (("seuclidean", "variances"), ("mahalanobis", "inverse covariance")):
            self.assert_error(kith(*files, "-m", metric, code=2), option)
        self.assert_error(kith(*files, "-m", "cosine", code=2), "cosine")
        self.assert_error(kith(*files, "--labels", self.at("three.npy"), code=2), "three.npy", "4 images")
        self.assert_error(kith(*files, "-o", self.pictures[1], code=2), "picture1.ppm")
        good = self.pictures[0].read_bytes()
        for name, content, words in (("text.ppm", b"P3\n1 1\n255\n0 0 0\n", ("P5", "P6")), ("empty.ppm", b"", ("P5",)),
                                     ("short.ppm", good[:-1], ("96 x 64",)), ("deep.ppm", b"P5\n40 40\n65535\n" + bytes(9999), ("65535", "255")),
                                     ("wide.ppm", b"P6 99999999999999999999 1 255\n", ("width", "header")), ("none.ppm", b"P6\n", ("number",)),
                                     ("small.pgm", b"P5\n20 40\n255\n" + bytes(800), ("32",))):
            self.at(name).write_bytes(content)
            self.assert_error(kith("retrieve", self.pictures[0], self.at(name), code=2), f"{name}: ", *words)
        self.assert_error(kith("retrieve", self.pictures[0], self.at("nosuch.ppm"), code=2),
                          "nosuch.ppm: expected a readable file: No such file")
        self.at("folder.pgm").mkdir()
        self.assert_error(kith("retrieve", self.pictures[0], self.at("folder.pgm"), code=2), "folder.pgm: ", "a directory")


if __name__ == "__main__":
    main(__doc__)
