"""The tables: a line per baseline while it runs, a line per case at the end, and the README's."""

LINE = "{:<16} {:<13} {:>4}  {:<25} {:<9} {:>10} {:>10} {:>10} {:>10} {:>8} {:>7} {:>7} {:>8}"
HEADER = LINE.format("case", "metric", "k", "who", "mode", "median ms", "min", "max", "cpu ms", "G pair/s",
                     "recall", "of gemm", "kith/it")
SUMMARY = "{:<16} {:<13} {:>4}  {:>10} {:>8}  {:<38} {:>10} {:>8}  {:<38} {:>7}  {}"
SUMMARY_HEADER = SUMMARY.format("case", "metric", "k", "search ms", "ratio", "against the best one-shot", "Index ms",
                                "ratio", "against the best prepared", "of gemm", "exact")


def kith(cell, mode):
    return next(r for r in cell["results"] if r["library"] == "kith" and r["mode"] == mode)


def best(cell, mode):
    """The goal's fastest baseline of that mode; None where none ran."""
    baselines = [r for r in cell["results"] if r["library"] in cell["goal"] and r["mode"] == mode]
    return min(baselines, key=lambda r: r["median_s"], default=None)


def ratio(cell, baseline):
    """How many times as fast as the baseline kith is, like with like."""
    return baseline["median_s"] / kith(cell, baseline["mode"])["median_s"]


def exact(cell):
    checked = cell["verified"]
    return "exact" if checked["wrong"] == 0 and checked["index_equal"] else f"NOT EXACT: {checked}"


def lines(cell):
    for r in cell["results"]:
        yield LINE.format(cell["case"], cell["metric"], cell["k"], r["name"], r["mode"], f"{1e3 * r['median_s']:.1f}",
                          f"{1e3 * r['min_s']:.1f}", f"{1e3 * r['max_s']:.1f}", f"{1e3 * r['cpu_s']:.1f}",
                          f"{1e-9 * r['pairs_per_s']:.3f}", f"{r['recall']:.4f}",
                          f"{100 * r['share_of_matrix_product']:.0f} %",
                          exact(cell) if r["library"] == "kith" else f"{ratio(cell, r):.2f}")


def summary(cells):
    yield SUMMARY_HEADER
    for cell in cells:
        columns = []
        for mode in ("one-shot", "prepared"):
            baseline = best(cell, mode)
            columns += [f"{1e3 * kith(cell, mode)['median_s']:.1f}", f"{ratio(cell, baseline):.2f}" if baseline else "-",
                        f"{baseline['name']} {1e3 * baseline['median_s']:.1f} ms" if baseline else "no baseline ran"]
        share = max(kith(cell, mode)["share_of_matrix_product"] for mode in ("one-shot", "prepared"))
        yield SUMMARY.format(cell["case"], cell["metric"], cell["k"], *columns, f"{100 * share:.0f} %", exact(cell))


def megabytes(result, name):
    return f"{result[name] / 1e6:,.0f}" if name in result else "?"


def packages(cells):
    """packages.py's table, in Markdown: a line for each case and way of a library, the fastest first."""
    yield ("| case | library | way | median ms | least | cpu ms | 10^9 pairs/s | its time / kith's | recall | memory MB | "
           "installed MB | with all it needs |")
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for cell in cells:
        for r in sorted(cell["results"], key=lambda r: r["median_s"]):
            own = r["library"] == "kith"
            columns = [f"{cell['n']:,} x {cell['d']}, {cell['q']:,} queries, k {cell['k']}",
                       f"{r['library']} {r.get('version', '?')}", f"{r['name']} ({r['mode']})", f"{1e3 * r['median_s']:.1f}",
                       f"{1e3 * r['min_s']:.1f}", f"{1e3 * r['cpu_s']:.1f}", f"{1e-9 * r['pairs_per_s']:.3f}", "" if own else f"{ratio(cell, r):.2f}",
                       f"{r['recall']:.4f}" + f", {exact(cell)}" * own, megabytes(r, "memory_bytes"),
                       megabytes(r, "installed_bytes"), megabytes(r, "installed_with_needed_bytes")]
            yield f"| {' | '.join(columns)} |"


def figure(x):
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


def rate(result):
    """10^9 pairs a second, and milliseconds."""
    return f"{figure(1e-9 * result['pairs_per_s'])} G/s ({figure(1e3 * result['median_s'])} ms)"


def readme(cells):
    """A table in Markdown: kith both ways, each next to the fastest baseline of its kind, with recall."""
    yield "| search | k | kith | fastest baseline | ratio | kith, prepared | fastest baseline, prepared | ratio |"
    yield "|---|---|---|---|---|---|---|---|"
    for cell in cells:
        metric = "" if cell["metric"] == "sqeuclidean" else f", {cell['metric']}"
        queries = "one query" if cell["q"] == 1 else f"{cell['q']:,} queries"
        columns = [f"{cell['n']:,} x {cell['d']}, {queries}{metric}", str(cell["k"])]
        for mode in ("one-shot", "prepared"):
            own, baseline = kith(cell, mode), best(cell, mode)
            columns.append(f"{rate(own)}, recall {own['recall']:.3f}, {exact(cell)}")
            columns += [f"{baseline['name']}: {rate(baseline)}, recall {baseline['recall']:.4f}",
                        f"{ratio(cell, baseline):.1f}"] if baseline else ["none ran", "-"]
        yield f"| {' | '.join(columns)} |"
