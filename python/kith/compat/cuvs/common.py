"""cuvs.common: Resources."""
from __future__ import annotations

from typing import Any

__all__ = ["Resources"]


class Resources:
    """Accepted wherever cuVS wants one.

    Parameters
    ----------
    stream : int, optional
        The CUDA stream, as a number, on which the work is ordered in place of the queries' library's current one.
    """

    def __init__(self, stream: Any = None) -> None:
        self.stream: int | None = None if stream is None else int(getattr(stream, "ptr", stream))

    def sync(self) -> None:
        """Nothing to wait for: calls have finished on return."""


def stream_of(resources: Any) -> int | None:
    """The stream that resources name."""
    return getattr(resources, "stream", None)
