"""Whether the driver draws the right conclusions from the answers it gets.

    .venv/bin/python -m unittest test_report
"""

import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch

import record
from growth import deviation
from program import Command, Program
from questions import questions
from record import Record
from report import report
from required import requirements, share_of_sgemm


def answered(ms):
    """A record in which a program needs as many milliseconds as `ms` says, and as many more as the round."""
    made = Record(Path("never-written.md"))
    for question in questions(rounds=2, quick=True):
        for number in (1, 2):
            for column, _, _ in question.asked:
                answer = {"ms": ms.get(column, 100.0) + number, "flops": 2e9, "peak_mb": 1.0, "value": 1.0}
                parts = {"updates": 1.0, "buffers": 1.0, "search": 1.0}
                made.add(question.item, question.case, column, number, answer | {"parts": parts})
    return made


class Conclusions(unittest.TestCase):
    def test_the_best_round_and_the_better_pytorch_count(self):
        made = answered({"ebbtide": 9.0, "jax": 49.0, "torch-eager": 199.0, "torch-compiled": 29.0})
        needs = {need.what: need for need in requirements(made)}
        jax = needs["update, width 64, T = 5: against tuned JAX"]
        self.assertEqual((jax.measured, jax.met), (5.0, "met"))
        torch = needs["update, width 64, T = 5: against tuned PyTorch"]
        self.assertEqual((torch.measured, torch.met), (3.0, "**not met**"))
        line = needs["time of an update: off a line in T"]
        self.assertEqual((line.measured, line.met), (None, "not measured"))

    def test_plain_peers_count_for_themselves(self):
        made = answered({"ebbtide": 9.0, "jax": 49.0, "jax-plain": 79.0, "torch-eager-plain": 39.0, "torch-compiled-plain": 59.0})
        needs = {need.what: need.measured for need in requirements(made)}
        name = "sampling, width 64, T = 20, 512 draws: against"
        self.assertEqual([needs[f"{name} {peer}"] for peer in ("tuned JAX", "plain JAX", "plain PyTorch")], [5.0, 8.0, 4.0])

    def test_share_is_of_the_same_rounds(self):
        made = answered({"ebbtide": 9.0, "sgemm": 4.0})
        case = made.cases("update")[0]
        self.assertAlmostEqual(share_of_sgemm(made, "update", case), 0.5)
        made.add("transport", "elsewhere", "sgemm", 1, {"ms": 0.1, "flops": 2e9})
        self.assertAlmostEqual(share_of_sgemm(made, "update", case), 0.5)

    def test_the_limit_is_what_the_large_product_would_allow(self):
        made = answered({"ebbtide": 9.0, "ebbtide-1": 16.0, "jax": 49.0, "sgemm": 4.0, "sgemm-1": 9.0})
        needs = {need.what: need for need in requirements(made)}
        jax = needs["update, width 64, T = 5: against tuned JAX"]
        self.assertEqual((jax.measured, jax.limit), (5.0, 10.0))
        faster = answered({"ebbtide": 9.0, "jax": 49.0, "sgemm": 4.0, "sgemm-torch": 1.0})
        needs_of_faster = {need.what: need for need in requirements(faster)}
        self.assertEqual(needs_of_faster[jax.what].limit, 25.0)
        threads = needs["update, width 64, T = 5: two threads against one"]
        self.assertEqual((threads.measured, threads.limit), (1.7, 2.0))
        self.assertIsNone(needs["2-Wasserstein of 2048 points, d = 2: against POT"].limit)
        self.assertIn("| 5.00 × | met | 10.00 × |", report(made, [("processor", "any")], ""))

    def test_a_failure_is_shown_and_the_rest_stands(self):
        made = answered({})
        made.rows = [row for row in made.rows if row["program"] != "jax"]
        made.add("update", made.cases("update")[0], "jax", 1, {"error": "out of memory"})
        text = report(made, [("processor", "any")], "")
        self.assertIn("- jax, update: out of memory", text)
        self.assertIn("failed", text)
        self.assertIn("## 5. Exact 2-Wasserstein distance", text)

    def test_growth_off_a_line(self):
        made = Record(Path("never-written.md"))
        for steps in (2, 5, 10, 20):
            quiet, busy = 3.0 + 2.0 * steps, 9.0 + steps**2
            made.add("growth", f"steps={steps}", "ebbtide", 1, {"ms": busy, "peak_mb": steps**2})
            made.add("growth", f"steps={steps}", "ebbtide", 2, {"ms": quiet, "peak_mb": steps**2})
        self.assertAlmostEqual(deviation(made, "steps", "ms"), 0.0)
        self.assertGreater(deviation(made, "steps", "peak_mb"), 0.1)
        self.assertIsNone(deviation(made, "batch", "ms"))

    def test_no_result_is_written_over(self):
        with tempfile.TemporaryDirectory() as folder, patch.object(record, "FOLDER", Path(folder)):
            names = [Record.begin(quick=False).markdown.stem for _ in range(3)]
        self.assertEqual(names[1:], [f"{names[0]}-2", f"{names[0]}-3"])


class Workers(unittest.TestCase):
    def asked(self, code):
        program = Program(Command((sys.executable, "-c", code), 1))
        self.addCleanup(program.stop)
        return program.ask({"work": "any"})

    def test_an_answer_arrives(self):
        self.assertEqual(self.asked("input(); print('{\"ms\": 1}', flush=True)"), {"ms": 1})

    def test_a_worker_that_ends_leaves_its_last_words(self):
        self.assertIn("KeyError: 3", self.asked("input(); {}[3]")["error"])


if __name__ == "__main__":
    unittest.main()
