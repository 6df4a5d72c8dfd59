"""Those of pytorch3d's operations that its tests of neighbours use; points of meshes are sampled in torch."""
import os
from typing import Any

import torch

__path__.append(os.path.join(os.environ["KITH_PEERS_SUITE"], "pytorch3d", "ops"))

from .ball_query import ball_query  # noqa: E402, F401
from .knn import knn_gather, knn_points  # noqa: E402, F401
from .points_normals import estimate_pointcloud_local_coord_frames, estimate_pointcloud_normals  # noqa: E402, F401


def sample_points_from_meshes(meshes: Any, num_samples: int = 10000) -> torch.Tensor:
    """num_samples points of each mesh, evenly by area."""
    points = []
    for vertices, faces in zip(meshes.verts_list(), meshes.faces_list()):
        a, b, c = vertices[faces].unbind(1)
        areas = torch.linalg.cross(b - a, c - a).norm(dim=1)
        chosen = areas.multinomial(num_samples, replacement=True)
        u, v = torch.rand(2, num_samples, 1)
        root = u.sqrt()
        points.append((1 - root) * a[chosen] + root * (1 - v) * b[chosen] + root * v * c[chosen])
    return torch.stack(points)
