#!/usr/bin/env python3
"""Matching of SIFT features: kith next to OpenCV's BFMatcher and FLANN, and VLFeat's k-d trees. One core.

usage: matching.py [--part pairs fig6] [-k K...] [--exact] [--rounds R] [--save FILE] [--arrays FILE --device NAME] [--json FILE]
(needs kith-knn, opencv-python-headless, scikit-image, scikit-learn; a C++ compiler and Debian's libvlfeat-dev)

pairs: the stereo pair that scikit-image ships, whose disparity is known, and photographs next to views of them by a
known homography. For each matcher the seconds to find two neighbours of every feature, and the fate of matches with a
ratio below 0.8. That is: how many of the exact ones are lost, how many others come instead, how many are right, and RANSAC's inliers.

fig6: Fig. 6 of Sismanis, Pitsianis and Sun 2012, 1,024 queries among 65,536 features of SIFT, all of the shipped images;
--exact: by VLFeat without a limit as well, which takes most of a minute.

--save FILE.npz keeps the features of fig6, and --arrays FILE.npz takes them: kith alone, on --device, by the clock.

Seconds are of one core (processor time, so that other work on the machine counts little), medians over interleaved rounds.
Matches of FLANN differ from run to run: those of the last round are counted.
"""
import argparse
import ctypes
import json
import os
import pathlib
import statistics
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"  # VLFeat's, FLANN's

import numpy as np  # noqa: E402

try:
    import cv2
    from skimage import data
    from sklearn.datasets import load_sample_image
except ImportError:  # which --arrays does without
    cv2 = None

import kith  # noqa: E402
from drivers import compiled, machine  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "baselines"))

import run_head  # noqa: E402

RATIO, PIXELS = 0.8, 2
VL_FLOAT, VL_L2 = 1, 1
QUERIES, CORPUS = 1024, 65_536


class Forest:
    """VLFeat's randomized k-d trees of rows of float32."""

    library = None

    def __init__(self, points, trees):
        self.points = points  # which VLFeat does not copy
        self.forest = ctypes.c_void_p(self.call("vl_kdforest_new", ctypes.c_void_p, VL_FLOAT, points.shape[1], trees, VL_L2))
        self.call("vl_kdforest_build", None, self.forest, len(points), points.ctypes.data)

    def __del__(self):
        self.call("vl_kdforest_delete", None, self.forest)

    def call(self, name, result, *arguments):
        function = getattr(self.library, name)
        function.restype = result
        return function(*(ctypes.c_void_p(a) if isinstance(a, int) else a for a in arguments))

    def search(self, queries, k, comparisons):
        """Squared distances and indices; comparisons: at most this many a query, 0 for as many as exactness takes."""
        indices, squares = np.empty((len(queries), k), np.uint32), np.empty((len(queries), k), np.float32)
        self.call("vl_kdforest_set_max_num_comparisons", None, self.forest, comparisons)
        self.call("vl_kdforest_query_with_array", ctypes.c_size_t, self.forest, indices.ctypes.data, k, len(queries),
                  squares.ctypes.data, queries.ctypes.data)
        return squares, indices.astype(np.int64)


def grey(image):
    return image if image.ndim == 2 else cv2.cvtColor(image[..., :3], cv2.COLOR_RGB2GRAY)


def features(image, **options):
    keypoints, descriptors = cv2.SIFT_create(**options).detectAndCompute(grey(image), None)
    return np.array([point.pt for point in keypoints]), descriptors


def view_of(image, rng):
    """Another view of an image and its homography: turned, shrunk, tilted, darkened, with noise."""
    height, width = image.shape[:2]
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    angle, scale = rng.uniform(-0.5, 0.5), rng.uniform(0.7, 0.9)
    middle = corners.mean(axis=0)
    turn = scale * np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    moved = (corners - middle) @ turn + middle + rng.uniform(-0.05, 0.05, (4, 2)) * min(height, width)
    homography = cv2.getPerspectiveTransform(corners, moved.astype(np.float32))
    view = cv2.warpPerspective(image, homography, (width, height), flags=cv2.INTER_AREA)
    return np.clip(0.8 * view + rng.normal(0, 5, view.shape), 0, 255).astype(np.uint8), homography


