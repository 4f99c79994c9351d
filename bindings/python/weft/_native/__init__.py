"""Calls of libweft.so by ctypes: what the module _weft offers."""
