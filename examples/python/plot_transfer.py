"""
Who follows whom
================

Two series that go together do not say which of them drives the other; their correlation is the same from both sides.
Transfer entropy asks what the past of one says about the next value of the other beyond that one's own past (Schreiber 2000).
"""

# %%
# Two chaotic maps, of which the second listens to the first: more and more, up to full coupling.
import matplotlib.pyplot as plt
import numpy as np

from kith import information


def driven_pair(coupling, n=1500):
    """Logistic maps x and y, y pulled towards x."""
    x, y = np.empty(n), np.empty(n)
    x[0], y[0] = 0.3, 0.6
    for t in range(1, n):
        x[t] = 3.9 * x[t - 1] * (1 - x[t - 1])
        pulled = (1 - coupling) * y[t - 1] + coupling * x[t - 1]
        y[t] = 3.8 * pulled * (1 - pulled)
    noise = np.random.default_rng(0).normal(0, 0.01, (2, n))
    return x[100:] + noise[0, 100:], y[100:] + noise[1, 100:]


# %%
# Both directions, with errors by a bootstrap whose parts are stretches of the series.
couplings = np.linspace(0, 0.6, 13)
forth, back, correlations = [], [], []
for coupling in couplings:
    x, y = driven_pair(coupling)
    forth.append(information.transfer_entropy(x, y, k=4, bootstrap=10))
    back.append(information.transfer_entropy(y, x, k=4, bootstrap=10))
    correlations.append(np.corrcoef(x, y)[0, 1])
    print(f"coupling {coupling:.2f}: x to y {forth[-1].value:+.2f} ± {forth[-1].error:.2f}, "
          f"y to x {back[-1].value:+.2f} ± {back[-1].error:.2f} nats, correlation {correlations[-1]:+.2f}")

# %%
# Information flows from x to y alone, most of it well before the two agree. Where y has come to repeat x, little is left that x could
# add, and either tells of what noise hides in the other.
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
for estimates, label in ((forth, "x to y"), (back, "y to x")):
    left.errorbar(couplings, [e.value for e in estimates], [2 * e.error for e in estimates], marker="o", markersize=3,
                  capsize=2, label=label)
left.axhline(0, color="black", linewidth=0.6)
left.set(xlabel="coupling", ylabel="nats", title="transfer entropy, ± 2 errors")
left.legend(frameon=False)
right.plot(couplings, correlations, marker="o", markersize=3, color="gray")
right.set(xlabel="coupling", title="correlation")
plt.show()
