"""
Matching two images
===================

Which points of one photograph are those of another? Each corner gets a descriptor, the directions of the gradients around
it, and :func:`kith.match` pairs the descriptors of both: the nearest, then with Lowe's ratio test, then with the mutual
check as well. The second photograph is the first one turned, shrunk, darkened and with noise, so that the truth is known.
"""

# %%
# The corners of an image: the strongest local maxima of the smaller eigenvalue of the structure tensor.
import matplotlib.pyplot as plt
import numpy as np
from scipy import ndimage
from sklearn.datasets import load_sample_image

import kith


def corners(image, count):
    gy, gx = (ndimage.gaussian_filter(image, 1, order) for order in ((1, 0), (0, 1)))
    xx, xy, yy = (ndimage.gaussian_filter(p, 2) for p in (gx * gx, gx * gy, gy * gy))
    strength = (xx + yy) / 2 - np.sqrt((xx - yy) ** 2 / 4 + xy**2)
    peaks = (strength == ndimage.maximum_filter(strength, 7)) & (strength > 0)
    peaks[:24], peaks[-24:], peaks[:, :24], peaks[:, -24:] = False, False, False, False
    rows, columns = np.nonzero(peaks)
    best = np.argsort(-strength[rows, columns])[:count]
    return np.stack([rows[best], columns[best]], axis=1)


# %%
# A descriptor as in SIFT: 4 x 4 cells around the corner, in each a histogram of 8 gradient directions, turned by the
# direction of the gradient at the corner: 128 numbers of length 1.
def descriptors(image, points):
    smooth = ndimage.gaussian_filter(image, 1.6)
    gy, gx = np.gradient(smooth)
    wide_y, wide_x = (ndimage.gaussian_filter(g, 4) for g in (gy, gx))
    grid = (np.arange(16) - 7.5) * 1.5
    cell = np.arange(16) // 4
    place = (cell[:, None] * 4 + cell).ravel()
    out = np.empty((len(points), 128), np.float32)
    for at, (row, column) in enumerate(points):
        angle = np.arctan2(wide_y[row, column], wide_x[row, column])
        c, s = np.cos(angle), np.sin(angle)
        y, x = row + grid[:, None] * c + grid * s, column - grid[:, None] * s + grid * c
        dy, dx = (ndimage.map_coordinates(g, [y, x], order=1).ravel() for g in (gy, gx))
        bins = ((np.arctan2(dy, dx) - angle) * (8 / (2 * np.pi))).round().astype(int) % 8
        weight = np.hypot(dy, dx) * np.exp(-(grid[:, None] ** 2 + grid**2) / 200).ravel()
        histogram = np.bincount(place * 8 + bins, weight, 128)
        histogram = np.minimum(histogram / np.linalg.norm(histogram), 0.2)
        out[at] = histogram / np.linalg.norm(histogram)
    return out


# %%
# The photograph that scikit-learn ships, and its other view.
left = load_sample_image("china.jpg").mean(axis=2) / 255
angle, scale = np.deg2rad(12), 0.85
turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]) / scale
middle = np.array(left.shape) / 2
right = ndimage.affine_transform(left, turn, middle - turn @ middle, order=1)
right = 0.8 * right + np.random.default_rng(0).normal(0, 0.02, left.shape)

a, b = corners(left, 1200), corners(right, 1200)
of_a, of_b = descriptors(left, a), descriptors(right, b)

# %%
# A match is right where its corners are the same place of the photograph, within two pixels.
moved = (a - middle) @ np.linalg.inv(turn).T + middle
tests = {"nearest": {}, "ratio 0.8": {"ratio": 0.8}, "ratio 0.8, mutual": {"ratio": 0.8, "mutual": True}}
found = {}
for name, options in tests.items():
    pairs, _ = kith.match(of_a, of_b, **options)
    right_ones = np.linalg.norm(moved[pairs[:, 0]] - b[pairs[:, 1]], axis=1) < 2
    found[name] = pairs, right_ones
    print(f"{name:18} {len(pairs):5} matches, {right_ones.mean():.0%} right")

# %%
# What the last of them leaves: green is right, red is not.
pairs, right_ones = found["ratio 0.8, mutual"]
figure, axis = plt.subplots(figsize=(9.5, 3.6), layout="constrained")
axis.imshow(np.hstack([left, right]), cmap="gray", vmin=0, vmax=1)
for color, kept in (("tab:red", ~right_ones), ("limegreen", right_ones)):
    for i, j in pairs[kept]:
        axis.plot([a[i, 1], b[j, 1] + left.shape[1]], [a[i, 0], b[j, 0]], color=color, linewidth=0.4)
axis.set(xticks=[], yticks=[], title=f"{len(pairs)} matches, {right_ones.mean():.0%} right")
plt.show()
