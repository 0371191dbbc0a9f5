"""What is documented is run, with shorter trainings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ebbtide as et

ROOT = Path(__file__).parents[2]


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("page", "count"), [("README.md", 1), ("docs/python.md", 11)])
@pytest.mark.filterwarnings("ignore:the density comes without its gradient")
def test_a_page_is_run(page: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = blocks(ROOT / page)
    assert len(found) == count
    fit, resume = et.fit, et.resume

    def short(*arguments: Any, **named: Any) -> et.Sampler:
        settings = {"evaluation.samples": 256, "local-search.steps": 20, "local-search.burn-in": 10, **named.pop("settings", {})}
        if named.get("grad") == "jax":  # whose compiler takes longer than all the rest
            settings = {"evaluation.samples": 256, "local-search.every": 0}
        if not (arguments and callable(arguments[0]) and "grad" not in named):
            named["settings"] = settings
        return fit(*arguments, **{**named, "iterations": 40})

    monkeypatch.setattr(et, "fit", short)
    monkeypatch.setattr(et, "resume", lambda *arguments, **named: resume(*arguments, **{**named, "iterations": 50}))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in found:
        if "jax" in block:
            pytest.importorskip("jax")
        exec(compile(block, page, "exec"), names)
    assert np.isfinite(names["sampler"].sample(100)).all()
