"""njit() without a compiler: the function as it is."""


def njit(function):
    """The function."""
    return function
