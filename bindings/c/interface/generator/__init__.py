"""The parts of generate.py."""
