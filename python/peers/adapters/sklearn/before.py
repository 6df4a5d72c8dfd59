"""kith's classes in place of scikit-learn's, wherever scikit-learn has them by name."""
import importlib
import sys

import kith.sklearn

for _module in ("sklearn.neighbors", "sklearn.cluster", "sklearn.cluster._dbscan", "sklearn.cluster._optics",
                "sklearn.cluster._spectral", "sklearn.manifold._isomap", "sklearn.manifold._locally_linear",
                "sklearn.manifold._spectral_embedding", "sklearn.manifold._t_sne", "sklearn.semi_supervised._label_propagation",
                "sklearn.feature_selection._mutual_info"):
    importlib.import_module(_module)
    for _name in kith.sklearn.__all__:
        if hasattr(sys.modules[_module], _name):
            setattr(sys.modules[_module], _name, getattr(kith.sklearn, _name))
