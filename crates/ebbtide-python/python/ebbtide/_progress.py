"""How a training is going: a line in a terminal, a table in a notebook, or nothing."""

from __future__ import annotations

import html
import json
import logging
import sys
import time
import warnings
from importlib import import_module
from typing import Any, Protocol, TextIO


class Display(Protocol):
    """Somebody who is told what happens, a few times a second."""

    def begun(self, iteration: int, iterations: int, seconds: float) -> None: ...
    def stepped(self, iteration: int) -> None: ...
    def recorded(self, record: str) -> None: ...
    def evaluating(self) -> None: ...
    def remarked(self, text: str) -> None: ...
    def ended(self) -> None: ...


def display(progress: bool | None) -> Display:
    """The display for wherever this runs; by default, only where somebody looks."""
    if progress is False:
        return Silent()
    if _in_notebook():
        return Notebook()
    if progress or sys.stderr.isatty():
        return Terminal(sys.stderr)
    return Silent()


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


class Silent:
    """Remarks go to the log named ``ebbtide``, and to whoever heeds warnings if they are doubts."""

    def begun(self, iteration: int, iterations: int, seconds: float) -> None:
        pass

    def stepped(self, iteration: int) -> None:
        pass

    def recorded(self, record: str) -> None:
        pass

    def evaluating(self) -> None:
        pass

    def remarked(self, text: str) -> None:
        logging.getLogger("ebbtide").info(text)
        if "did not settle" in text:  # a pilot that is not sure of what it found
            warnings.warn(text, stacklevel=5)

    def ended(self) -> None:
        pass


class _Pace:
    """How far a training is and how fast, with its newest figures."""

    def __init__(self) -> None:
        self.first = self.done = self.all = 0
        self.since = time.monotonic()
        self.figures: dict[str, Any] = {}

    def begin(self, iteration: int, iterations: int) -> None:
        self.first = self.done = iteration
        self.all = iterations
        self.since = time.monotonic()

    def record(self, text: str) -> None:
        record = json.loads(text)
        self.done = max(self.done, record["iteration"])
        if record.get("elbo") is not None:
            self.figures = record

    def cells(self) -> list[tuple[str, str]]:
        passed = time.monotonic() - self.since
        rate = (self.done - self.first) / passed if passed > 0 else 0.0
        left = _clock((self.all - self.done) / rate) if rate > 0 else "…"
        share = f"{100 * self.done // max(self.all, 1)} %"
        cells = [("iteration", f"{self.done} of {self.all} ({share})"), ("it/s", f"{rate:.0f}"), ("left", left)]
        for name, key in (("ELBO", "elbo"), ("log Z", "log_z"), ("EUBO", "eubo")):
            if (number := self.figures.get(key)) is not None:
                cells.append((name, f"{number:.3f}"))
        if (share_of_samples := self.figures.get("ess")) is not None:
            cells.append(("ESS", f"{100 * share_of_samples:.0f} %"))
        return cells


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Terminal:
    """One line that is written over again and again; into a file or a pipe, a line now and then."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._pace, self._width = stream, _Pace(), 0
        self._patience, self._shown = 0.0 if stream.isatty() else 10.0, time.monotonic()

    def _show(self, text: str) -> None:
        padding = " " * max(0, self._width - len(text))
        self._width = len(text)
        self._stream.write(text if self._patience else f"\r{text}{padding}\r{text}")
        self._stream.flush()

    def _line(self) -> None:
        self._show("  ".join(f"{name} {number}" for name, number in self._pace.cells()))

    def begun(self, iteration: int, iterations: int, seconds: float) -> None:
        self._pace.begin(iteration, iterations)

    def stepped(self, iteration: int) -> None:
        self._pace.done = iteration
        if time.monotonic() - self._shown >= self._patience:
            self._shown = time.monotonic()
            self._line()
            if self._patience:
                self._stream.write("\n")

    def recorded(self, record: str) -> None:
        self._pace.record(record)

    def evaluating(self) -> None:
        pass

    def remarked(self, text: str) -> None:
        if not self._patience:
            self._show("")
        self._stream.write(f"{text}\n")

    def ended(self) -> None:
        self._line()
        self._stream.write("\n")
        self._stream.flush()


class Notebook:
    """A table below the cell."""

    def __init__(self) -> None:
        shown: Any = import_module("IPython.display")
        self._page: Any = shown.HTML
        self._handle: Any = shown.display(shown.HTML(""), display_id=True)
        self._pace, self._remarks = _Pace(), list[str]()

    def _show(self) -> None:
        cells = self._pace.cells()
        heads = "".join(f"<th>{html.escape(name)}</th>" for name, _ in cells)
        numbers = "".join(f"<td>{html.escape(number)}</td>" for _, number in cells)
        remarks = "".join(f"<p>{html.escape(text)}</p>" for text in self._remarks)
        table = f"<table><tr>{heads}</tr><tr>{numbers}</tr></table>"
        self._handle.update(self._page(remarks + table))

    def begun(self, iteration: int, iterations: int, seconds: float) -> None:
        self._pace.begin(iteration, iterations)

    def stepped(self, iteration: int) -> None:
        self._pace.done = iteration
        self._show()

    def recorded(self, record: str) -> None:
        self._pace.record(record)

    def evaluating(self) -> None:
        self._show()

    def remarked(self, text: str) -> None:
        self._remarks.append(text)
        self._show()

    def ended(self) -> None:
        self._show()
