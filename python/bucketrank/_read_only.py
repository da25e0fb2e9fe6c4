"""The mixin ReadOnlyArrays."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["ReadOnlyArrays"]


class ReadOnlyArrays:
    """Base of results and data whose arrays are read-only, also those of copies and after unpickling."""

    def _freeze_arrays(self) -> None:
        """Make the arrays in attributes, and in dictionaries in attributes, read-only."""
        for value in vars(self).values():
            for entry in value.values() if isinstance(value, dict) else (value,):
                if isinstance(entry, np.ndarray):
                    entry.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the attributes; copied and unpickled arrays are read-only, too."""
        self.__dict__.update(state)
        self._freeze_arrays()
