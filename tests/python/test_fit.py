"""A training from Python: what goes in, what comes out, what is refused."""

from __future__ import annotations

import pickle
import signal
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import FAR, SMALL, WIDE, bowl, bowl_gradient

import ebbtide as et


def test_a_density_anywhere_is_found_and_sampled_in_its_own_coordinates(gaussian: et.Sampler) -> None:
    x = gaussian.sample(20_000)
    assert x.shape == (20_000, 2) and x.dtype == np.float32
    assert np.abs((x.mean(axis=0) - FAR) / WIDE).max() < 0.15
    assert np.abs(x.std(axis=0) / WIDE - 1).max() < 0.2
    evaluation = gaussian.evaluate()
    log_z = np.log(2 * np.pi * WIDE.prod())
    assert abs(evaluation.log_z - log_z) < 5 * evaluation.log_z_error + 0.02
    assert evaluation.elbo < log_z + 3 * evaluation.elbo_error
    assert evaluation.eubo is None and evaluation.verdict == "good where samples go", evaluation
    location, scale = gaussian.placement
    assert np.abs((location - FAR) / WIDE).max() < 1 and np.abs(np.log(scale / WIDE)).max() < 0.7


def test_true_samples_give_an_upper_bound(gaussian: et.Sampler) -> None:
    truth = FAR + WIDE * np.random.default_rng(0).normal(size=(3000, 2))
    evaluation = gaussian.evaluate(true_samples=truth)
    assert evaluation.samples == 3000
    log_z = np.log(2 * np.pi * WIDE.prod())
    assert evaluation.elbo - 4 * evaluation.elbo_error < log_z < evaluation.eubo + 4 * evaluation.eubo_error
    with pytest.raises(ValueError, match=r"true samples are an array of shape \(n, 2\), not \(4, 3\)"):
        gaussian.evaluate(true_samples=np.zeros((4, 3)))
    truth[7, 1] = np.nan
    with pytest.raises(ValueError, match="row 7 of the true samples is not finite"):
        gaussian.evaluate(true_samples=truth)


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads() -> None:
    samples = [
        et.fit(bowl, dim=3, grad=bowl_gradient, seed=5, **{**SMALL, "threads": threads}).sample(50) for threads in (1, 2)
    ]
    assert np.array_equal(samples[0], samples[1])
    other = et.fit(bowl, dim=3, grad=bowl_gradient, seed=6, **SMALL).sample(50)
    assert not np.array_equal(samples[0], other)


def test_each_call_draws_other_samples_and_seeds_draw_the_same() -> None:
    sampler = et.fit("easy-funnel", **SMALL)
    first, second = sampler.sample(10), sampler.sample(10)
    assert not np.array_equal(first, second)
    assert np.array_equal(first, sampler.sample(10, seed=0)) and np.array_equal(second, sampler.sample(10, seed=1))
    assert np.array_equal(sampler.sample(5, seed=1), second[:5])


@pytest.mark.parametrize("method", et.methods())
def test_all_methods_train_a_callable(method: str) -> None:
    sampler = et.fit(bowl, dim=2, grad=bowl_gradient, method=method, **SMALL)
    assert np.isfinite(sampler.sample(100)).all()
    assert sampler.settings["method"] == method


def test_all_targets_have_names_and_the_papers_can_be_drawn() -> None:
    assert len(et.targets()) == 15
    for name in et.targets()[:9]:
        target = et.target(name)
        x = target.sample(64)
        assert target.log_density(x).shape == (64,) and x.shape == (64, target.dim)
    x = et.target("25gmm").sample(8)
    step = np.float32(1e-2)
    for coordinate in range(2):
        shift = step * np.eye(2, dtype=np.float32)[coordinate]
        slope = (et.target("25gmm").log_density(x + shift) - et.target("25gmm").log_density(x - shift)) / (2 * step)
        assert np.abs(slope - et.target("25gmm").gradient(x)[:, coordinate]).max() < 0.05
    with pytest.raises(ValueError, match="25gmm"):
        et.target("25gm")
    with pytest.raises(ValueError, match=r"points of 25gmm are an array of shape \(n, 2\), not \(2,\)"):
        et.target("25gmm").log_density([0.0, 1.0])


def test_a_formula_is_a_target() -> None:
    wells = et.Formula("-(x0^2 - 4)^2 - 0.5*k*(x1 - x0)^2", dim=2, parameters={"k": 3.0})
    assert et.fit(wells, **SMALL).dim == 2
    with pytest.raises(et.SettingsError, match="x2"):
        et.fit(et.Formula("-x2^2", dim=2), **SMALL)


