#!/usr/bin/env python3
"""The pictures of the site, drawn when it is built: pictures.py FOLDER KITH_BINARY.

strategies.svg: the order in which strategies are asked, from the lists (tests/check_lists.py) and the conditions in docs/design.md.
roofline.svg: today's rates of a GPU and the limits of its machine, from the record of the goals.
growth.svg: time over the number of points, by `kith plan`, with the measured ones.
answers.svg: ties, NaN and f32 in one search.

A page has `<!-- picture: NAME -->` where stage.py puts one. Colours follow the site's light and dark theme.
"""
import html
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.dont_write_bytecode = True
import check_lists  # noqa: E402

STYLE = """
svg { font: 14px system-ui, sans-serif } text { fill: #1a1a1a } .soft { fill: #5a6068 } .line { stroke: #5a6068; fill: none }
.grid { stroke: #d4d8dd; fill: none } .box { fill: #eef4fb; stroke: #3572b0 } .last { fill: #fdf1e3; stroke: #b2691d }
.a { stroke: #3572b0; fill: none; stroke-width: 2.2 } .b { stroke: #b2691d; fill: none; stroke-width: 2.2 } .c { stroke: #3c8a4e; fill: none; stroke-width: 2.2 }
.fa { fill: #3572b0 } .fb { fill: #b2691d } .fc { fill: #3c8a4e } .mono { font-family: ui-monospace, monospace; font-weight: 600 }
@media (prefers-color-scheme: dark) { text { fill: #e6e6e6 } .soft { fill: #a4abb3 } .line { stroke: #a4abb3 } .grid { stroke: #3a3f45 }
.box { fill: #1b2838; stroke: #6ea8e0 } .last { fill: #33281b; stroke: #e0a25c } .a { stroke: #6ea8e0 } .b { stroke: #e0a25c } .c { stroke: #7cc98d }
.fa { fill: #6ea8e0 } .fb { fill: #e0a25c } .fc { fill: #7cc98d } }
"""


def svg(width, height, title, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
            f'aria-label="{html.escape(title)}"><title>{html.escape(title)}</title><style>{STYLE}</style>\n' + "\n".join(parts) + "\n</svg>\n")


def text(x, y, said, kind="", anchor="start", size=None):
    style = f' style="font-size:{size}px"' if size else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}"{style}>{html.escape(str(said))}</text>'


def wrapped(said, most):
    lines = [""]
    for word in said.split():
        if len(lines[-1]) + len(word) >= most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def strategies():
    """The chains of both backends: a box a strategy, the condition next to it, and an arrow to the one that takes what it leaves."""
    page = (ROOT / "docs/design.md").read_text()
    parts, y = [], 8
    for label, backend in (("a CPU", "cpu"), ("a GPU", "gpu")):
        parts.append(text(8, y + 16, f"a search on {label}", "mono"))
        y += 30
        listed = {name for name, _, _ in check_lists.strategies(ROOT, backend)}
        rows = [row for row in check_lists.rows(page, f"strategy of {label}") if row[0].strip("`") in listed]
        for place, (name, _, _, when) in enumerate(rows):
            lines = wrapped(when.replace("`", ""), 48)
            tall = max(34, 17 * len(lines) + 8)
            last = place == len(rows) - 1
            parts.append(f'<rect class="{"last" if last else "box"}" x="8" y="{y}" width="170" height="34" rx="6"/>')
            parts.append(text(93, y + 22, name.strip("`"), "mono", "middle"))
            parts += [text(190, y + 16 + 17 * i, line, "soft", size=13) for i, line in enumerate(lines)]
            if not last:
                parts.append(f'<path class="line" d="M93 {y + 34} V{y + tall + 14} M88 {y + tall + 8} l5 6 l5 -6"/>')
            y += tall + 14
        parts.append(text(93, y + 6, "every query certified", "soft", "middle", 13))
        y += 36
    return svg(540, y, "The order in which strategies are asked: each answers some queries and leaves the rest to the next", parts)


class Axes:
    """Two logarithmic axes."""

    def __init__(self, width, height, x, y, x_label, y_label, x_ticks=()):
        self.width, self.height, self.x, self.y = width, height, x, y
        self.left, self.right, self.top, self.bottom = 74, width - 20, 20, height - 54
        self.parts = []
        for low, high, across in ((*x, True), (*y, False)):
            powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
            for value in (across and x_ticks) or [10.0**power for power in powers]:
                at = self.at_x(value) if across else self.at_y(value)
                path = f"M{at:.1f} {self.top} V{self.bottom}" if across else f"M{self.left} {at:.1f} H{self.right}"
                self.parts.append(f'<path class="grid" d="{path}"/>')
                said = f"{value:,.10g}" if 1e-3 <= value < 1e4 else f"10^{round(math.log10(value))}"
                self.parts.append(text(at, self.bottom + 20, said, "soft", "middle", 13) if across
                                  else text(self.left - 8, at + 4, said, "soft", "end", 13))
        self.parts.append(text((self.left + self.right) / 2, height - 10, x_label, "soft", "middle"))
        self.parts.append(f'<g transform="translate(16 {(self.top + self.bottom) / 2}) rotate(-90)">{text(0, 0, y_label, "soft", "middle")}</g>')

    def at_x(self, value):
        low, high = map(math.log, self.x)
        return self.left + (math.log(value) - low) / (high - low) * (self.right - self.left)

    def at_y(self, value):
        low, high = map(math.log, self.y)
        return self.bottom - (math.log(value) - low) / (high - low) * (self.bottom - self.top)

    def curve(self, points, kind, dashed=False):
        path = " ".join(f"{'L' if i else 'M'}{self.at_x(x):.1f} {self.at_y(y):.1f}" for i, (x, y) in enumerate(points))
        dashes = ' stroke-dasharray="6 5"' if dashed else ""
        self.parts.append(f'<path class="{kind}" d="{path}"{dashes}/>')

    def dots(self, points, kind):
        self.parts += [f'<circle class="f{kind}" cx="{self.at_x(x):.1f}" cy="{self.at_y(y):.1f}" r="4.5"/>' for x, y in points]

    def note(self, x, y, said, kind="soft", anchor="start"):
        self.parts.append(text(self.at_x(x), self.at_y(y), said, kind, anchor, 13))


