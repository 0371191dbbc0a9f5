"""Types: the package's own, and what a user's type checker sees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ebbtide as et

USE = """\
import numpy as np
import numpy.typing as npt

import ebbtide as et

sampler = et.fit(lambda x: -(x**2).sum(axis=1), dim=2, grad="torch", settings={"replay.ratio": 4})
x: npt.NDArray[np.float32] = sampler.sample(10)
y, log_w = sampler.sample(10, weights=True)
reveal_type(log_w)
elbo: float = sampler.evaluate().elbo
et.fit(3)
"""


def mypy(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", *arguments], capture_output=True, text=True)
    return done.stdout + done.stderr


def test_the_package_is_typed() -> None:
    package = Path(et.__file__).parent
    assert (package / "py.typed").exists()
    assert "Success" in mypy("--package", "ebbtide")


def test_a_users_mistake_is_found(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(USE, encoding="utf-8")
    told = mypy(str(tmp_path / "use.py"))
    assert "use.py:9: note: Revealed type is" in told and "float64" in told
    assert "use.py:11: error" in told and "Found 1 error" in told, told
