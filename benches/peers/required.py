"""What is asked of Ebbtide, and whether it was reached."""

from dataclasses import dataclass

from growth import deviation
from questions import DRAWS, SHAPES, TRANSPORT_DIMENSIONS, draws_name, shape_name

# width → (times as fast as JAX, as the better PyTorch, share of the machine's sgemm rate)
UPDATE = {64: (4.0, 4.5, 0.70), 256: (2.1, 2.0, 0.85), 1024: (1.2, 1.2, 0.85)}
SAMPLING = (4.0, 6.0)
ITERATION, TRANSPORT, TWO_THREADS, LINEAR = 12.0, 2.0, 1.85, 0.10


@dataclass(frozen=True)
class Requirement:
    """A bound and what was measured; `None` where nothing was."""

    what: str
    bound: float
    measured: float | None
    form: str = "{:.2f} ×"
    at_most: bool = False

    @property
    def met(self):
        """In words."""
        if self.measured is None:
            return "not measured"
        excess = self.measured - self.bound
        return "met" if (excess <= 0 if self.at_most else excess >= 0) else "**not met**"

    def row(self):
        sign = "≤" if self.at_most else "≥"
        measured = "" if self.measured is None else self.form.format(self.measured)
        return [self.what, f"{sign} {self.form.format(self.bound)}", measured, self.met]


def times_as_fast(record, item, case, than):
    """How many times as fast Ebbtide is as the best of some programs."""
    ours = record.ms(item, case, "ebbtide")
    theirs = [ms for ms in (record.ms(item, case, program) for program in than) if ms]
    return min(theirs) / ours if ours and theirs else None


def rate(answer):
    """Operations per millisecond."""
    return answer["flops"] / answer["ms"]


def share_of_sgemm(record, item, case):
    """The rate of the arithmetic that is needed, as a share of the machine's best in the same rounds."""
    ours, limit = (record.best(item, case, program) for program in ("ebbtide", "sgemm"))
    return rate(ours) / rate(limit) if ours and limit else None


TORCH = ("torch-eager", "torch-compiled")


def requirements(record):
    for shape in SHAPES:
        case, (jax, torch, share) = shape_name(shape), UPDATE[shape["width"]]
        name = f"update, width {shape['width']}, T = {shape['steps']}"
        yield Requirement(f"{name}: against JAX", jax, times_as_fast(record, "update", case, ["jax"]))
        against = times_as_fast(record, "update", case, TORCH)
        yield Requirement(f"{name}: against the better PyTorch", torch, against)
        yield Requirement(f"{name}: share of sgemm", share, share_of_sgemm(record, "update", case), "{:.1%}")
    for draws in DRAWS:
        for shape in SHAPES[:2]:
            case, name = draws_name(draws, shape), f"sampling, width 64, T = {shape['steps']}, {draws} draws"
            against = times_as_fast(record, "sample", case, ["jax"])
            yield Requirement(f"{name}: against JAX", SAMPLING[0], against)
            against = times_as_fast(record, "sample", case, TORCH)
            yield Requirement(f"{name}: against the better PyTorch", SAMPLING[1], against)
    against = times_as_fast(record, "iteration", "full buffers", ["research"])
    yield Requirement("iteration, 25GMM, T = 5: against the research code", ITERATION, against)
    for d in TRANSPORT_DIMENSIONS:
        against = times_as_fast(record, "transport", f"2048 points, d={d}", ["pot"])
        yield Requirement(f"2-Wasserstein of 2048 points, d = {d}: against POT", TRANSPORT, against)
    for shape in SHAPES:
        against = times_as_fast(record, "update", shape_name(shape), ["ebbtide-1"])
        name = f"update, width {shape['width']}, T = {shape['steps']}: two threads against one"
        yield Requirement(name, TWO_THREADS, against)
    for axis, what in (("steps", "T"), ("batch", "the batch")):
        off = deviation(record, axis, "ms")
        yield Requirement(f"time of an update: off a line in {what}", LINEAR, off, "{:.1%}", at_most=True)
