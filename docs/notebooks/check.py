"""Runs the code of a notebook in a moment: trainings are cut short, and no Jupyter is needed.

    python docs/notebooks/check.py first-sampler.ipynb
"""

from __future__ import annotations

import ast
import json
import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


class CellError(Exception):
    """A cell raised: its message says which, and has its code."""


def cells(notebook: Path) -> list[str]:
    """The code of a notebook, cell by cell."""
    read = json.loads(notebook.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in read["cells"] if cell["cell_type"] == "code"]


def run(notebook: Path) -> dict[str, Any]:
    """Runs all cells in one namespace, which is given back. What a cell ends with is shown to nobody, but made."""
    # Read by the first cell, and by matplotlib when it is imported.
    os.environ["EBBTIDE_QUICK"] = "1"
    os.environ["MPLBACKEND"] = "agg"
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, code in enumerate(cells(notebook), start=1):
        try:
            _run_cell(code, f"{notebook.name}, code cell {number}", names)
        except Exception as error:
            raise CellError(f"code cell {number} of {notebook.name} raised {type(error).__name__}: {error}\n\n{code}") from error
    return names


def _run_cell(code: str, place: str, names: dict[str, Any]) -> None:
    """As Jupyter does: statements, and then the value of a last expression."""
    body = ast.parse(code, place).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), place, "exec"), names)
    if last is not None:
        _show(eval(compile(ast.Expression(last.value), place, "eval"), names))


def _show(value: Any) -> None:
    """Makes what Jupyter would show of a value."""
    repr(value)
    if hasattr(value, "_repr_html_"):
        value._repr_html_()
    if hasattr(value, "savefig"):
        value.savefig(os.devnull, format="png")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        run(HERE / name)
        print(f"{name}: all cells ran")
