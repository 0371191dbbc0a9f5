"""The notebooks of the documentation: their code, with trainings cut short."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

NOTEBOOKS = Path(__file__).resolve().parents[2] / "docs" / "notebooks"


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script that runs notebooks; what it puts into the environment goes with the test."""
    for name in ("EBBTIDE_QUICK", "MPLBACKEND"):
        monkeypatch.setenv(name, "")
    specification = importlib.util.spec_from_file_location("check", NOTEBOOKS / "check.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_first_notebook_runs(check: ModuleType) -> None:
    names = check.run(NOTEBOOKS / "first-sampler.ipynb")
    assert names["QUICK"] and names["sampler"].dim == 2
    # What the pilot found does not depend on how long the training was.
    location, scale = names["sampler"].placement
    assert (abs(location - names["true_mean"]) < 0.5 * names["true_deviation"]).all()
    assert (abs(scale / names["true_deviation"] - 1) < 0.5).all()


def test_a_cell_that_raises_is_told(check: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "wrong.ipynb"
    path.write_text('{"cells": [{"cell_type": "code", "source": ["x = 1\\n", "x / 0"]}]}', encoding="utf-8")
    with pytest.raises(check.CellError, match=r"code cell 1 of wrong.ipynb raised ZeroDivisionError(.|\n)*x / 0"):
        check.run(path)


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_committed_outputs_are_whole_and_small(path: Path) -> None:
    assert path.stat().st_size < 1_000_000
    text = path.read_text(encoding="utf-8")
    assert '"output_type": "error"' not in text
    assert '"execution_count": null' not in text
