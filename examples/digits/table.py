"""Writes what came of all prompts into RESULTS.md: the paper's table and figure of this experiment, for digits."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean, stdev

HERE = Path(__file__).parent
METHODS = {"tb-fixed": "TBθ, fixed variance", "tb-tb": "TBθ,φ"}
FIGURES = {"elbo": "ELBO", "log_reward": "E[log r]", "diversity": "diversity"}

Line = dict[str, object]


def read() -> list[Line]:
    lines = [json.loads(text) for text in (HERE / "results.jsonl").read_text().splitlines()]
    for line in lines:
        rewards = line.pop("rewards", None) or {}
        line.update(rewards)
    return lines


def values(lines: list[Line], figure: str, **where: object) -> list[float]:
    """One figure of all trainings that finished."""
    chosen = [line for line in lines if all(line[key] == value for key, value in where.items())]
    return [float(line[figure]) for line in chosen if line["status"] == "finished" and line.get(figure) is not None]


def shown(numbers: list[float], digits: int) -> str:
    """The mean, and the deviation from seed to seed where there are several."""
    if not numbers:
        return "–"
    mean = f"{fmean(numbers):.{digits}f}"
    spread = f" ± {stdev(numbers):.{digits}f}" if len(numbers) > 1 else ""
    return (mean + spread).replace("-", "−")


def summary(lines: list[Line], prompts: list[str]) -> list[str]:
    """The paper's Table 3: means over prompts."""
    rows = ["| | ELBO | E[log r] | diversity |", "|---|--:|--:|--:|"]

    def row(name: str, columns: dict[str, str], **where: object) -> str:
        means = {
            column: [fmean(found) for prompt in prompts if (found := values(lines, key, prompt=prompt, **where))]
            for column, key in columns.items()
        }
        cells = [f"{fmean(found):.3f}".replace("-", "−") if found else "–" for found in means.values()]
        return f"| {name} | {' | '.join(cells)} |"

    prior = {"elbo": "prior_elbo", "log_reward": "prior_log_reward", "diversity": "prior_diversity"}
    rows.append(row("prior", prior))
    own = {figure: figure for figure in FIGURES}
    rows.extend(row(name, own, method=method) for method, name in METHODS.items())
    return rows


def by_prompt(lines: list[Line], prompts: list[str], reference: dict[str, dict[str, float]]) -> list[str]:
    rows = [
        "| prompt | method | seeds | ELBO | log Z | by draws of the prior | E[log r] | exact | prior | diversity | exact | prior | ESS | k̂ | s |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for prompt in prompts:
        truth = reference[prompt]
        for method in METHODS:
            get = lambda figure, digits: shown(values(lines, figure, prompt=prompt, method=method), digits)  # noqa: B023, E731
            all_seeds = [line for line in lines if line["prompt"] == prompt and line["method"] == method]
            diverged = sum(line["status"] == "diverged" for line in all_seeds)
            seeds = f"{len(all_seeds)}" + (f" ({diverged} diverged)" if diverged else "")
            exact = f"{truth['log_z']:.2f} ± {truth['log_z_error']:.2f}".replace("-", "−")
            rows.append(
                f"| {prompt} | {method} | {seeds} | {get('elbo', 2)} | {get('log_z', 2)} | {exact} | {get('log_reward', 3)} | "
                f"{shown([truth['mean_log_reward']], 3)} | {get('prior_log_reward', 2)} | {get('diversity', 3)} | "
                f"{shown([truth['diversity']], 3)} | {get('prior_diversity', 3)} | {get('ess', 2)} | {get('pareto_k', 2)} | {get('seconds', 0)} |"
            )
    return rows


def differences(lines: list[Line], prompts: list[str]) -> str:
    """The paper's figure of differences between the two methods, prompt by prompt, as SVG."""
    width, height, left, top, step = 250, 30 * len(prompts) + 60, 110, 40, 30
    parts = []
    for panel, (figure, title) in enumerate(FIGURES.items()):
        gains = {
            prompt: fmean(after) - fmean(before)
            for prompt in prompts
            if (after := values(lines, figure, prompt=prompt, method="tb-tb"))
            and (before := values(lines, figure, prompt=prompt, method="tb-fixed"))
        }
        most = max([abs(gain) for gain in gains.values()] + [1e-9])
        origin = left + panel * width + width / 2
        parts.append(f'<text x="{origin}" y="20" text-anchor="middle" font-weight="600">{title}</text>')
        parts.append(f'<line x1="{origin}" x2="{origin}" y1="{top - 8}" y2="{height - 12}" stroke="#888"/>')
        for row, prompt in enumerate(prompts):
            y = top + row * step
            if panel == 0:
                parts.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{prompt}</text>')
            if prompt not in gains:
                continue
            gain = gains[prompt]
            length = 70 * abs(gain) / most
            colour = "#0a6ebd" if gain >= 0 else "#c4561b"
            begin = origin if gain >= 0 else origin - length
            parts.append(f'<rect x="{begin:.1f}" y="{y}" width="{length:.1f}" height="18" fill="{colour}"/>')
            anchor, at = ("start", origin + length + 5) if gain >= 0 else ("end", origin - length - 5)
            text = f"{gain:+.3f}".replace("-", "−")
            parts.append(f'<text x="{at:.1f}" y="{y + 14}" text-anchor="{anchor}">{text}</text>')
    total = left + width * len(FIGURES) + 20
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {height}" font-family="sans-serif" font-size="13" role="img" '
        f'aria-label="By how much a learned destruction process changes ELBO, mean log reward and diversity of each prompt">'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def pictures(prompts: list[str]) -> list[str]:
    rows = ["| prompt | TBθ, fixed variance | TBθ,φ |", "|---|---|---|"]
    for prompt in prompts:
        cells = [f"![{prompt} by {method}](pictures/{prompt}-{method}.png)" for method in METHODS]
        rows.append(f"| {prompt} | {' | '.join(cells)} |")
    return rows


def main() -> None:
    lines = read()
    reference = json.loads((HERE / "prompts" / "reference.json").read_text())["prompts"]
    prompts = [prompt for prompt in sorted(reference) if any(line["prompt"] == prompt for line in lines)]
    (HERE / "differences.svg").write_text(differences(lines, prompts))
    seeds = sorted({line["seed"] for line in lines})
    commits = sorted({str(line["commit"]) for line in lines})
    text = [
        "# What came of the prompts",
        "",
        f"Written by `table.py` from [results.jsonl](results.jsonl), which `examples/digits/run {' '.join(map(str, seeds))}` adds to: "
        f"{len(lines)} trainings at {', '.join(commits)}, each with its command. Means are over seeds that finished.",
        "",
        "## All prompts together",
        "",
        "The paper's Table 3, for digits: means over prompts. The ELBO of the prior is β E[log r], its own as a sampler.",
        "",
        *summary(lines, prompts),
        "",
        "## What a learned destruction process changes",
        "",
        "TBθ,φ less TBθ with a fixed variance, prompt by prompt (the paper's figure of its appendix).",
        "",
        "![Differences by prompt](differences.svg)",
        "",
        "## Prompt by prompt",
        "",
        "*Exact* and *by draws of the prior* are importance sampling with the prior itself, which this example is small enough for.",
        "",
        *by_prompt(lines, prompts, reference),
        "",
        "## Decoded samples",
        "",
        "The same random numbers for both methods (seed 0), and the prior's own:",
        "",
        "![The prior](pictures/prior.png)",
        "",
        *pictures(prompts),
    ]
    (HERE / "RESULTS.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
