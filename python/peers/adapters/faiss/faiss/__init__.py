"""faiss is kith.compat.faiss. A name that is not there raises when it is used, so that a file of tests is collected whole."""
from typing import Any

from kith.compat import faiss as _ours
from kith.compat.faiss import *  # noqa: F403

__version__ = _ours.__version__


class NotThere(Exception):
    """A name that kith.compat.faiss has not, and that belongs to no other kind of index."""


class _Later:
    """Stands for a name or one of its attributes, and raises when that is called."""

    def __init__(self, name: str, error: type[Exception]) -> None:
        self._name, self._error = name, error

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise self._error(self._name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Later(f"{self._name}.{name}", self._error)

    def _refuse(self, *_: Any) -> Any:
        raise self._error(self._name)

    __eq__ = __lt__ = __or__ = __int__ = __index__ = __iter__ = _refuse  # type: ignore[assignment]
    __hash__ = object.__hash__


class _Class(type):
    """For classes of other kinds of index: for isinstance, and for files that name their constants."""

    def __call__(cls, *_: Any, **__: Any) -> Any:
        raise _ours.AnotherKind(cls.__name__)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Later(f"{cls.__name__}.{name}", _ours.AnotherKind)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        thing = getattr(_ours, name)
    except AttributeError:
        return _Later(name, NotThere)
    if name in _ours.__all__:
        return thing
    globals()[name] = _Class(name, (), {}) if isinstance(thing, type) else _Later(name, _ours.AnotherKind)
    return globals()[name]
