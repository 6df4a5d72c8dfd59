"""What test_search.py asks of its utilities."""
import unittest
from typing import Any


def require_faiss(test: Any) -> Any:
    """It is there."""
    return test


def require_elasticsearch(test: Any) -> Any:
    """It is not."""
    return unittest.skip("needs elasticsearch")(test)
