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
    """A bound, what was measured, and what a large product's pace would make of it; `None` where nothing was."""

    what: str
    bound: float
    measured: float | None
    limit: float | None = None
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
        known = (self.measured, self.limit)
        measured, limit = ("" if value is None else self.form.format(value) for value in known)
        return [self.what, f"{sign} {self.form.format(self.bound)}", measured, self.met, limit]


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


# A peer by name, and who is meant: the better one counts.
JAX, TORCH = ("jax",), ("torch-eager", "torch-compiled")
PLAIN_JAX, PLAIN_TORCH = (tuple(f"{program}-plain" for program in programs) for programs in (JAX, TORCH))


def at_best_pace(record, item, case):
    """Milliseconds for the arithmetic alone at the pace of a large product, by whichever library is faster at it."""
    ours, product = (record.best(item, case, program) for program in ("ebbtide", "sgemm"))
    times = [ms for ms in (record.ms(item, case, program) for program in ("sgemm", "sgemm-torch")) if ms]
    return ours["flops"] / product["flops"] * min(times) if ours and product else None


def against(record, item, case, name, bounds):
    """Requirements on how many times as fast Ebbtide is as JAX and PyTorch, and would be at the pace of the best large product."""
    pace = at_best_pace(record, item, case)
    for words, programs in (("plain", (PLAIN_JAX, PLAIN_TORCH)), ("tuned", (JAX, TORCH))):
        for peer, bound, than in zip(("JAX", "PyTorch"), bounds, programs):
            measured = times_as_fast(record, item, case, than)
            limit = measured * record.ms(item, case, "ebbtide") / pace if measured and pace else None
            yield Requirement(f"{name}: against {words} {peer}", bound, measured, limit)


def more_threads(record, case, of_two, of_one):
    """How many times as fast an update is on all threads as on one, by these programs."""
    two, one = (record.ms("update", case, program) for program in (of_two, of_one))
    return one / two if one and two else None


def requirements(record):
    for shape in SHAPES:
        case, (*bounds, share) = shape_name(shape), UPDATE[shape["width"]]
        name = f"update, width {shape['width']}, T = {shape['steps']}"
        yield from against(record, "update", case, name, bounds)
        reached = share_of_sgemm(record, "update", case)
        yield Requirement(f"{name}: share of sgemm", share, reached, form="{:.1%}")
    for draws in DRAWS:
        for shape in SHAPES[:2]:
            case, name = draws_name(draws, shape), f"sampling, width 64, T = {shape['steps']}, {draws} draws"
            yield from against(record, "sample", case, name, SAMPLING)
    faster = times_as_fast(record, "iteration", "full buffers", ["research"])
    yield Requirement("iteration, 25GMM, T = 5: against the research code", ITERATION, faster)
    for d in TRANSPORT_DIMENSIONS:
        faster = times_as_fast(record, "transport", f"2048 points, d={d}", ["pot"])
        yield Requirement(f"2-Wasserstein of 2048 points, d = {d}: against POT", TRANSPORT, faster)
    for shape in SHAPES:
        case, name = shape_name(shape), f"update, width {shape['width']}, T = {shape['steps']}"
        measured = more_threads(record, case, "ebbtide", "ebbtide-1")
        limit = more_threads(record, case, "sgemm", "sgemm-1")
        yield Requirement(f"{name}: two threads against one", TWO_THREADS, measured, limit)
    for axis, what in (("steps", "T"), ("batch", "the batch")):
        off = deviation(record, axis, "ms")
        yield Requirement(f"time of an update: off a line in {what}", LINEAR, off, form="{:.1%}", at_most=True)
