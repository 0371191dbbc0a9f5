"""The peer for exact optimal transport: POT's network simplex.

usage: pot_peer.py [--threads N]

The simplex works on one thread, whatever N is, and so does Ebbtide's assignment. Measured is what Ebbtide's
`wasserstein2` does: squared distances, the optimal plan between equal weights, the root.
"""

import argparse
import math

import numpy as np
import ot

from points import points
from worker import Work, serve

# Far beyond what is needed; POT's default gives up before the optimum.
MOST_PIVOTS = 100_000_000


def transport(request):
    d, count = request["d"], request.get("points", 2048)
    if d < 2 or count < 1:
        raise ValueError("d must be at least 2, and there must be a point")
    first, second = (points(of, count, d).astype(np.float64) for of in (0, 1))
    weights = np.full(count, 1 / count)
    found = {}

    def call():
        costs = ot.dist(first, second)
        square, log = ot.emd2(weights, weights, costs, numItermax=MOST_PIVOTS, log=True)
        if log["warning"]:
            raise RuntimeError(log["warning"])
        found["distance"] = math.sqrt(square)

    return Work(call, value=lambda: found["distance"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.parse_args()
    serve({"transport": transport})
