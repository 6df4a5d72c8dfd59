"""
Cells by UMAP and scanpy
========================

700 blood cells (pbmc68k_reduced, which comes with scanpy), drawn by scanpy and by UMAP: with the neighbours that each finds by
itself, and with kith's. The times are those of the machine that has built this page; that of the first call, in which numba compiles
what scanpy and UMAP do, is left out.
"""
import sys
import time
import warnings

import matplotlib.pyplot as plt
import scanpy
import umap

import kith.scanpy
import kith.umap

warnings.filterwarnings("ignore", category=UserWarning, module="umap")  # that a seed means one thread
n_neighbors = 15
cells = scanpy.datasets.pbmc68k_reduced()
x = cells.obsm["X_pca"]


def timed(call):
    """What it returns and the least of two times, after a call in which numba compiles."""
    call()
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
    return result, min(seconds)


# %%
# scanpy takes a transformer in scikit-learn's manner, and the number of neighbours from that: the cell itself is one of them.
def by_scanpy(transformer):
    scanpy.pp.neighbors(cells, n_neighbors=n_neighbors, transformer=transformer)
    return cells.obsp["distances"].copy()


def drawn_by_scanpy():
    scanpy.tl.umap(cells, random_state=0)
    return cells.obsm["X_umap"].copy()


own, own_seconds = timed(lambda: by_scanpy(None))
own_picture = drawn_by_scanpy()
exact, exact_seconds = timed(lambda: by_scanpy(kith.scanpy.transformer(n_neighbors)))
exact_picture = drawn_by_scanpy()
panels = [("scanpy", own_picture, f"neighbours and weights {own_seconds:.3f} s"),
          ("scanpy with kith.scanpy.transformer", exact_picture, f"neighbours and weights {exact_seconds:.3f} s")]
kept = own.multiply(exact > 0).nnz / exact.count_nonzero()
print(f"scanpy: {100 * kept:.1f} % of the neighbours that kith finds are among its own")


# %%
# UMAP takes neighbours that are there, of which each cell is its own first one.
def by_umap(precomputed):
    knn = kith.umap.precomputed_knn(x, n_neighbors) if precomputed else (None, None, None)
    return umap.UMAP(n_neighbors=n_neighbors, precomputed_knn=knn, random_state=0, n_jobs=1).fit_transform(x)


for title, precomputed in (("umap.UMAP", False), ("umap.UMAP with kith.umap.precomputed_knn", True)):
    picture, seconds = timed(lambda: by_umap(precomputed))
    panels.append((title, picture, f"in all {seconds:.2f} s"))

# %%
# The neighbours are the same, as for so few cells both search exactly, too. The pictures of a row differ as those of two
# runs do: the layout magnifies the last digits of the distances.
types = cells.obs["bulk_labels"].cat
figure, axes = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
for axis, (title, picture, note) in zip(axes.flat, panels):
    points = axis.scatter(*picture.T, c=types.codes, s=6, cmap="tab10")
    axis.set(title=title, xlabel=note, xticks=[], yticks=[])
figure.legend(points.legend_elements()[0], types.categories, loc="outside lower center", ncols=3, frameon=False)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=100)
plt.show()
