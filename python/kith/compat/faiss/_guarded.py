"""Objects that refuse attributes which they do not have: a misspelt or foreign setting is an error, not silence."""
from __future__ import annotations

from typing import Any


class Guarded:
    """Attributes are those that the class names."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and not hasattr(type(self), name):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}: an exact index has nothing to set by it")
        object.__setattr__(self, name, value)


class Owned:
    """The ``this`` of faiss' objects: who owns the C++ object, of which there is none."""

    def own(self, owned: bool = True) -> bool:
        """Nothing to own."""
        return bool(owned)

    def disown(self) -> bool:
        """Nothing to disown."""
        return False
