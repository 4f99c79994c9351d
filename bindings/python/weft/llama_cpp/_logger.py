"""The logger of llama-cpp-python, to which Weft writes nothing."""

import logging

GGML_LOG_LEVEL_TO_LOGGING_LEVEL = {
    0: logging.CRITICAL, 1: logging.INFO, 2: logging.WARNING, 3: logging.ERROR, 4: logging.DEBUG,
    5: logging.DEBUG}

logger = logging.getLogger("llama-cpp-python")


def set_verbose(verbose: bool) -> None:
    """Sets the level of the logger."""
    logger.setLevel(logging.DEBUG if verbose else logging.ERROR)
