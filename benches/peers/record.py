"""What was measured: every answer, kept in order and on disk."""

import csv
import datetime
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "results"
COLUMNS = ("item", "case", "program", "round", "ms", "flops", "peak_mb", "value", "error")


def new_page(kind):
    """Takes the first free name of the day for results of a kind, so that none is ever written over."""
    FOLDER.mkdir(exist_ok=True)
    day = datetime.date.today().isoformat() + kind
    number = 1
    while True:
        path = FOLDER / (f"{day}.md" if number == 1 else f"{day}-{number}.md")
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            number += 1
        else:
            return path


@dataclass
class Record:
    """Rows of answers, and the pair of files that they are written to."""

    markdown: Path
    rows: list = field(default_factory=list)

    @classmethod
    def begin(cls, quick):
        return cls(new_page("-quick" if quick else ""))

    def add(self, item, case, program, number, answer):
        self.rows.append({"item": item, "case": case, "program": program, "round": number, **answer})

    def cases(self, item):
        """The cases of an item in the order of their first answer."""
        return list(dict.fromkeys(row["case"] for row in self.rows if row["item"] == item))

    def answers(self, item, case, program):
        asked = (item, case, program)
        return [row for row in self.rows if (row["item"], row["case"], row["program"]) == asked]

    def best(self, item, case, program):
        """The best answer of a program, or `None` where it has none but errors."""
        good = [row for row in self.answers(item, case, program) if "ms" in row]
        return min(good, key=lambda row: row["ms"], default=None)

    def ms(self, item, case, program):
        best = self.best(item, case, program)
        return best and best["ms"]

    def write(self, text):
        """Brings both files up to date."""
        self.markdown.write_text(text, encoding="utf-8")
        with self.markdown.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(self.rows)
