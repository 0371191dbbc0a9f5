"""The runs whose pages are looked at: each a second or two long."""

RUNS = {
    "25gmm": ["--iterations", 300, "--batch", 64, "--set", "evaluation.samples=512"],
    "hard-funnel": ["--method", "tb-tlm", "--iterations", 300, "--batch", 64, "--set", "evaluation.samples=512"],
    "manywell": [
        *["--iterations", 60, "--batch", 32, "--set", "evaluation.samples=256", "--set", "evaluation.every=20"],
        *["--set", "optimisation.generation-rate=1e-4", "--set", "optimisation.destruction-rate=1e-4"],
        *["--set", "local-search.every=0"],
    ],
}
"""Of two, ten and thirty-two coordinates, by target."""

DIVERGING = ["--iterations", 100, "--batch", 32, "--set", "optimisation.generation-rate=10"]
"""Of 25gmm, leaving the numbers at once."""

COMPARED = [("tb-tb", 2), ("tb-tb", 4), ("tb-fixed", 2), ("tb-fixed", 4)]
"""Methods and steps of the runs beside each other, all of 25gmm."""
SEEDS = 2
"""Of each of these."""
SHORT = ["--iterations", 60, "--batch", 32, "--set", "evaluation.samples=256", "--threads", 1, "-q"]
