"""How an operator of torch is registered."""
from __future__ import annotations

from typing import Any

import torch


def define(schema: str, implementation: Any, fake: Any) -> None:
    """For tensors of any device: what it does, and what torch.compile is to know of its results."""
    name = "kith::" + schema.partition("(")[0]
    torch.library.define(name, schema[schema.index("("):], tags=torch.Tag.pt2_compliant_tag)
    torch.library.impl(name, "default", implementation)
    torch.library.register_fake(name, fake)


def tensor(value: Any, name: str, whole: bool = False) -> torch.Tensor:
    """Itself; `whole`: of integers."""
    from ._arguments import _wrong
    if not isinstance(value, torch.Tensor):
        raise _wrong(value, name, "a tensor")
    if whole and (value.is_floating_point() or value.is_complex()):
        raise TypeError(f"{name}: expected integers, got {value.dtype}")
    return value
