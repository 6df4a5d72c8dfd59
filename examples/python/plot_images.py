"""
Neighbours of images
====================

Fashion-MNIST: for some test images the ten nearest of the 60,000 training images, a picture as a vector of 784 pixels.
Debian's package ``dataset-fashion-mnist`` holds the images, which ``make demo`` installs; without them, scikit-learn's small
pictures of digits take their place.
"""

# %%
# One point a row. The pixels stay what they are: bytes are searched as bytes.
import gzip
import pathlib

import matplotlib.pyplot as plt
import numpy as np

import kith

folder = pathlib.Path("/usr/share/datasets/fashion-mnist")


def read(name):
    data = gzip.decompress((folder / name).read_bytes())
    dimensions = data[3]  # IDX: a magic number whose last byte counts the dimensions, then their sizes
    shape = np.frombuffer(data, ">i4", dimensions, offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * dimensions).reshape(shape[0], -1)


if folder.exists():
    points, labels = read("train-images-idx3-ubyte.gz"), read("train-labels-idx1-ubyte.gz").ravel()
    queries, answers = read("t10k-images-idx3-ubyte.gz"), read("t10k-labels-idx1-ubyte.gz").ravel()
    names = ["T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"]
else:
    from sklearn.datasets import load_digits
    digits = load_digits()
    images = digits.data.astype(np.uint8)
    points, labels, queries, answers = images[300:], digits.target[300:], images[:300], digits.target[:300]
    names = [str(digit) for digit in range(10)]

print(f"{len(points):,} points and {len(queries):,} queries of {points.shape[1]} {points.dtype}")

# %%
# The search. The report says which path was taken and how long it took.
found = kith.search(points, queries[:1000], k=10, metric="euclidean")
print(f"{found.report.path} on {found.report.device}: {found.report.seconds:.2f} s")

# %%
# One test image of each kind in the first column, then its ten nearest, the nearest first. The number above a picture is its
# distance; a red frame says that the neighbour is of another kind.
side = int(points.shape[1] ** 0.5)
rows = [int(np.flatnonzero(answers[:1000] == kind)[0]) for kind in range(10)]
figure, axes = plt.subplots(10, 11, figsize=(9.4, 9.8), layout="constrained")
for line, query in zip(axes, rows):
    line[0].imshow(queries[query].reshape(side, side), cmap="gray_r")
    line[0].set_ylabel(names[answers[query]], rotation=0, ha="right", va="center")
    for axis, distance, index in zip(line[1:], found.distances[query], found.indices[query]):
        axis.imshow(points[index].reshape(side, side), cmap="gray_r")
        axis.set_title(f"{distance:.0f}", fontsize=8, pad=2)
        if labels[index] != answers[query]:
            for spine in axis.spines.values():
                spine.set(color="tab:red", linewidth=2.5)
axes[0, 0].set_title("query", fontsize=8, pad=2)
for axis in axes.flat:
    axis.set(xticks=[], yticks=[])
plt.show()

# %%
# The neighbours vote for a label.
votes = np.array([np.bincount(labels[row], minlength=10).argmax() for row in found.indices])
print(f"of 1,000 test images {np.mean(votes == answers[:len(votes)]):.1%} get their own label")
