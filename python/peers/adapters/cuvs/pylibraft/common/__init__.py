"""device_ndarray: an array of numpy in place of one on a device."""
from typing import Any

import numpy as np


class device_ndarray(np.ndarray):  # noqa: N801
    """The arrays that cuVS takes and returns."""

    def __new__(cls, array: Any) -> Any:
        return np.array(array, order="K").view(cls)

    def copy_to_host(self) -> Any:
        """As an array of numpy."""
        return np.array(self, order="K").view(np.ndarray)
