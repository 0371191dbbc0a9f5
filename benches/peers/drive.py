"""Asks Ebbtide and its peers in turn, and writes down how they compare.

usage: drive.py --binary PATH [--quick] [--rounds N] [--only ITEM …]

Results go to benches/results/<date>.md and .csv, which are never written over. Ctrl-C keeps what there is.
"""

import argparse
import signal
import sys
import time
from pathlib import Path

import growth
import machine
from program import Command, Program
from questions import ITEMS, questions
from record import Record
from report import report

HERE = Path(__file__).parent
THREADS = 2
PAUSE = 0.3  # threads of the program asked last may still be waiting busily
QUICK = "Quick: one short round, to see that everything works. Not for comparison."
EARLY = " Ended before its time ({}): this is what was measured until then."


def say(words):
    print(words, file=sys.stderr, flush=True)


def programs(binary):
    """Who can be asked."""

    def python(script, *arguments):
        return Command((sys.executable, str(HERE / script), *arguments), THREADS)

    commands = {
        "limit": Command((binary, "serve"), THREADS),  # a process of its own, so that nothing stands in its way
        "ebbtide": Command((binary, "serve"), THREADS),
        "ebbtide-1": Command((binary, "serve"), 1),
        "jax": python("jax_peer.py"),
        "torch-eager": python("torch_peer.py", "eager"),
        "torch-compiled": python("torch_peer.py", "compiled"),
        "research": python("research_peer.py"),
        "pot": python("pot_peer.py"),
    }
    return {name: Program(command) for name, command in commands.items()}


class Drive:
    """A run: questions to programs, answers to the record."""

    def __init__(self, arguments):
        self.rounds = 1 if arguments.quick else arguments.rounds
        self.quick, self.binary, self.only = arguments.quick, arguments.binary, arguments.only
        self.programs = programs(self.binary)
        self.machine = machine.describe(THREADS, self.rounds)
        self.record = Record.begin(self.quick)
        self.note = QUICK if self.quick else ""

    def run(self):
        """Everything, with whatever there is on disk at the end, come what may."""
        try:
            for question in questions(self.rounds, self.quick):
                if question.item in self.only:
                    self.ask(question)
                    self.write()
            if "growth" in self.only:
                self.measure_growth()
        except BaseException as error:
            self.note += EARLY.format(type(error).__name__)
            raise
        finally:
            for program in self.programs.values():
                program.stop()
            self.write()

    def ask(self, question):
        for number in range(1, question.rounds + 1):
            heard = []
            for column, name, request in question.asked:
                answer = self.programs[name].ask(request)
                self.record.add(question.item, question.case, column, number, answer)
                heard.append(f"{column} {answer['ms']:.2f}" if "ms" in answer else f"{column} failed")
                time.sleep(PAUSE)
            which = f"{question.item}, {question.case}, round {number} of {question.rounds}"
            say(f"{which}, ms: {', '.join(heard)}")

    def measure_growth(self):
        seconds = 0.1 if self.quick else 1.0
        for number in range(1, self.rounds + 1):
            say(f"growth, round {number} of {self.rounds}")
            for axis, value, answer in growth.measure(self.binary, THREADS, seconds, say):
                self.record.add("growth", f"{axis}={value}", "ebbtide", number, answer)
            self.write()

    def write(self):
        self.record.write(report(self.record, self.machine, self.note.strip()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True, help="the built ebbtide-bench")
    parser.add_argument("--quick", action="store_true", help="one short round, to see that everything works")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each case [5]")
    items = {"nargs": "+", "choices": ITEMS, "default": ITEMS, "metavar": "ITEM", "help": ", ".join(ITEMS)}
    parser.add_argument("--only", **items)
    drive = Drive(parser.parse_args())
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # to be ended is to be interrupted
    begun = time.monotonic()
    try:
        drive.run()
    except KeyboardInterrupt:
        say(f"interrupted; what was measured is in {drive.record.markdown}")
        sys.exit(130)
    say(f"{drive.record.markdown}, after {(time.monotonic() - begun) / 60:.0f} minutes")


if __name__ == "__main__":
    main()
