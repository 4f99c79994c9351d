"""What all objects of the library share."""

from typing import Any, NoReturn


class Unpicklable:
    """An object of this process, which cannot be copied or pickled."""

    _instead = "open it again where it is needed"

    def _refuse(self) -> NoReturn:
        name = type(self).__name__
        raise TypeError(f"a {name} cannot be pickled or copied: {self._instead}")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self._refuse()

    def __copy__(self) -> NoReturn:
        self._refuse()

    def __deepcopy__(self, memo: Any) -> NoReturn:
        self._refuse()
