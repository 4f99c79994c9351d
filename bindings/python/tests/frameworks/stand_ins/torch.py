"""Arrays of numpy under the names that text-generation-webui's loader of llama.cpp uses. Nothing is
computed with them."""

import numpy as np

LongTensor = FloatTensor = np.ndarray
float32 = np.float32


def tensor(values, dtype=None):
    """An array with a copy of the values."""
    return np.array(values, dtype)