def test_jax_differentiates() -> None:
    jax = pytest.importorskip("jax")
    seen = []

    def log_density(x: object) -> object:
        seen.append(x)
        return -0.5 * jax.numpy.sum(x**2, axis=1)

    sampler = et.fit(log_density, dim=2, grad="jax", **SMALL)
    by_hand = et.fit(bowl, dim=2, grad=bowl_gradient, **SMALL)
    assert isinstance(seen[0], jax.core.Tracer)
    assert np.abs(sampler.sample(100, seed=0) - by_hand.sample(100, seed=0)).max() < 0.05


def test_pytorch_differentiates() -> None:
    torch = pytest.importorskip("torch")
    sampler = et.fit(lambda x: -0.5 * (x**2).sum(dim=1), dim=2, grad="torch", **SMALL)
    by_hand = et.fit(bowl, dim=2, grad=bowl_gradient, **SMALL)
    assert np.abs(sampler.sample(100, seed=0) - by_hand.sample(100, seed=0)).max() < 0.05
    with pytest.raises(et.DensityError, match="does not depend on its points"):
        et.fit(lambda x: -0.5 * (x.detach() ** 2).sum(dim=1), dim=2, grad="torch", **SMALL)
    double = []
    et.fit(lambda x: double.append(x.dtype) or -0.5 * (x**2).sum(dim=1), dim=2, grad="torch", dtype="float64", **SMALL)
    assert set(double) == {torch.float64}


def test_without_a_gradient_it_says_what_that_costs() -> None:
    with pytest.warns(UserWarning, match="there is no local search.*modes far"):
        sampler = et.fit(bowl, dim=2, **SMALL)
    assert sampler.settings["local-search.every"] == 0
    with warnings.catch_warnings(), pytest.raises(et.SettingsError, match="reverse KL needs the gradient"):
        warnings.simplefilter("ignore")
        et.fit(bowl, dim=2, method="pis-tlm", **SMALL)


def test_points_have_the_precision_that_is_asked_for() -> None:
    seen = set()

    def log_density(x: np.ndarray) -> np.ndarray:
        seen.add((x.dtype, x.flags.c_contiguous))
        return bowl(x)

    et.fit(log_density, dim=2, grad=bowl_gradient, **SMALL)
    assert seen == {(np.dtype(np.float64), True)}
    seen.clear()
    et.fit(log_density, dim=2, grad=bowl_gradient, dtype=np.float32, **SMALL)
    assert seen == {(np.dtype(np.float32), True)}


class Trouble(Exception):
    pass


def test_what_a_density_raises_comes_back_as_itself() -> None:
    calls = 0

    def log_density(x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls == 20:
            raise Trouble("no more")
        return bowl(x)

    with pytest.raises(Trouble, match="no more") as caught:
        et.fit(log_density, dim=2, grad=bowl_gradient, scale=1.0, **{**SMALL, "settings": {"local-search.every": 0}})
    assert 1 < caught.value.iteration < 60
    if hasattr(caught.value, "__notes__"):  # from Python 3.11 on
        assert caught.value.__notes__ == [f"in iteration {caught.value.iteration} of the training"]


def test_an_impossible_value_is_told_with_its_row_and_point() -> None:
    def log_density(x: np.ndarray) -> np.ndarray:
        values = bowl(x)
        values[np.flatnonzero(np.abs(x[:, 0] - 100) < 0.05)] = np.nan
        return values

    with pytest.raises(et.DensityError, match=r"the log density is NaN at x = \[") as caught:
        et.fit(log_density, dim=2, grad=bowl_gradient, location=[100, 0], scale=1.0, **SMALL)
    assert abs(caught.value.point[0] - 100) < 0.06 and caught.value.row >= 0
    assert f"row {caught.value.row} of the batch" in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda x: bowl(x)[:, None], r"answered with an array of shape \((\d+), 1\); it must be \(\1,\)"),
        (lambda x: bowl(x).sum(), r"answered with an array of shape \(\)"),
        (lambda x: ["a"] * len(x), "answered with list, which is no array of numbers"),
    ],
)
def test_an_answer_of_the_wrong_shape_is_refused(answer: object, message: str) -> None:
    with pytest.raises(et.DensityError, match=message):
        et.fit(answer, dim=2, grad=bowl_gradient, **SMALL)


