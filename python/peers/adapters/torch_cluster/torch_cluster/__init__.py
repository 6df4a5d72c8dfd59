"""torch_cluster is kith.torch; `torch_cluster.testing` is that of the sources that are tested."""
import os

from kith.torch import knn, knn_graph, nearest, radius, radius_graph  # noqa: F401

__path__.append(os.path.join(os.environ["KITH_PEERS_SUITE"], "torch_cluster"))
