"""Samplers for other tools."""

from __future__ import annotations

import sys
from pathlib import Path

import arviz as az
import arviz_stats
import numpy as np
import pytest
import xarray
from conftest import FAR, WIDE

import ebbtide as et


def test_arviz_summarises_and_plots(gaussian: et.Sampler) -> None:
    data = gaussian.to_arviz(draws=500, names=["a", "b"])
    summary = az.summary(data)
    assert list(summary.index) == ["a", "b"]
    assert np.abs((summary["mean"].to_numpy() - FAR) / WIDE).max() < 0.3
    assert (summary["r_hat"] < 1.05).all() and (summary["ess_bulk"] > 400).all()
    assert data.attrs["verdict"] == "good where samples go" and abs(data.attrs["log_z"] - np.log(np.pi)) < 0.2
    assert data.sample_stats["log_weight"].shape == (4, 500)
    assert az.plot_pair(data, kind="scatter") is not None
    assert az.summary(gaussian.to_arviz(draws=100)).shape[0] == 2
    with pytest.raises(ValueError, match="2 coordinates and 1 names"):
        gaussian.to_arviz(names=["a"])


def test_arviz_1_gets_a_tree(gaussian: et.Sampler, monkeypatch: pytest.MonkeyPatch) -> None:
    """The packages that ArviZ 1 consists of; it wants a later Python than some of those that these tests are run with."""
    monkeypatch.setitem(sys.modules, "arviz", None)
    data = gaussian.to_arviz(draws=500, names=["a", "b"])
    assert isinstance(data, xarray.DataTree)
    summary = arviz_stats.summary(data, round_to="none")
    assert list(summary.index) == ["a", "b"]
    assert np.abs((summary["mean"].to_numpy() - FAR) / WIDE).max() < 0.3
    assert (summary["r_hat"] < 1.05).all()
    assert data.attrs["verdict"] == "good where samples go"
    assert data["sample_stats"]["log_weight"].shape == (4, 500)


def test_a_plot_is_a_figure(gaussian: et.Sampler, tmp_path: Path) -> None:
    figure = gaussian.plot(500)
    assert len([axes for axes in figure.axes if axes.get_visible()]) == 3
    figure.savefig(tmp_path / "pairs.png")
    assert (tmp_path / "pairs.png").stat().st_size > 5000
    with pytest.raises(ValueError, match="there is no coordinate 2: they are 0 to 1"):
        gaussian.plot(coordinates=[0, 2])


def test_a_report_is_a_page(gaussian: et.Sampler, tmp_path: Path) -> None:
    page = gaussian.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>far</h1>" in page and "No pictures" not in page
