"""
What correlation does not see
=============================

Mutual information says how much two variables know of each other, whatever the relation between them. It is estimated from
the distances to the nearest neighbours (Kraskov et al. 2004); correlation sees the straight part alone.
"""

# %%
# Six relations of 2,000 samples each.
import matplotlib.pyplot as plt
import numpy as np

from kith import information

rng = np.random.default_rng(0)
n = 2000
x, noise = rng.uniform(-1, 1, n), rng.normal(size=n)
angle = rng.uniform(0, 2 * np.pi, n)
relations = {
    "none": (x, noise),
    "a line": (x, x + 0.2 * noise),
    "a parabola": (x, x**2 + 0.08 * noise),
    "a wave": (x, np.cos(9 * x) + 0.2 * noise),
    "a circle": (np.cos(angle) + 0.07 * noise, np.sin(angle) + 0.07 * rng.normal(size=n)),
    "the spread": (x, x * noise),
}

# %%
# Correlation is near zero for all but the line; the mutual information is not.
figure, axes = plt.subplots(2, 3, figsize=(8.4, 5.4), layout="constrained")
for axis, (name, (u, v)) in zip(axes.flat, relations.items()):
    estimate = information.mutual_information(u, v, k=4, bootstrap=10)
    correlation = np.corrcoef(u, v)[0, 1]
    print(f"{name:11} correlation {correlation:+.2f}, mutual information {estimate.value:.2f} ± {estimate.error:.2f} nats")
    axis.scatter(u, v, s=2, alpha=0.4)
    axis.set(title=f"{name}\ncorrelation {correlation:+.2f}, information {estimate.value:.2f} nats", xticks=[], yticks=[])
    axis.title.set_fontsize(9)
plt.show()
