"""What can go wrong."""

from __future__ import annotations


class SettingsError(ValueError):
    """Settings that make no sense; the message says which, and what to try."""


class RunError(RuntimeError):
    """A run that cannot begin, go on, or be opened."""
