"""
Retrieving images by information
================================

Which pictures are of the same thing as this one? Garcia et al. (2008) take each picture for a sample of its patches, at
several scales, and order the others by how many nats their patches' distribution is away: by the Kullback-Leibler
divergence, summed over the scales. :func:`kith.retrieve` estimates it from exact neighbours.
"""

# %%
# The pictures are photographs that scikit-image and scikit-learn ship. Each gives four views, which overlap by chance:
# windows of three fifths of its sides, turned, brighter or darker, with noise. Views of one photograph share a label, and
# nothing else says what belongs together.
import cv2
import matplotlib.pyplot as plt
import numpy as np
from skimage import data
from sklearn.datasets import load_sample_image

import kith

rng = np.random.default_rng(0)
WIDTH, HEIGHT, VIEWS = 320, 240, 4


def view(photograph):
    height, width = photograph.shape[:2]
    size = 0.6 * min(width / WIDTH, height / HEIGHT)
    middle = [rng.uniform(0.35, 0.65) * width, rng.uniform(0.35, 0.65) * height]
    angle = rng.uniform(-20, 20)
    turn = cv2.getRotationMatrix2D(middle, angle, 1 / size)
    turn[:, 2] += [WIDTH / 2 - middle[0], HEIGHT / 2 - middle[1]]
    seen = cv2.warpAffine(photograph, turn, (WIDTH, HEIGHT), flags=cv2.INTER_AREA, borderMode=cv2.BORDER_REFLECT)
    return np.clip(rng.uniform(0.8, 1.2) * seen + rng.normal(0, 3, seen.shape), 0, 255).astype(np.uint8)


photographs = {"china": load_sample_image("china.jpg"), "flower": load_sample_image("flower.jpg"),
               "motorcycle": data.stereo_motorcycle()[0], "tissue": data.immunohistochemistry()}
photographs |= {name: getattr(data, name)()[..., :3] for name in ("astronaut", "chelsea", "coffee", "hubble_deep_field")}
pictures = [view(photograph) for photograph in photographs.values() for _ in range(VIEWS)]
labels = np.repeat(np.arange(len(photographs)), VIEWS)
print(f"{len(pictures)} pictures of {len(photographs)} photographs")


# %%
# What a picture is a sample of, by scale, is :func:`kith.image_features`. In two band-pass images of its Laplacian pyramid: 3 x
# 3 coefficients of the luminance with the 3 x 3 at the same place of the next coarser band, 18 numbers; 4,800 and 2,400 of
# them. At the coarsest scale, which is no band: 3 x 3 pixels of all three channels, 27 numbers, 1,200 of them.
sets = [kith.image_features(picture, seed=number) for number, picture in enumerate(pictures)]
print("sets of", ", ".join(f"{s.shape[0]} x {s.shape[1]}" for s in sets[0]))

# %%
# The first view of each photograph asks, all other pictures are put into order.
queries = np.arange(0, len(pictures), VIEWS)
found = kith.retrieve(sets, k=10, asked=queries)
for k in range(1, VIEWS):
    print(f"precision at {k}: {found.precision(labels, k):.0%}")

# %%
# A row is a query and what comes first, with the nats that it is away. Green has the label of the query, red has not.
columns = 5
figure, axes = plt.subplots(len(queries), columns + 1, figsize=(9.5, 1.15 * len(queries)), layout="constrained")
for query, order, away, line in zip(queries, found.order, found.divergences, axes):
    for axis, shown in zip(line, [query, *order[:columns]]):
        axis.imshow(pictures[shown])
        axis.set(xticks=[], yticks=[])
        color = "black" if shown == query else "limegreen" if labels[shown] == labels[query] else "tab:red"
        axis.spines[:].set(color=color, linewidth=3)
        axis.set_xlabel("query" if shown == query else f"{away[shown]:.1f}", fontsize=7, labelpad=2)
plt.show()
