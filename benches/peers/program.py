"""The driver's side of the protocol: a worker process on cores of its own, asked a line at a time."""

import contextlib
import json
import os
import select
import subprocess
import tempfile
from dataclasses import dataclass

PATIENCE = 900  # seconds; compiling a long trajectory takes minutes


@dataclass(frozen=True)
class Command:
    """How a program is started, and on how many cores."""

    arguments: tuple
    threads: int


def cores(threads):
    """The first so many of the cores that this process may use."""
    return set(sorted(os.sched_getaffinity(0))[:threads])


def environment(threads):
    """Thread pools that are not told otherwise take their number from here."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
    return os.environ | {name: str(threads) for name in names}


def started(command, **pipes):
    """The process, confined to its cores and out of reach of Ctrl-C, which is for the driver alone."""
    confine = lambda: os.sched_setaffinity(0, cores(command.threads))
    return subprocess.Popen(
        [*command.arguments, "--threads", str(command.threads)],
        env=environment(command.threads),
        preexec_fn=confine,
        start_new_session=True,
        text=True,
        **pipes,
    )


def end(process):
    """Asks the process to end, and ends it if it does not."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Program:
    """A worker that is started by its first request and stays."""

    def __init__(self, command):
        self.command, self.process = command, None

    def ask(self, request):
        """The answer; one with an `error` if there is none."""
        if self.process is None:
            self.complaints = tempfile.TemporaryFile("w+")
            pipe = subprocess.PIPE
            self.process = started(self.command, stdin=pipe, stdout=pipe, stderr=self.complaints)
        if self.process.poll() is None:
            try:
                self.process.stdin.write(json.dumps(request) + "\n")
                self.process.stdin.flush()
            except BrokenPipeError:
                return {"error": self.last_words()}
        readable, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        if not readable:
            self.stop()
            return {"error": f"no answer within {PATIENCE} s"}
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": self.last_words()}

    def last_words(self):
        self.complaints.seek(0)
        lines = self.complaints.read().strip().splitlines()
        return f"the worker ended: {lines[-1] if lines else 'without a word'}"

    def stop(self):
        """Ends the process, if there is one; a later request would start another."""
        if self.process is not None:
            end(self.process)
            for file in (self.process.stdin, self.process.stdout, self.complaints):
                with contextlib.suppress(BrokenPipeError):
                    file.close()
            self.process = None
