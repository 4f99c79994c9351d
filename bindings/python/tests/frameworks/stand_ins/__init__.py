"""Modules in place of compiled ones, for machines where those cannot be had. Each says what it does
and what it lacks; run.py names those in use in its output."""
