"""Ctrl-C: the first asks a training to stop and keeps what was learned, the second leaves at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ebbtide._ebbtide import Stop


@contextmanager
def listening() -> Iterator[Stop]:
    """A wish to stop that Ctrl-C has, where this is the thread that signals come to."""
    stop = Stop()

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.ask():
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