def pairs_of_images():
    """(name, image, image, function from places in the first to those in the second, NaN where that is unknown)"""
    left, right, disparity = data.stereo_motorcycle()

    def by_disparity(places):
        column, row = places.round().astype(int).T
        return places - np.stack([np.where(np.isfinite(disparity[row, column]), disparity[row, column], np.nan), 0 * row], axis=1)

    yield "motorcycle, stereo", left, right, by_disparity
    rng = np.random.default_rng(0)
    images = {"china": load_sample_image("china.jpg")}
    images |= {name: getattr(data, name)() for name in ("astronaut", "coffee", "gravel", "immunohistochemistry")}
    for name, image in images.items():
        view, homography = view_of(image, rng)
        yield name, image, view, lambda places, h=homography: cv2.perspectiveTransform(places[None], h)[0]


def of_opencv(matches):
    # Sums of squares of whole numbers, whose roots OpenCV rounds to f32.
    squares = np.rint(np.array([[m.distance for m in row] for row in matches]) ** 2)
    return squares, np.array([[m.trainIdx for m in row] for row in matches])


def flann(checks):
    return cv2.FlannBasedMatcher({"algorithm": 1, "trees": 4}, {"checks": checks})


def matchers(a, b):
    """name -> (what is timed, and what makes squared distances and indices of its result)"""
    as_bytes = a.astype(np.uint8), b.astype(np.uint8)

    def same(found):
        return found

    calls = {"kith": (lambda: kith.search(as_bytes[1], as_bytes[0], 2, threads=1, device="cpu")[:2], same),
             "BFMatcher": (lambda: cv2.BFMatcher(cv2.NORM_L2).knnMatch(a, b, 2), of_opencv)}  # of u8 it takes 6 times as long
    for checks in (32, 128, 512):
        calls[f"FLANN, 4 trees, {checks} checks"] = (lambda c=checks: flann(c).knnMatch(a, b, 2), of_opencv)
    for comparisons in (100, 500, 0):
        name = f"at most {comparisons}" if comparisons else "exact"
        calls[f"VLFeat, {name}"] = (lambda c=comparisons: Forest(b, 1).search(a, 2, c), same)
    return calls


def rounds_of(calls, rounds):
    """Median seconds and the last result of each call; calls alternate."""
    seconds, results = {name: [] for name in calls}, {}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.process_time()
            results[name] = call()
            seconds[name].append(time.process_time() - start)
    return {name: statistics.median(taken) for name, taken in seconds.items()}, results


def judged(squares, indices, exact, at_a, at_b, moved):
    """The fate of the matches; exact: the squared distances and indices of the true two nearest."""
    kept, wanted = (np.sqrt(s[:, 0]) < RATIO * np.sqrt(s[:, 1]) for s in (squares, exact[0]))
    same = indices[:, 0] == exact[1][:, 0]
    known = np.isfinite(moved).all(axis=1)
    near = known & (np.linalg.norm(moved - at_b[indices[:, 0]], axis=1) < PIXELS)
    inliers = 0
    if kept.sum() >= 4:
        cv2.setRNGSeed(0)
        inliers = int(cv2.findHomography(at_a[kept], at_b[indices[kept, 0]], cv2.RANSAC, PIXELS)[1].sum())
    return {"nearest_lost": int((squares[:, 0] > exact[0][:, 0]).sum()), "matches": int(kept.sum()),
            "lost": int((wanted & ~(kept & same)).sum()), "added": int((kept & ~(wanted & same)).sum()),
            "known": int((kept & known).sum()), "right": int((kept & near).sum()), "inliers": inliers}


