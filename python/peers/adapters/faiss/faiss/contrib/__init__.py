"""faiss' own scripts on its interface, from the sources that are tested; torch_utils is kith's."""
import os
import sys

__path__.append(os.path.join(os.environ["KITH_PEERS_SUITE"], "contrib"))


class _TorchUtils:
    """Finds faiss.contrib.torch_utils when it is imported, not before."""

    @staticmethod
    def find_spec(name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name != "faiss.contrib.torch_utils":
            return None
        from importlib.util import find_spec
        return find_spec("kith.compat.faiss.contrib.torch_utils")


sys.meta_path.insert(0, _TorchUtils)
