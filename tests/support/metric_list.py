"""The list of metrics as Python sees it: names and aliases from metrics.def, traits from the header of each."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENTRY = re.compile(r'^KITH_METRIC\((\w+), (\w+), "([^"]*)"', re.MULTILINE)
TRAITS = re.compile(r"constexpr Traits traits\{(.*?)\};", re.DOTALL)
LIMIT = re.compile(r"\{(0x[\w.+-]+|[\d.]+), \"")


class Metric:
    def __init__(self, name, aliases, traits):
        self.name, self.aliases = name, aliases.split()
        fields = dict(re.findall(r"\.(\w+) = ([\w.:]+)", traits))
        self.non_negative = fields.get("non_negative") == "true"
        self.packed_bits = fields.get("packed_bits") == "true"
        self.dimensions = int(fields.get("dimensions", 0))  # 0: any
        self.largest = [float.fromhex(limit) if limit.startswith("0x") else float(limit)
                        for limit in LIMIT.findall(traits)]  # of each coordinate; none: any


def metrics(root=ROOT):
    entries = ENTRY.findall((root / "include" / "kith" / "metrics.def").read_text())
    texts = {struct: (root / "src" / "metric" / f"{name}.h").read_text() for name, struct, _ in entries}

    def traits(struct):
        """Its own, or those that it inherits."""
        if struct not in texts:
            return ""
        found = TRAITS.search(texts[struct])
        return found.group(1) if found else traits(re.search(rf"struct {struct} : (\w+)", texts[struct]).group(1))

    return [Metric(name, aliases, traits(struct)) for name, struct, aliases in entries]