def test_a_gradient_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(et.DensityError, match=r"grad was given points of shape \((\d+), 2\), and answered with an array of shape \(\1,\)"):
        et.fit(bowl, dim=2, grad=lambda x: x[:, 0], scale=1.0, **{**SMALL, "settings": {"local-search.every": 1}})


def test_wrong_arguments_are_told() -> None:
    cases = [
        ({"dim": None}, TypeError, "needs dim"),
        ({"dim": 0}, TypeError, "dim is 0"),
        ({"steps": 0}, et.SettingsError, "steps"),
        ({"method": "tb-tbb"}, et.SettingsError, "did you mean `tb-tb`"),
        ({"settings": {"replay.ration": 3}}, et.SettingsError, "replay.ratio"),
        ({"settings": {"replay": {"ratio": True}}}, et.SettingsError, "not True"),
        ({"scale": [1.0, 2.0, 3.0]}, ValueError, r"scale is a number, or 2 of them, not an array of shape \(3,\)"),
        ({"scale": -1.0}, et.SettingsError, "scales above 0"),
        ({"location": 3.0}, TypeError, "location needs scale"),
        ({"bounds": (1.0, 0.0)}, ValueError, "a low and a high end"),
        ({"bounds": (0.0, 1.0), "scale": 1.0}, TypeError, "leave out location and scale"),
        ({"grad": "tensorflow"}, ValueError, "torch"),
    ]
    for arguments, kind, message in cases:
        with pytest.raises(kind, match=message):
            et.fit(bowl, **{"dim": 2, "grad": bowl_gradient, **SMALL, **arguments})
    with pytest.raises(TypeError, match="a function of points"):
        et.fit(3, dim=2)
    with pytest.raises(TypeError, match="comes with its dimension"):
        et.fit("25gmm", dim=2)
    with pytest.raises(TypeError, match=r"a formula is written Formula\('-x0\^2', dim=1\)"):
        et.fit("-x0^2", dim=1)
    with pytest.raises(et.SettingsError, match="did you mean `25gmm`"):
        et.fit("25gm")


def test_bounds_say_where_a_density_is() -> None:
    sampler = et.fit(lambda x: bowl(x - 40), dim=2, grad=lambda x: 40 - x, bounds=([38, 36], [42, 44]), **SMALL)
    location, scale = sampler.placement
    assert location.tolist() == [40, 40] and scale.tolist() == [1, 2]


