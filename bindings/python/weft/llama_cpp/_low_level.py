"""Functions of llama.h that programs call without a context."""

import ctypes
import time
from typing import Any

from .. import _weft


def llama_backend_init() -> None:
    """Nothing to do."""


def llama_backend_free() -> None:
    """Nothing to do."""


def llama_numa_init(strategy: int = 0) -> None:
    """Nothing to do."""


def llama_print_system_info() -> bytes:
    """Processor, instruction sets, backends: JSON."""
    text: str = _weft.about_json()
    return text.encode()


def llama_supports_mmap() -> bool:
    """Files are mapped."""
    return True


def llama_supports_mlock() -> bool:
    """Pages are not locked."""
    return False


def llama_supports_gpu_offload() -> bool:
    """Weft computes on CPUs."""
    return False


def llama_supports_rpc() -> bool:
    """Weft computes on one machine."""
    return False


def llama_max_devices() -> int:
    """One: this machine."""
    return 1


def llama_time_us() -> int:
    """A clock in microseconds."""
    return time.monotonic_ns() // 1000


llama_log_callback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


def llama_log_set(callback: Any = None, user_data: Any = None) -> None:
    """Weft logs nothing, so there is nothing to pass on."""
