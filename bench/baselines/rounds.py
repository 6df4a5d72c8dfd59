"""One case: every library once to warm up and to be checked, then interleaved rounds. Recall next to every speed."""
import statistics
import time

import machine
import oracle

HOPELESS = 4.0       # a baseline slower than this many times the fastest one, twice, keeps the better of the two times
HOPELESS_SECONDS = 1.0
ENDLESS_SECONDS = 10.0  # and is not asked twice
ENOUGH_SECONDS = 2.0  # short cases get more rounds, until they have run this long
MOST_ROUNDS = 25
PAUSE_SECONDS = 0.02  # idle threads of the last baseline's pool stop spinning


def first_line(error):
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:200]


def gather(case, own, baselines, settings):
    """kith's two ways and the baselines; and those that could not start, with the reason."""
    found, absent = list(own(case, settings)), {}
    for name, make in baselines.items():
        if settings.baselines is not None and name not in settings.baselines:
            continue
        try:
            found += list(make(case, settings))
        except ImportError as error:
            absent[name] = f"cannot be imported: {first_line(error)}"
        except Exception as error:  # a baseline's failure is a result, not the end
            absent[name] = first_line(error)
    return found, absent


def run(case, own, baselines, settings):
    synchronize = machine.synchronizer(settings)
    multiply = machine.matrix_product(settings)
    found, absent = gather(case, own, baselines, settings)
    machine.release(settings)
    first, cpu_first, ids = {}, {}, {}
    for c in list(found):
        try:
            result, first[c.name], spent = c.timed(synchronize)
            cpu_first[c.name] = spent
            ids[c.name] = oracle.host(result)
        except Exception as error:
            if c.library == "kith":
                raise
            absent[c.name] = first_line(error)
            found.remove(c)
    multiply()
    exact = ids["kith search"]
    verified = {"queries": len(case.truth.chosen), "wrong": case.truth.wrong(exact, case.k),
                "index_equal": bool((ids["kith Index"] == exact).all())}

    limit = max(HOPELESS * min(first.values()), HOPELESS_SECONDS)
    for c in found:  # the first time of libraries that compile what they are asked for is the compiler's
        if limit < first[c.name] <= ENDLESS_SECONDS:
            _, seconds, spent = c.timed(synchronize)
            if seconds < first[c.name]:
                first[c.name], cpu_first[c.name] = seconds, spent
    racing = [c for c in found if c.library == "kith" or first[c.name] <= limit]
    per_round = sum(first[c.name] for c in racing)
    rounds = max(settings.rounds, min(MOST_ROUNDS, int(ENOUGH_SECONDS / per_round)))
    times, cpu = {c.name: [] for c in found}, {c.name: [] for c in found}
    products = []
    for r in range(rounds):
        turn = r % len(racing)
        for c in racing[turn:] + racing[:turn]:
            time.sleep(PAUSE_SECONDS)
            _, seconds, spent = c.timed(synchronize)
            times[c.name].append(seconds)
            cpu[c.name].append(spent)
        time.sleep(PAUSE_SECONDS)
        count, seconds, _ = machine.timed(multiply, synchronize)
        products.append(count / seconds)
    n, q, d = case.shape()
    product = statistics.median(products)
    results = []
    for c in found:
        t = times[c.name] or [first[c.name]]
        median = statistics.median(t)
        results.append({"name": c.name, "library": c.library, "mode": c.mode, "median_s": median, "min_s": min(t),
                        "max_s": max(t),
                        "cpu_s": statistics.median(cpu[c.name] or [cpu_first[c.name]]),
                        "rounds": len(times[c.name]), "pairs_per_s": case.pairs() / median,
                        "recall": case.truth.recall(ids[c.name], case.k),
                        "share_of_matrix_product": case.pairs() * d / median / product,
                        **({"report": c.report} if c.report else {}), **c.facts})
    return {"case": case.name, "n": n, "q": q, "d": d, "metric": case.metric, "k": case.k, "goal": case.goal,
            "matrix_product_gflops": 2e-9 * product, "verified": verified, "absent": absent, "results": results}
