"""How time and memory of an update grow: Ebbtide's own measurement, and how straight the lines are."""

import csv
import subprocess

import numpy as np

from program import Command, end, started


def measure(binary, threads, seconds, say):
    """Runs `ebbtide-bench growth`; yields (axis, value, answer) as they come."""
    command = Command((binary, "growth", "--seconds", str(seconds)), threads)
    process = started(command, stdout=subprocess.PIPE)
    try:
        for row in csv.DictReader(process.stdout):
            axis = row["axis"]
            peak = float(row["peak_mb"]) if row["peak_mb"] else None
            say(f"growth: {axis} {row[axis]}: {float(row['update_ms']):.2f} ms")
            yield axis, int(row[axis]), {"ms": float(row["update_ms"]), "flops": 0, "peak_mb": peak}
        if process.wait() != 0:
            raise RuntimeError("ebbtide-bench growth failed")
    finally:
        end(process)


def curve(record, axis):
    """(value, best answer) along an axis."""
    cases = [case for case in record.cases("growth") if case.startswith(f"{axis}=")]
    return [(int(case.split("=")[1]), record.best("growth", case, "ebbtide")) for case in cases]


def deviation(record, axis, quantity):
    """The largest relative distance from the straight line, offset included, that fits best in that sense."""
    points = [(value, row[quantity]) for value, row in curve(record, axis) if row[quantity]]
    if len(points) < 3:
        return None
    x, y = np.array(points, dtype=float).T
    sides = np.stack([1 / y, x / y], 1)
    line, *_ = np.linalg.lstsq(sides, np.ones(len(y)), rcond=None)
    return float(np.abs(sides @ line - 1).max())
