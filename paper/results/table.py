"""Writes README.md beside this file: the committed runs next to the paper's figures.

usage: python3 paper/results/table.py
"""
import csv
import json
from pathlib import Path

HERE = Path(__file__).parent
TARGETS = {"25gmm": "25GMM", "easy-funnel": "Easy Funnel"}
METHODS = {
    "tb-fixed": "TBθ (fixed var.)",
    "tb-variance": "TBθ (learned var.)",
    "tb-tlm": "TBθ + TLMφ",
    "tb-tb": "TBθ,φ",
}
SETS = {
    "runs.jsonl": "## As configured by default",
    "runs-replay-in-full.jsonl": "## Replay in full: `replay.reference = batch`, `likelihood_source = generated`",
}
COLUMNS = """\
| target | method | ELBO | paper | EUBO | paper | W2 | paper | floor | ESS | modes | time |
|---|---|---|---|---|---|---|---|---|---|---|---|"""


def published():
    with open(HERE / "published.csv", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        return {(r["energy"], r["method"], int(r["T"]), r["metric"]): (r["mean"], r["std"]) for r in rows}


def row(result, paper):
    r, title, name = result, TARGETS[result["target"]], METHODS[result["method"]]
    theirs = {m: "{} ± {}".format(*paper[title, name, r["steps"], m]) for m in ("ELBO", "EUBO", "W2")}
    modes = "{} of {}".format(*r["modes"]) if r["modes"] else ""
    return (
        f"| {r['target']} | {r['method']} "
        f"| **{r['elbo']:.3f}** ± {r['elbo_error']:.3f} | {theirs['ELBO']} "
        f"| **{r['eubo']:.3f}** ± {r['eubo_error']:.3f} | {theirs['EUBO']} "
        f"| **{r['w2']:.2f}** | {theirs['W2']} | {r['w2_floor']:.2f} "
        f"| {100 * r['ess']:.0f} % | {modes} | {r['seconds'] / 60:.1f} min |"
    )


def section(path, heading, paper):
    runs = [json.loads(line) for line in open(path, encoding="utf-8")]
    order = [(t, m) for t in TARGETS for m in METHODS]
    runs.sort(key=lambda run: order.index((run["result"]["target"], run["result"]["method"])))
    yield f"\n{heading}\n"
    yield COLUMNS
    yield from (row(run["result"], paper) for run in runs)
    yield "\nThe commands, and the commits whose binaries ran them:\n"
    yield from (f"    {run['command']}    # {run['commit'][:7]}" for run in runs)


def main():
    paper = published()
    lines = [(HERE / "introduction.md").read_text(encoding="utf-8").rstrip()]
    for name, heading in SETS.items():
        if (HERE / name).exists():
            lines.extend(section(HERE / name, heading, paper))
    (HERE / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
