"""pytorch3d.ops.knn is kith.torch's."""
from kith.torch import KNN as _KNN  # noqa: F401
from kith.torch import knn_gather, knn_points  # noqa: F401
