"""The utilities of pytorch3d that its tests of neighbours use."""
import os

__path__.append(os.path.join(os.environ["KITH_PEERS_SUITE"], "pytorch3d", "utils"))

from .ico_sphere import ico_sphere  # noqa: E402, F401
