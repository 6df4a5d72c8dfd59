"""The fixture of test_search.py: a file system of fsspec under the name mock."""
from types import SimpleNamespace
from typing import Any, Iterator

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem


class _Mock(MemoryFileSystem):
    protocol = "mock"


@pytest.fixture
def mockfs() -> Iterator[Any]:
    fsspec.register_implementation("mock", _Mock, clobber=True)
    yield SimpleNamespace(storage_options={})
