"""The utilities that test_search.py uses."""
import unittest
from typing import Any


def require_faiss(test: Any) -> Any:
    """It is there."""
    return test


def require_elasticsearch(test: Any) -> Any:
    """It is not."""
    return unittest.skip("needs elasticsearch")(test)