def interrupting(after: int) -> object:
    calls = 0

    def log_density(x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls == after:
            signal.raise_signal(signal.SIGINT)
        return bowl(x)

    return log_density


def test_ctrl_c_gives_back_what_was_learned(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    sampler = et.fit(interrupting(20), dim=2, grad=bowl_gradient, scale=1.0, folder=tmp_path / "run", **SMALL)
    assert signal.getsignal(signal.SIGINT) is before
    assert sampler.outcome["status"] == "interrupted" and 0 < sampler.iterations < 60
    assert sampler.sample(10).shape == (10, 2)
    # And it goes on to the bits of a run that was never stopped.
    whole = et.fit(bowl, dim=2, grad=bowl_gradient, scale=1.0, **SMALL)
    resumed = et.resume(tmp_path / "run", bowl, grad=bowl_gradient, threads=1)
    assert resumed.iterations == 60
    assert np.array_equal(resumed.sample(50, seed=0), whole.sample(50, seed=0))


def test_a_second_ctrl_c_leaves_at_once() -> None:
    def log_density(x: np.ndarray) -> np.ndarray:
        signal.raise_signal(signal.SIGINT)
        return bowl(x)

    with pytest.raises(KeyboardInterrupt):
        et.fit(log_density, dim=2, grad=bowl_gradient, scale=1.0, **SMALL)


def test_it_trains_in_another_thread_while_python_goes_on() -> None:
    trained: list[et.Sampler] = []
    thread = threading.Thread(target=lambda: trained.append(et.fit("25gmm", **{**SMALL, "iterations": 400})))
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
    assert turns > 1000 and trained[0].dim == 2


def test_a_run_is_kept_saved_and_loaded(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        et.load(tmp_path / "none")
    kept = et.fit(bowl, dim=2, grad=bowl_gradient, folder=tmp_path / "kept", **SMALL)
    assert kept.folder == tmp_path / "kept" and (tmp_path / "kept" / "report.html").exists()
    with pytest.raises(FileExistsError, match="there is a run in"):
        et.fit(bowl, dim=2, grad=bowl_gradient, folder=tmp_path / "kept", **SMALL)
    loose = et.fit(bowl, dim=2, grad=bowl_gradient, **SMALL)
    assert loose.folder is None
    loose.save(tmp_path / "saved")
    with pytest.raises(FileExistsError):
        loose.save(tmp_path / "saved")
    x, log_w = loose.sample(20, weights=True, seed=1)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    alone = et.load(tmp_path / "saved")
    assert np.array_equal(alone.sample(20, seed=1), x)
    with pytest.raises(et.DensityError, match="`bowl` belongs to the program that began the run"):
        alone.sample(20, weights=True)
    again = et.load(tmp_path / "saved", bowl, grad=bowl_gradient)
    assert np.array_equal(again.sample(20, weights=True, seed=1)[1], log_w)
    with pytest.raises(et.RunError, match="with a gradient, and the density is brought without"):
        et.load(tmp_path / "saved", bowl)
    with pytest.raises(et.RunError, match="is finished"):
        et.resume(tmp_path / "saved", bowl, grad=bowl_gradient)
    longer = et.resume(tmp_path / "saved", bowl, grad=bowl_gradient, iterations=80)
    assert longer.iterations == 80 and longer.history[-1]["iteration"] == 80


def test_a_density_that_is_nowhere_says_where_to_say_where() -> None:
    with pytest.raises(et.RunError, match=r"the density is zero at all .* say roughly where it is and how wide: location= and scale=, or bounds=$"):
        et.fit(lambda x: np.full(len(x), -np.inf), dim=2, grad=bowl_gradient, **SMALL)
    with np.errstate(over="ignore"), pytest.raises(et.DensityError) as caught:
        et.fit(lambda x: np.exp(x[:, 0] ** 2), dim=2, grad=bowl_gradient, **SMALL)
    if hasattr(caught.value, "__notes__"):  # from Python 3.11 on
        assert "a pilot was looking for the density" in caught.value.__notes__[0]
    assert caught.value.iteration is None, "it was before the first"


def test_log_z_begins_where_the_pilot_sees_it() -> None:
    sampler = et.fit(lambda x: bowl(x) - 500, dim=2, grad=bowl_gradient, **SMALL)
    assert abs(sampler.settings["optimisation.log-z-start"] - (np.log(2 * np.pi) - 500)) < 2
    assert abs(sampler.history[1]["log_z_learned"] + 498) < 3


def test_what_never_began_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        et.fit(lambda x: 1 / 0, dim=2, grad=bowl_gradient, folder=tmp_path / "run", **SMALL)
    assert list(tmp_path.iterdir()) == []


def test_a_training_that_diverges_says_so() -> None:
    steep = {"optimisation.generation-rate": 1e6, "optimisation.clip": 1e9, "evaluation.samples": 128}
    with pytest.warns(UserWarning, match="training diverged at iteration"):
        sampler = et.fit("25gmm", **{**SMALL, "settings": {**steep, "evaluation.every": 1, "evaluation.explosion": 1e300}})
    assert sampler.outcome["status"] == "diverged"
    assert sampler.evaluate().verdict == "not to be trusted"
    with pytest.warns(UserWarning), pytest.raises(et.RunError, match="diverged at iteration .* before anything was learned"):
        et.fit("25gmm", **{**SMALL, "settings": steep})


def test_a_sampler_says_what_it_is(gaussian: et.Sampler) -> None:
    assert repr(gaussian) == "Sampler(far, tb-tb, dim=2, steps=4, 800 iterations)"
    text = str(gaussian.evaluate())
    assert text.splitlines()[0] == "good where samples go" and "  ELBO" in text and "  k̂ " in text
    assert "<table>" in gaussian.evaluate()._repr_html_()
    with pytest.raises(TypeError):
        pickle.dumps(gaussian)
    paths, times = gaussian.trajectories(7)
    assert paths.shape == (7, 5, 2) and times[0] == 0 and times[-1] == 1


def test_progress_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    et.fit(bowl, dim=2, grad=bowl_gradient, progress=True, **SMALL)
    shown = capsys.readouterr().err
    assert "the pilot found the density" in shown and "60 of 60 (100 %)" in shown and "ELBO" in shown
    et.fit(bowl, dim=2, grad=bowl_gradient, **SMALL)
    assert capsys.readouterr().err == ""


def test_a_configuration_is_printed() -> None:
    text = et.configuration("25gmm", method="tb-tlm", steps=10)
    assert 'method = "tb-tlm"' in text and "steps = 10" in text
