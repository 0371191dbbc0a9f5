"""The machine and the versions, as far as they bear on speed."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("torch", "jax", "jaxlib", "optax", "POT", "numpy")


def output(*command):
    """What a command prints, or `unknown`."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def commit():
    changed = output("git", "status", "--porcelain", "--untracked-files=no")
    return output("git", "rev-parse", "--short", "HEAD") + (", with changes" if changed else "")


def describe(threads, rounds):
    """Pairs of a property and its value."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    one_minute, *_ = os.getloadavg()
    return [
        ("processor", processor()),
        ("cores", f"{os.cpu_count()}, of which {threads} are used"),
        ("memory", f"{memory:.0f} GiB"),
        ("load before", f"{one_minute:.2f}, averaged over a minute; figures of a busy machine mean little"),
        ("system", f"{platform.system()} {platform.release().split('-')[0]}"),
        ("rustc", output("rustc", "--version").removeprefix("rustc ")),
        ("Python", platform.python_version()),
        *((name, version(name)) for name in PACKAGES),
        ("commit", commit()),
        ("rounds", rounds),
    ]
