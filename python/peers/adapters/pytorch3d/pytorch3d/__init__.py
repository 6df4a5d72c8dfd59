"""pytorch3d is that of the sources that are tested, but for what is compiled: its neighbours are kith.torch's."""
import os

__path__.append(os.path.join(os.environ["KITH_PEERS_SUITE"], "pytorch3d"))
