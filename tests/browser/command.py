"""The command, started as somebody at a terminal starts it."""

import json
import signal
import subprocess
import time
from select import select


class Command:
    """The built binary."""

    def __init__(self, binary):
        self.binary = binary

    def __call__(self, *arguments, code=0):
        """Runs it to the end, and returns what it printed."""
        done = subprocess.run(self.line(arguments), capture_output=True, text=True, timeout=120)
        assert done.returncode == code, f"{arguments}: code {done.returncode}\n{done.stderr}"
        return done.stdout

    def start(self, *arguments):
        """Starts it, and returns its process."""
        return subprocess.Popen(self.line(arguments), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def line(self, arguments):
        return [self.binary, *map(str, arguments)]

    def train(self, runs, target, *settings, code=0):
        """Trains into a folder of runs that has none yet, and returns the run's own folder."""
        self("train", target, *settings, "--threads", 1, "-q", "--runs", runs, code=code)
        return only_folder(runs)


class Server:
    """`ebbtide watch`, from its start to its end."""

    def __init__(self, command, run, port=0):
        self.process = command.start("watch", run, "--port", port)
        ready, _, _ = select([self.process.stdout], [], [], 30.0)
        self.url = self.process.stdout.readline().strip() if ready else ""
        assert self.url.startswith("http://127.0.0.1:"), f"the first line is {self.url!r}"
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])

    def kill(self):
        end(self.process)

    def interrupt(self, seconds):
        """Asks it to end, and returns the code it ends with."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(seconds)


def end(process):
    """Makes sure that a process is over."""
    process.kill()
    process.wait()
    process.stdout.close()


def only_folder(runs):
    [folder] = (entry for entry in runs.iterdir() if entry.is_dir())
    return folder


def result(run):
    """What a run came to."""
    return json.loads((run / "result.json").read_text())


def until(holds, what, seconds=30.0):
    """Waits until something holds, and returns it."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, f"after {seconds} s there is still no {what}"
        time.sleep(0.05)
    return found
