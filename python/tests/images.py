"""Fashion-MNIST, of the package dataset-fashion-mnist: real data with many dimensions, in bytes."""
from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path("/usr/share/datasets/fashion-mnist")


def read(name: str, header: int) -> np.ndarray:
    path = FOLDER / f"{name}-ubyte.gz"
    if not path.exists():
        pytest.skip("no Fashion-MNIST: scripts/install-deps build")
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=header)


def fashion_mnist(points: int, queries: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The first images of each half, as uint8 of 784 columns, and their labels."""
    images = [read(f"{half}-images-idx3", 16).reshape(-1, 784)[:rows] for half, rows in (("train", points), ("t10k", queries))]
    labels = [read(f"{half}-labels-idx1", 8)[:rows] for half, rows in (("train", points), ("t10k", queries))]
    return images[0], images[1], labels[0], labels[1]
