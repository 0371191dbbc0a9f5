"""The report: a machine, a table of required against measured, a table for each item."""

from growth import curve, deviation
from questions import PEERS, PLAIN
from required import JAX, PLAIN_JAX, PLAIN_TORCH, TORCH, requirements, share_of_sgemm, times_as_fast

PRODUCT = 2 * 2048**3  # operations of the product that is the machine's limit
COLUMNS = {
    "ebbtide": "Ebbtide",
    "ebbtide-1": "Ebbtide, one thread",
    "jax": "JAX",
    "torch-eager": "PyTorch eager",
    "torch-compiled": "PyTorch compiled",
    "jax-plain": "plain JAX",
    "torch-eager-plain": "plain PyTorch eager",
    "torch-compiled-plain": "plain PyTorch compiled",
    "pot": "POT",
    "research": "research code",
    "research-batched": "research code, batched density",
}


def table(heads, rows):
    """A Markdown table; all columns but the first to the right."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def number(value, form="{:.2f}"):
    return "–" if value is None else form.format(value)


def milliseconds(record, item, case, program):
    """The best time, or why there is none."""
    best = record.best(item, case, program)
    if best:
        return f"{best['ms']:.2f}" if best["ms"] < 1000 else f"{best['ms']:.0f}"
    answers = record.answers(item, case, program)
    return "failed" if answers else "–"


def compared(record, item, programs, share):
    """One item: a row for each case, times and how many times as fast Ebbtide is."""
    heads = ["ms", *(COLUMNS[program] for program in programs)]
    peers = {"× JAX": JAX, "× PyTorch": TORCH, "× plain JAX": PLAIN_JAX, "× plain PyTorch": PLAIN_TORCH, "× POT": ("pot",)}
    against = {head: than for head, than in peers.items() if than[0] in programs}
    heads += [*against, *(["GFLOP", "share of sgemm"] if share else [])]
    rows = []
    for case in record.cases(item):
        row = [case, *(milliseconds(record, item, case, program) for program in programs)]
        row += [number(times_as_fast(record, item, case, than)) for than in against.values()]
        if share:
            best = record.best(item, case, "ebbtide")
            row.append(number(best and best["flops"] / 1e9, "{:.3f}"))
            row.append(number(share_of_sgemm(record, item, case), "{:.1%}"))
        rows.append(row)
    return table(heads, rows)


def iterations(record):
    """Times, and what the research code spends them on."""
    rows = []
    for case in record.cases("iteration"):
        share = number(share_of_sgemm(record, "iteration", case), "{:.1%}")
        rows.append([f"{case}: Ebbtide", milliseconds(record, "iteration", case, "ebbtide"), "", "", "", "", share])
        for program in ("ebbtide-1", "research", "research-batched"):
            best = record.best("iteration", case, program)
            if best:
                parts = best.get("parts", {})
                parts = [number(parts[part], "{:.1f}") if parts else "" for part in ("updates", "buffers", "search")]
                times = number(times_as_fast(record, "iteration", case, [program]), "{:.1f}")
                rows.append([f"{case}: {COLUMNS[program]}", number(best["ms"]), times, *parts, ""])
    heads = ["ms per iteration", "all", "× Ebbtide", "updates", "buffers", "search (its share)", "share of sgemm"]
    return table(heads, rows)


def transports(record):
    """Times, and whether both found the same distance."""
    words = []
    for case in record.cases("transport"):
        found = [record.best("transport", case, program) for program in ("ebbtide", "pot")]
        if all(found):
            ours, theirs = (answer["value"] for answer in found)
            words.append(f"{case}: {ours:.6f} and {theirs:.6f}")
    times = compared(record, "transport", ("ebbtide", "pot"), share=False)
    if not words:
        return times
    return f"{times}\nDistances found, by Ebbtide and by POT, between the same points: {'; '.join(words)}.\n"


def growths(record):
    """Curves along each axis, and how straight they are."""
    parts = []
    for axis in ("steps", "batch", "width"):
        points = curve(record, axis)
        rows = [[value, f"{row['ms']:.3f}", number(row["peak_mb"], "{:.1f}")] for value, row in points]
        parts.append(table([axis, "ms", "peak memory, MiB"], rows))
        if axis != "width" and deviation(record, axis, "ms") is not None:
            time, memory = (number(deviation(record, axis, of), "{:.1%}") for of in ("ms", "peak_mb"))
            parts.append(f"Off the best straight line: time at most {time}, memory at most {memory}.\n")
    return "\n".join(parts)


HOW = """\
Each figure is the best of several rounds, in which all programs were asked in turn while warm; within a
round, the best mean over a chunk of calls. "× JAX" and the like say how many times as fast Ebbtide is;
"× PyTorch" is against the better of eager and compiled. Plain peers are written as a user would write them first, all states through both
heads and all draws at once; tuned ones, which are meant where nothing is said, as fast as we found. GFLOP is the arithmetic that the work needs, counted as
`crates/ebbtide-bench/src/arithmetic.rs` says. The share is that arithmetic, over Ebbtide's time, over the
rate of a large product by the gemm crate on the same threads in the same rounds. "At sgemm's pace" says what would
be measured if Ebbtide did that arithmetic at the rate of the large product, by the gemm crate's or PyTorch's library, whichever was faster in
these rounds, and nothing besides took any time; or if two threads were as many times as fast as one as they are at the gemm crate's.
The table beside this file has every round.
"""

SECTIONS = [
    ("update", "1. One update of both processes by trajectory balance"),
    ("reverse-kl", "2. One iteration by reverse KL, destruction by VarGrad, on 25GMM"),
    ("sample", "3. Sampling"),
    ("iteration", "4. A whole training iteration: 25GMM, T = 5, with replay and local search"),
    ("transport", "5. Exact 2-Wasserstein distance"),
    ("growth", "6. How an update grows: d = 2, width 64, depth 2, T = 5, batch 512 but for what varies"),
]
RESEARCH = """
The research code is a re-enactment (`benches/peers/research_peer.py` says of what). Full buffers, its own and
Ebbtide's, hold 600,000 points, as in a training after 2,000 iterations; young ones what there is after 200.
Ebbtide's time is the mean over a hundred iterations, one of which searches.
"""


def section(record, item):
    match item:
        case "update" | "sample":
            return compared(record, item, ("ebbtide", *PEERS, "ebbtide-1", *PLAIN), share=True)
        case "reverse-kl":
            return compared(record, item, ("ebbtide", *PEERS, "ebbtide-1"), share=True)
        case "iteration":
            return iterations(record) + RESEARCH
        case "transport":
            return transports(record)
        case "growth":
            return growths(record)


def failures(record):
    """Every error once, with who made it."""
    said = {(row["program"], row["item"], row["error"]) for row in record.rows if "error" in row}
    lines = [f"- {program}, {item}: {error}" for program, item, error in sorted(said)]
    return "\n## What failed\n\n" + "\n".join(lines) + "\n" if lines else ""


def limits(record):
    """The rates of a large product by the libraries of Ebbtide and PyTorch, in GFLOP/s."""
    words = []
    for program, library in (("sgemm", "the gemm crate"), ("sgemm-torch", "PyTorch's")):
        times = [row["ms"] for row in record.rows if row["program"] == program and "ms" in row]
        if times:
            slowest, fastest = (PRODUCT / ms / 1e6 for ms in (max(times), min(times)))
            words.append(f"by {library} {slowest:.0f} to {fastest:.0f} GFLOP/s")
    return f"Limit of the machine, sgemm of 2048³ over all rounds: {', '.join(words)}.\n" if words else ""


def report(record, machine, note):
    """The whole page."""
    parts = [f"# Ebbtide beside its peers, {record.markdown.stem}\n"]
    parts.append(f"{note}\n" if note else "")
    parts.append(table(["", ""], machine))
    parts.append(limits(record))
    parts.append("## Required and measured\n")
    parts.append(table(["", "required", "measured", "", "at sgemm's pace"], (need.row() for need in requirements(record))))
    parts.append(HOW)
    for item, title in SECTIONS:
        if record.cases(item):
            parts.append(f"## {title}\n\n{section(record, item)}")
    return "\n".join(part for part in parts if part) + failures(record)
