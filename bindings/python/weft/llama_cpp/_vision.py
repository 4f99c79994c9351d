"""Handlers of chats with images, which Weft does not read yet."""

from typing import Any

from .._errors import UnsupportedError
from ._missing import IMAGES


class _Refused:
    """A handler that cannot be made."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        raise UnsupportedError(f"{type(self).__name__}: {IMAGES}")

    @classmethod
    def from_pretrained(cls, *arguments: Any, **keywords: Any) -> Any:
        """Refuses as well."""
        return cls()


class Llava15ChatHandler(_Refused):
    """LLaVA 1.5."""


class Llava16ChatHandler(Llava15ChatHandler):
    """LLaVA 1.6."""


class ObsidianChatHandler(Llava15ChatHandler):
    """Obsidian."""


class MoondreamChatHandler(Llava15ChatHandler):
    """Moondream."""


class NanoLlavaChatHandler(Llava15ChatHandler):
    """nanoLLaVA."""


class Llama3VisionAlphaChatHandler(Llava15ChatHandler):
    """Llama 3 Vision Alpha."""


class MiniCPMv26ChatHandler(Llava15ChatHandler):
    """MiniCPM-V 2.6."""


class Qwen25VLChatHandler(Llava15ChatHandler):
    """Qwen 2.5 VL."""


class MTMDChatHandler(_Refused):
    """Any model with a projector for images or audio."""


class Gemma4ChatHandler(MTMDChatHandler):
    """Gemma 4."""


Llama3VisionAlpha = Llama3VisionAlphaChatHandler