def measure_pairs(args):
    rows = []
    for name, first, second, truth in pairs_of_images():
        (at_a, a), (at_b, b) = features(first), features(second)
        seconds, results = rounds_of({n: call for n, (call, _) in matchers(a, b).items()}, args.rounds)
        found = {n: plain(results[n]) for n, (_, plain) in matchers(a, b).items()}
        pairs, _ = kith.match(a, b, ratio=RATIO, threads=1)
        exact = found["kith"]
        kept = np.sqrt(exact[0][:, 0]) < RATIO * np.sqrt(exact[0][:, 1])
        assert np.array_equal(pairs[:, 0], np.nonzero(kept)[0]) and np.array_equal(pairs[:, 1], exact[1][kept, 0])
        print(f"{name}: {len(a)} and {len(b)} features")
        for matcher, (squares, indices) in found.items():
            rows.append({"pair": name, "features": [len(a), len(b)], "matcher": matcher, "seconds": seconds[matcher],
                         **judged(squares, indices, exact, at_a, at_b, truth(at_a))})
            r = rows[-1]
            print(f"  {matcher:28} {r['seconds'] * 1e3:8.1f} ms   nearest lost {r['nearest_lost']:4}   matches {r['matches']:4}: "
                  f"lost {r['lost']:3}, added {r['added']:3}, right {r['right']:4} of {r['known']}, inliers {r['inliers']}", flush=True)
    return rows


def corpus_and_queries():
    """Features of the right motorcycle, and of all other images that scikit-image and scikit-learn ship."""
    names = ("astronaut", "brick", "camera", "cell", "chelsea", "coffee", "coins", "grass", "gravel", "hubble_deep_field",
             "immunohistochemistry", "moon", "page", "retina", "rocket", "text")
    left, right, _ = data.stereo_motorcycle()
    images = [left, load_sample_image("china.jpg"), load_sample_image("flower.jpg"), *(getattr(data, name)() for name in names)]
    # The threshold below OpenCV's 0.04 is what gives this many features of so few images.
    corpus = np.concatenate([features(image, contrastThreshold=0.002)[1] for image in images])
    rng = np.random.default_rng(0)
    queries = features(right)[1]
    return corpus[rng.permutation(len(corpus))[:CORPUS]], queries[rng.permutation(len(queries))[:QUERIES]], right


def measure_fig6(args):
    corpus, queries, image = corpus_and_queries()
    assert corpus.shape == (CORPUS, 128) and queries.shape == (QUERIES, 128)
    points, asked = corpus.astype(np.uint8), queries.astype(np.uint8)
    driver = compiled("vlfeat", "vl")
    driver.vlfeat_features.restype = ctypes.c_int64
    pixels, descriptors = np.ascontiguousarray(grey(image), np.float32), np.empty((20_000, 128), np.float32)
    extract = {
        "VLFeat's SIFT": lambda: driver.vlfeat_features(
            ctypes.c_void_p(pixels.ctypes.data), pixels.shape[1], pixels.shape[0], ctypes.c_double(0.0),
            ctypes.c_void_p(descriptors.ctypes.data), ctypes.c_int64(len(descriptors))),
        "OpenCV's SIFT": lambda: len(features(image)[1]),
    }
    seconds, count = rounds_of(extract, args.rounds)
    extraction = {name: {"features": count[name], "seconds": seconds[name]} for name in extract}
    print(f"features of an image of {pixels.shape[1]} x {pixels.shape[0]}:", extraction)
    rows = []
    build, trees = rounds_of({"VLFeat, 1 tree": lambda: Forest(corpus, 1), "VLFeat, 4 trees": lambda: Forest(corpus, 4),
                                "kith": lambda: kith.Index(points, device="cpu", threads=1)}, args.rounds)
    print("to build:", {name: f"{s:.3f} s" for name, s in build.items()})
    for k in args.k:
        calls = {"kith, points given": lambda: kith.search(points, asked, k, device="cpu", threads=1)[:2],
                 "kith, Index": lambda: trees["kith"].search(asked, k, threads=1)[:2]}
        for name in ("VLFeat, 1 tree", "VLFeat, 4 trees"):
            for comparisons in (128, 512, 2048, 8192, *([0] if args.exact and name.endswith("tree") else [])):
                calls[f"{name}, {f'at most {comparisons}' if comparisons else 'exact'}"] = (
                    lambda c=comparisons, f=trees[name]: f.search(queries, k, c))
        seconds, results = rounds_of(calls, args.rounds)
        exact = results["kith, points given"][0]
        for name, (squares, _) in results.items():
            rows.append({"k": k, "search": name, "seconds": seconds[name],
                         "recall": float((squares <= exact[:, -1:]).mean()),
                         "nearest_lost": int((squares[:, 0] > exact[:, 0]).sum())})
            print(f"k {k:3}  {name:32} {seconds[name] * 1e3:9.1f} ms  recall {rows[-1]['recall']:.4f}  "
                  f"nearest lost {rows[-1]['nearest_lost']} of {QUERIES}", flush=True)
    return {"extraction": extraction, "build_seconds": build, "rows": rows}


