"""A baseline: one way of one library to answer a case. kith's own two have the same form."""
import dataclasses

import machine


@dataclasses.dataclass
class Baseline:
    name: str
    library: str  # "kith", "faiss", ...
    mode: str     # "one-shot", or "prepared": points handed over beforehand
    run: object   # () -> q x k ids
    report: dict = dataclasses.field(default_factory=dict)
    facts: dict = dataclasses.field(default_factory=dict)  # of the record next to its times

    def timed(self, synchronize):
        """(ids, seconds, processor seconds of its process)"""
        return machine.timed(self.run, synchronize)


def kith(library, case, settings):
    """kith both ways, on the device where the points lie."""
    stream = 0
    if settings.device == "cuda":
        import torch
        stream = torch.cuda.current_stream().cuda_stream
    options = library.options(case.metric, settings.threads, settings.device, settings.path, stream)
    index = library.index(case.points, options)
    one_shot, prepared = (Baseline(name, "kith", mode, None) for name, mode in
                          (("kith search", "one-shot"), ("kith Index", "prepared")))

    def run_one_shot():
        ids, _, report = library.search(case.points, case.queries, case.k, options)
        one_shot.report = report.as_dict()
        return ids

    def run_prepared():
        ids, _, report = index.search(case.queries, case.k, options)
        prepared.report = report.as_dict()
        return ids

    one_shot.run, prepared.run = run_one_shot, run_prepared
    return [one_shot, prepared]
