"""The types of arrays, so that a signature says what its numbers are."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
WordArray: TypeAlias = npt.NDArray[np.uint64]  # random bits
NumberArray: TypeAlias = npt.NDArray[np.int64 | np.float64]
AnyArray: TypeAlias = npt.NDArray[Any]