def roofline():
    """Pairs a second over the dimensions, and the rate at which products alone would run."""
    record = json.loads((ROOT / "bench/results/h200/goals.json").read_text())
    flops = record["limits"]["bf16_flops"]
    axes = Axes(640, 420, (12, 2000), (100, 3e4), "dimensions", "10^9 pairs a second",
                (16, 64, 128, 256, 768, 1536))
    peak = [(d, min(flops / (2 * d) / 1e9, 3e4)) for d in (12, 13, 16, 32, 64, 128, 256, 512, 1024, 2000)]
    axes.curve([(d, y) for d, y in peak if y < 3e4], "b", dashed=True)
    axes.note(60, flops / 120 / 1e9 * 1.3, "a 16-bit matrix product alone, as cuBLAS runs it", "soft")
    for k, kind in ((10, "a"), (100, "c")):
        points = [(row["d"], row["pairs_per_s"] / 1e9) for row in record["results"]
                  if row["name"].startswith("gaussian-") and row["k"] == k]
        axes.curve(points, kind)
        axes.dots(points, kind)
        axes.note(points[0][0], points[0][1] * (1.25 if k == 10 else 0.72), f"Gaussian, k {k}", f"f{kind}")
    spectrum = [(row["d"], row["pairs_per_s"] / 1e9) for row in record["results"]
                if row["name"] in ("spectrum-128", "spectrum-768", "spectrum-1536") and row["k"] == 10]
    axes.curve(spectrum, "b")
    axes.dots(spectrum, "b")
    axes.note(spectrum[-1][0] * 1.1, spectrum[-1][1] * 1.75, "falling spectrum, k 10", "fb", "end")
    title = f"Exact search on one {record['device']}, 1,048,576 points, 8,192 queries, {record['date']}"
    return svg(axes.width, axes.height, title, axes.parts)


def growth(kith):
    """Seconds over the points: planned for three machines, and measured where a record has it."""
    axes = Axes(640, 420, (1e4, 1e8), (1e-4, 1e3), "points (128 dimensions, 8,192 queries, k 10, prepared)", "seconds")
    for machine, kind, said in (("h200", "a", "one H200"), ("zen5", "c", "two cores of Zen 5")):
        points = []
        for tenth in range(40, 81, 2):
            n = round(10 ** (tenth / 10))
            command = [kith, "plan", "-n", str(n), "-q", "8192", "-d", "128", "-k", "10", "--prepared", "--machine", machine, "--json"]
            answer = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds = json.loads(answer.stdout)["estimate"]["seconds"]
            if seconds:
                points.append((n, seconds))
        axes.curve(points, kind)
        n, seconds = points[len(points) * 2 // 3]
        axes.note(n, seconds * 2.2, said, f"f{kind}", "end")
    record = json.loads((ROOT / "bench/results/h200/goals.json").read_text())
    axes.dots([(row["n"], row["median_s"]) for row in record["results"] if row["name"] == "gaussian-128" and row["k"] == 10], "a")
    return svg(axes.width, axes.height, "Planned time over the number of points; the dot is measured", axes.parts)


def answers():
    """A query, its neighbours by (distance, id), and what is left out."""
    x, y, unit = 210, 142, 24
    parts = [f'<circle class="grid" cx="{x}" cy="{y}" r="{5 * unit}"/>']
    for dx, dy, name, kind in ((0, 0, "0, 2", "fa"), (3, 4, "1", "fb"), (4, -3, "3", "fb")):
        px, py = x + dx * unit, y - dy * unit
        parts.append(f'<circle class="{kind}" cx="{px}" cy="{py}" r="6"/>')
        parts.append(text(px + (18 if dx == 0 else 11), py + 5, name, "mono"))
    parts.append(f'<circle class="line" cx="{x}" cy="{y}" r="11"/>')
    parts.append(text(x, y + 34, "the query, and two points like it", "soft", "middle", 13))
    rows = [("id", "distance", "why, k 5"), ("0", "0", "equal to the query"), ("2", "0", "equal too: the larger id comes second"),
            ("1", "5", "a tie at 5: the smaller id first"), ("3", "5", "the other of the tie"), ("-1", "inf", "the fifth point has a NaN")]
    for i, (number, distance, why) in enumerate(rows):
        at = 300 + 28 * i
        kind = "soft" if i == 0 else "mono"
        parts += [text(44, at, number, kind, "end"), text(120, at, distance, kind, "end"), text(142, at, why, "soft", size=13)]
    parts.append('<path class="grid" d="M10 308 H410"/>')
    return svg(420, 454, "Ties go to the smaller id, duplicates count, a NaN is never returned", parts)


def main(folder, kith):
    folder.mkdir(parents=True, exist_ok=True)
    for name, drawing in (("strategies", strategies()), ("roofline", roofline()), ("growth", growth(kith)), ("answers", answers())):
        (folder / f"{name}.svg").write_text(drawing)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), sys.argv[2])
