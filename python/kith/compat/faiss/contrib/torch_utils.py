"""faiss.contrib.torch_utils: after its import vectors that an index gives back are torch's. Tensors are taken without it."""
from __future__ import annotations

import torch  # noqa: F401

# By their own name, as this may be imported under faiss'.
from kith.compat.faiss import _arrays
from kith.compat.faiss._swig import swig_ptr

_arrays.tensors_by_default = True

swig_ptr_from_UInt8Tensor = swig_ptr_from_HalfTensor = swig_ptr_from_FloatTensor = swig_ptr  # noqa: N816
swig_ptr_from_BFloat16Tensor = swig_ptr_from_IntTensor = swig_ptr_from_IndicesTensor = swig_ptr  # noqa: N816
