"""
Matching two images
===================

A motorcycle, photographed from two places 19 cm apart. OpenCV finds SIFT features in both photographs, and
:func:`kith.match` says which belong together: the nearest, then with Lowe's ratio test, then with the mutual check as well.
The pair is of the Middlebury benchmark of 2014, as scikit-image ships it, with a measured map of where each pixel of the left
photograph is in the right one. So each match is known to be right or wrong.
"""

# %%
# SIFT's 128 numbers are whole and below 256: bytes hold them, and are searched as bytes.
import cv2
import matplotlib.pyplot as plt
import numpy as np
from skimage import data
from sklearn.datasets import load_sample_image

import kith


def features(image, **options):
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    keypoints, descriptors = cv2.SIFT_create(**options).detectAndCompute(grey, None)
    return np.array([point.pt for point in keypoints]), descriptors.astype(np.uint8)


left, right, disparity = data.stereo_motorcycle()
(at_left, of_left), (at_right, of_right) = features(left), features(right)
print(f"{len(of_left)} features at left, {len(of_right)} at right")

# %%
# A feature of the left photograph has moved to the left by the disparity of its pixel, on the same line. A match is right
# where it ends within two pixels of there; where the disparity is unknown, the match is not judged.
column, row = at_left.round().astype(int).T
moved = at_left - np.stack([disparity[row, column], np.zeros(len(row))], axis=1)
tests = {"nearest": {}, "ratio 0.8": {"ratio": 0.8}, "mutual": {"mutual": True}, "ratio 0.8, mutual": {"ratio": 0.8, "mutual": True}}
found = {}
for name, options in tests.items():
    pairs, _ = kith.match(of_left, of_right, **options)
    known = np.isfinite(moved[pairs[:, 0]]).all(axis=1)
    near = np.linalg.norm(moved[pairs[:, 0]] - at_right[pairs[:, 1]], axis=1) < 2
    found[name] = pairs[known], near[known]
    print(f"{name:18} {len(pairs):5} matches; of {known.sum()} whose place is known {near[known].mean():.1%} are right")


# %%
# What the last of them leaves: every third of the right matches in green, all wrong ones in red.
def draw(axis, images, ends, good, title):
    axis.imshow(np.hstack(images))
    for color, shown in (("limegreen", np.nonzero(good)[0][::3]), ("tab:red", np.nonzero(~good)[0])):
        start, end = ends[0][shown], ends[1][shown] + [images[0].shape[1], 0]
        axis.plot([start[:, 0], end[:, 0]], [start[:, 1], end[:, 1]], color=color, linewidth=0.4)
    axis.set(xticks=[], yticks=[], title=title)


pairs, good = found["ratio 0.8, mutual"]
figure, axis = plt.subplots(figsize=(9.5, 3.6), layout="constrained")
draw(axis, (left, right), (at_left[pairs[:, 0]], at_right[pairs[:, 1]]), good, f"{len(pairs)} matches, {good.mean():.0%} right")

# %%
# The photograph of a plane, or a camera that only turns, moves all features by one homography, and RANSAC finds it: those
# that agree are its inliers. Here the other view is made: a photograph, turned, shrunk, tilted, darkened and with noise,
# so that the true homography is at hand.
photograph = load_sample_image("china.jpg")
height, width = photograph.shape[:2]
corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
true = cv2.getPerspectiveTransform(corners, np.array([[70, 20], [560, 90], [520, 400], [30, 330]], np.float32))
view = cv2.warpPerspective(photograph, true, (width, height), flags=cv2.INTER_AREA)
view = np.clip(0.8 * view + np.random.default_rng(0).normal(0, 5, view.shape), 0, 255).astype(np.uint8)

(at_photograph, of_photograph), (at_view, of_view) = features(photograph), features(view)
pairs, _ = kith.match(of_photograph, of_view, ratio=0.8, mutual=True)
start, end = at_photograph[pairs[:, 0]], at_view[pairs[:, 1]]
cv2.setRNGSeed(0)
homography, inliers = cv2.findHomography(start, end, cv2.RANSAC, 2.0)
inliers = inliers.ravel().astype(bool)
off = np.linalg.norm(cv2.perspectiveTransform(corners[None], homography) - cv2.perspectiveTransform(corners[None], true), axis=2)
print(f"{len(pairs)} matches, {inliers.sum()} inliers; the corners are {off.max():.2f} pixels off at most")

# %%
# Green is every third of the inliers, and the white frame is the photograph as the homography that was found sees it.
figure, axis = plt.subplots(figsize=(9.5, 3.6), layout="constrained")
draw(axis, (photograph, view), (start, end), inliers, f"{len(pairs)} matches, {inliers.sum()} inliers")
frame = cv2.perspectiveTransform(corners[None], homography)[0] + [width, 0]
axis.plot(*np.vstack([frame, frame[:1]]).T, color="white", linewidth=1)
plt.show()
