"""
How crowded is it here?
=======================

:func:`kith.radius_counts` counts the points within a radius of each point, exactly, and makes no lists. Here the points are
the colours of a photograph, in the cube of red, green and blue: common colours have many others near them, and those with
few are what the eye takes for accents.
"""

# %%
# The photograph that scikit-learn ships, every second pixel each way: a colour is a point of three bytes.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import kith

image = load_sample_image("flower.jpg")[::2, ::2]
colours = image.reshape(-1, 3)

# %%
# How many pixels are within a distance of 16 of each pixel's colour. Of equal distances none is cut off: a point that is
# exactly 16 away is within.
found = kith.radius_counts(colours, colours, 16, metric="euclidean")
counts = np.asarray(found.counts).reshape(image.shape[:2])
print(f"{len(colours):,} colours in {found.report.seconds:.2f} s: {counts.min():,} to {counts.max():,} within 16 of one")

# %%
# The rarest tenth of the colours, where they are.
rare = counts <= np.quantile(counts, 0.1)
figure, axes = plt.subplots(1, 3, figsize=(9.6, 2.6), layout="constrained")
axes[0].imshow(image)
axes[0].set_title("photograph")
shown = axes[1].imshow(counts, norm="log", cmap="viridis")
axes[1].set_title("pixels of nearly this colour")
figure.colorbar(shown, ax=axes[1], shrink=0.8)
axes[2].imshow(np.where(rare[..., None], image, 255))
axes[2].set_title("the rarest tenth")
for axis in axes:
    axis.set(xticks=[], yticks=[])
plt.show()
