"""
Retrieving images by information
================================

Which pictures are of the same thing as this one? Garcia et al. (2008) take each picture for a sample of its patches, at
several scales, and order the others by how many nats their patches' distribution is away: by the Kullback-Leibler
divergence, summed over the scales, which :func:`kith.information.kl_divergence` estimates from exact neighbours.
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

from kith import information

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
# What a picture is a sample of, by scale. In the two band-pass images of its Laplacian pyramid: 3 x 3 coefficients of the
# luminance with the 3 x 3 at the same place of the next coarser band, 18 numbers; 4,800 and 2,400 of them. At the coarsest
# scale, which is no band: 3 x 3 pixels of all three channels, 27 numbers, 1,200 of them. Noise of one grey level's width
# undoes the rounding, as equal patches have no distance whose logarithm could be taken.
def patches(*planes):
    """All 3 x 3 neighbourhoods of the planes, side by side: height x width x 9 for each plane."""
    around = [np.roll(plane, (y, x), (0, 1)) for plane in planes for y in (-1, 0, 1) for x in (-1, 0, 1)]
    return np.stack(around, axis=-1)


def sets_of(picture):
    grey = picture + rng.uniform(-0.5, 0.5, picture.shape)
    channels = cv2.cvtColor(np.float32(grey), cv2.COLOR_RGB2YCrCb)
    gauss = [channels]
    for _ in range(4):
        gauss.append(cv2.pyrDown(gauss[-1]))
    band = [g[..., 0] - cv2.pyrUp(up, dstsize=g.shape[1::-1])[..., 0] for g, up in zip(gauss, gauss[1:])]
    band_up = [cv2.resize(b, (b.shape[1] * 2, b.shape[0] * 2), interpolation=cv2.INTER_LINEAR) for b in band]
    fine = patches(band[1], band_up[2])[::2, ::2]
    coarse = patches(band[2], band_up[3])[:, ::2]
    low = patches(*cv2.split(gauss[3]))
    return [part.reshape(-1, part.shape[-1]) for part in (fine, coarse, low)]


sets = [sets_of(picture) for picture in pictures]
print("sets of", ", ".join(f"{s.shape[0]} x {s.shape[1]}" for s in sets[0]))


# %%
# The first view of each photograph asks, all other pictures are put into order.
def divergence(a, b, k=10):
    return sum(information.kl_divergence(p, q, k).value for p, q in zip(sets[a], sets[b]))


queries = np.arange(0, len(pictures), VIEWS)
away = np.array([[divergence(a, b) if a != b else np.inf for b in range(len(pictures))] for a in queries])
order = np.argsort(away, axis=1)
right = labels[order] == labels[queries][:, None]
for k in range(1, VIEWS):
    print(f"precision at {k}: {right[:, :k].mean():.0%}")

# %%
# A row is a query and what comes first, with the nats that it is away. Green has the label of the query, red has not.
columns = 5
figure, axes = plt.subplots(len(queries), columns + 1, figsize=(9.5, 1.15 * len(queries)), layout="constrained")
for row, (query, line) in enumerate(zip(queries, axes)):
    for axis, shown in zip(line, [query, *order[row, :columns]]):
        axis.imshow(pictures[shown])
        axis.set(xticks=[], yticks=[])
        color = "black" if shown == query else "limegreen" if labels[shown] == labels[query] else "tab:red"
        axis.spines[:].set(color=color, linewidth=3)
        axis.set_xlabel("query" if shown == query else f"{away[row, shown]:.1f}", fontsize=7, labelpad=2)
plt.show()
