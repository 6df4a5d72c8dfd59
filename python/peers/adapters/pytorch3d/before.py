"""Tests that ask for a GPU run on the CPU where there is none: kith's bits are the same."""
from typing import Any

import torch


class _OnCpu:
    """torch, whose devices are the CPU."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    @staticmethod
    def device(*_: Any) -> torch.device:
        return torch.device("cpu")


def pytest_collection_modifyitems(items: Any) -> None:
    if torch.cuda.is_available():
        return
    for module in {item.module for item in items}:
        module.torch = _OnCpu()
        if hasattr(module, "get_random_cuda_device"):
            module.get_random_cuda_device = lambda: "cpu"
