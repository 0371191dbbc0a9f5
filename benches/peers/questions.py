"""What is asked, of whom."""

from dataclasses import dataclass

SHAPES = [
    {"d": 2, "width": 64, "depth": 2, "steps": 5, "batch": 512},
    {"d": 2, "width": 64, "depth": 2, "steps": 20, "batch": 512},
    {"d": 32, "width": 256, "depth": 4, "steps": 10, "batch": 512},
    {"d": 512, "width": 1024, "depth": 4, "steps": 5, "batch": 128},
]
# Draws asked for at once: as many as a batch of trajectories has, and many.
DRAWS = (512, 100_000)
TRANSPORT_DIMENSIONS = [2, 10, 32]

PEERS = ("jax", "torch-eager", "torch-compiled")
# The same programs, asked for the work as a user would write it first.
PLAIN = tuple(f"{name}-plain" for name in PEERS)
ITEMS = ("update", "reverse-kl", "sample", "iteration", "transport", "growth")


@dataclass(frozen=True)
class Question:
    """One case of an item. `asked` has (column, program, request) for each answer that is wanted."""

    item: str
    case: str
    asked: tuple
    rounds: int


def shape_name(shape):
    return "d={d} width={width} depth={depth} T={steps} batch={batch}".format(**shape)


def draws_name(draws, shape):
    return f"{draws} draws, T={shape['steps']}"


def seconds_for(shape, quick):
    """How long to look for the best time: long enough for a few calls of the slowest."""
    seconds = {64: 1.0, 256: 2.0, 1024: 4.0}[shape["width"]]
    return seconds / 4 if quick else seconds


def questions(rounds, quick):
    """All questions but growth, in the order in which they are asked."""
    product = {"work": "sgemm", "seconds": 0.2 if quick else 0.5}
    limit, torch_limit = ("sgemm", "limit", product), ("sgemm-torch", "torch-eager", product)
    limit_of_one = ("sgemm-1", "ebbtide-1", product)

    def same(item, case, request, programs):
        limits = (limit, torch_limit) if "torch-eager" in programs else (limit,)
        limits += (limit_of_one,) if "ebbtide-1" in programs else ()
        return Question(item, case, (*limits, *((name, name, request) for name in programs)), rounds)

    def in_both_forms(item, case, request):
        tuned = same(item, case, request, ("ebbtide", *PEERS, "ebbtide-1"))
        plain = ((column, name, request | {"form": "plain"}) for column, name in zip(PLAIN, PEERS))
        return Question(item, case, (*tuned.asked, *plain), rounds)

    for shape in SHAPES:
        request = {"work": "update", **shape, "seconds": seconds_for(shape, quick)}
        yield in_both_forms("update", shape_name(shape), request)
    for shape in SHAPES[:2]:
        request = {"work": "reverse-kl", **shape, "seconds": seconds_for(shape, quick)}
        yield same("reverse-kl", shape_name(shape), request, ("ebbtide", *PEERS, "ebbtide-1"))
    for draws in DRAWS:
        for shape in SHAPES[:2]:
            sizes = {name: shape[name] for name in ("d", "width", "depth", "steps")}
            request = {"work": "sample", **sizes, "count": draws, "seconds": 0.5 if quick else 3.0}
            yield in_both_forms("sample", draws_name(draws, shape), request)
    yield from iterations(rounds, quick, limit)
    for d in TRANSPORT_DIMENSIONS:
        request = {"work": "transport", "d": d, "seconds": 0.5 if quick else 2.0}
        yield same("transport", f"2048 points, d={d}", request, ("ebbtide", "pot"))


def iterations(rounds, quick, limit):
    """A hundred iterations are an average already, and long in the research code: two rounds suffice."""
    for fill in ("young", "full"):
        ebbtide = {"work": "iteration", "fill": fill, "seconds": 1.0}
        research = ebbtide | {"seconds": 2.0 if quick else 30.0}
        asked = [limit, *((name, name, ebbtide) for name in ("ebbtide", "ebbtide-1")), ("research", "research", research)]
        if fill == "full":
            asked.append(("research-batched", "research", research | {"density": "batched"}))
        yield Question("iteration", f"{fill} buffers", tuple(asked), min(rounds, 2))
