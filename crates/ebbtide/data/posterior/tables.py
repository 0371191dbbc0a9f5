"""The three tables of measurements, from the packages that carry them.

    python tables.py MLBENCH BREAST_CANCER        (writes three .csv beside itself)

MLBENCH is the folder `mlbench/data` of R's package mlbench 2.1-3 (Debian: r-cran-mlbench, CRAN: mlbench), with
Sonar.rda and Ionosphere.rda; BREAST_CANCER is `sklearn/datasets/data/breast_cancer.csv` of scikit-learn 1.9.1.
Made with rdata, which reads R's files without R. Numbers keep the digits of the source; the last column is 0 or 1.
"""

import csv
import sys
from pathlib import Path

import rdata

HERE = Path(__file__).parent


def write(name, rows):
    """Headings x1 … xn and y, then the rows."""
    with open(HERE / name, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([f"x{i + 1}" for i in range(len(rows[0]) - 1)] + ["y"])
        table.writerows(rows)


def from_r(folder, name, one):
    """A table of mlbench; `one` is the class that becomes 1."""
    frame = rdata.read_rda(Path(folder) / f"{name}.rda")[name]
    columns = [column for column in frame.columns if column != "Class"]
    shortest = [[f"{float(value):.12g}" for value in frame[column]] for column in columns]
    return [[*row, int(label == one)] for *row, label in zip(*shortest, frame["Class"])]


mlbench, breast_cancer = sys.argv[1:]
write("sonar.csv", from_r(mlbench, "Sonar", "M"))
write("ionosphere.csv", from_r(mlbench, "Ionosphere", "good"))
write("breast-cancer.csv", list(csv.reader(open(breast_cancer)))[1:])