def measure_device(args):
    """fig6 by kith on a device: points and queries as bytes and as f32, from host memory, and with an Index there."""
    held = np.load(args.arrays)
    rows = []
    for kind in (np.uint8, np.float32):
        points, asked = held["points"].astype(kind), held["queries"].astype(kind)
        want = kith.search(points, asked, max(args.k), device="cpu")
        for k, path in [(k, path) for k in args.k for path in ("", *args.path)]:
            index = kith.Index(points, device=args.device, path=path)
            calls = {"points given": lambda: kith.search(points, asked, k, device=args.device, path=path),
                     "Index": lambda: index.search(asked, k)}
            for name, call in calls.items():
                taken = []
                for turn in range(args.rounds + 2):  # the first two warm up
                    start = time.perf_counter()
                    found = call()
                    if turn > 1:
                        taken.append(time.perf_counter() - start)
                same = bool(np.array_equal(found.indices, want.indices[:, :k])
                            and np.array_equal(found.distances, want.distances[:, :k]))
                rows.append({"k": k, "elements": np.dtype(kind).name, "search": f"{path or 'kith'}, {name}",
                             "seconds": statistics.median(taken), "path": found.report.path, "as_on_a_cpu": same})
                print(f"k {k:3}  {rows[-1]['elements']:8} {rows[-1]['search']:20} {rows[-1]['seconds'] * 1e3:9.3f} ms, "
                      f"{found.report.path}{'' if same else ', OTHER THAN ON A CPU'}", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", nargs="+", choices=("pairs", "fig6"), default=("pairs", "fig6"))
    parser.add_argument("-k", type=int, nargs="+", default=[32])
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--save", metavar="FILE", help="keep the features of fig6 there, and do no more")
    parser.add_argument("--arrays", metavar="FILE", help="take them from there")
    parser.add_argument("--device", default="cuda", help="of --arrays")
    parser.add_argument("--path", nargs="+", default=[], metavar="NAME", help="of --arrays: these paths beside kith's own choice, such as "
                        "sismanis-segments, register-tiled+truncated-bitonic")
    parser.add_argument("--json")
    args = parser.parse_args()
    if args.save:
        corpus, queries, _ = corpus_and_queries()
        np.savez_compressed(args.save, points=corpus.astype(np.uint8), queries=queries.astype(np.uint8))
        return
    if args.arrays:
        result = {**run_head.head(args.device), "kith": kith.__version__, **machine(), "asked": args.device, "rounds": args.rounds,
                  "fig6": measure_device(args)}
    else:
        cv2.setNumThreads(1)
        Forest.library = ctypes.CDLL("libvl.so.1")
        result = {**run_head.head(), "kith": kith.__version__, "opencv": cv2.__version__, **machine(), "threads": 1, "rounds": args.rounds,
                  "ratio": RATIO, "pixels": PIXELS}
        for part in args.part:
            result[part] = {"pairs": measure_pairs, "fig6": measure_fig6}[part](args)
    result["load_after"] = os.getloadavg()
    if args.json:
        with open(args.json, "w") as out:
            json.dump(result, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    sys.exit(main())
