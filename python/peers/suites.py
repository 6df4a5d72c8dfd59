"""The suites of tests: whose they are, at which version, where they come from, and what they need."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Suite:
    """Tests of one project that are run with kith in place of what they test."""

    name: str
    project: str  # as the table of docs/migrate/README.md says it
    version: str  # a commit of the repository, or a version on PyPI
    tests: tuple[str, ...]  # files, or modules of an installed package
    repository: str = ""  # on GitHub: owner/name
    paths: tuple[str, ...] = ()  # what is needed of the repository
    package: str = ""  # on PyPI, whose source distribution holds the tests
    needs: tuple[str, ...] = ()  # packages
    keyword: str = ""  # pytest's -k
    root: str = "."  # pytest's working directory within the sources
    adapter: str = ""  # a folder of adapters/; by default that of the name
    sources: str = ""  # the suite whose sources it shares
    settings: bool = False  # pytest's are the project's own


_FAISS = ("binary_factory", "binary_io", "binary_search_params", "build_blocks", "clone", "contrib", "contrib_with_scipy",
          "documentation", "extra_distances", "factory", "index", "index_accuracy", "index_binary", "index_composite", "io", "merge_index",
          "meta_index", "referenced_objects", "search_params", "swig_wrapper", "wheel_smoke")

SUITES = (
    Suite("faiss", "faiss: flat indexes", "02dbb4e42f49aa2ce57cd78977b0e47a11f7cb91",
          tuple(f"tests/test_{name}.py" for name in _FAISS), repository="facebookresearch/faiss", paths=("tests", "contrib"),
          needs=("scipy",), root="tests"),
    Suite("faiss_torch", "faiss: contrib.torch_utils", "02dbb4e42f49aa2ce57cd78977b0e47a11f7cb91", ("tests/torch_test_contrib.py",),
          repository="facebookresearch/faiss", paths=("tests", "contrib"), needs=("torch",), root="tests", adapter="faiss", sources="faiss"),
    Suite("pytorch3d", "pytorch3d: knn, ball_query, chamfer, points_normals", "9381c4016376345bb795b97c45a6c2de66db354a",
          ("tests/test_knn.py", "tests/test_ball_query.py", "tests/test_chamfer.py", "tests/test_points_normals.py"),
          repository="facebookresearch/pytorch3d",
          paths=("tests/__init__.py", "tests/common_testing.py", "tests/test_knn.py", "tests/test_ball_query.py",
                 "tests/test_chamfer.py", "tests/test_points_normals.py", "pytorch3d"), needs=("torch", "iopath")),
    Suite("torch_cluster", "torch_cluster: knn, radius, nearest", "3d1d9e3967c77c757a68d8aad37d0171e93018e2",
          ("test/test_knn.py", "test/test_radius.py", "test/test_nearest.py"), repository="rusty1s/pytorch_cluster",
          paths=("test", "torch_cluster"), needs=("torch", "scipy")),
    Suite("cuvs", "cuVS: brute force, distances", "ff0c8076bf2f8d354bc21039ebffa14a1c9128a3",
          ("python/cuvs/cuvs/tests/test_brute_force.py", "python/cuvs/cuvs/tests/test_distance.py"), repository="rapidsai/cuvs",
          paths=("python/cuvs/cuvs/tests",), needs=("scipy",)),
    Suite("sklearn", "scikit-learn: neighbours, DBSCAN", "1.9.1",
          ("sklearn.neighbors.tests.test_neighbors", "sklearn.neighbors.tests.test_graph",
           "sklearn.neighbors.tests.test_neighbors_pipeline", "sklearn.cluster.tests.test_dbscan"), needs=("scikit-learn==1.9.1",), adapter="sklearn"),
    Suite("sklearn_users", "scikit-learn: what is built on neighbours", "1.9.1",
          ("sklearn.manifold.tests.test_isomap", "sklearn.manifold.tests.test_locally_linear",
           "sklearn.manifold.tests.test_spectral_embedding", "sklearn.manifold.tests.test_t_sne", "sklearn.neighbors.tests.test_lof", "sklearn.neighbors.tests.test_nca",
           "sklearn.neighbors.tests.test_nearest_centroid", "sklearn.cluster.tests.test_optics", "sklearn.cluster.tests.test_hdbscan",
           "sklearn.cluster.tests.test_spectral", "sklearn.cluster.tests.test_mean_shift",
           "sklearn.feature_selection.tests.test_mutual_info", "sklearn.impute.tests.test_knn",
           "sklearn.semi_supervised.tests.test_label_propagation"), needs=("scikit-learn==1.9.1",), adapter="sklearn"),
    Suite("datasets", "Hugging Face datasets: search", "5.2.0", ("tests/test_search.py",), package="datasets", needs=("datasets==5.2.0",),
          keyword="not elasticsearch and not Elastic", adapter="faiss"),
    Suite("langchain", "langchain-community: FAISS store", "0.4.2", ("tests/unit_tests/vectorstores/test_faiss.py",),
          package="langchain-community", needs=("langchain-community==0.4.2", "pytest-asyncio", "blockbuster", "syrupy"), adapter="faiss",
          settings=True),
)
