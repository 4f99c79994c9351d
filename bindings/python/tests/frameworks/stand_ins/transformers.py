"""The base class that text-generation-webui's threads name. The loader of llama.cpp does not use
it."""


class StoppingCriteria:
    """A base class without anything."""
