"""The research code, re-enacted: how one training iteration runs where this method comes from.

usage: research_peer.py [--threads N]

The paper built upon the public PyTorch code of "Improved off-policy training of diffusion samplers" (Sendera
et al., 2024; GFNOrg/gfn-diffusion, folder energy_sampling). This is no copy of it but our own code that goes
about the work in the same way:

- A Python loop over the T steps asks the policy at each of them, once for the generation kernel and once for
  the destruction kernel. Times are given for each trajectory, so the time encoder runs on every row. All is
  vectorised over the batch, as there.
- Terminal states live in tensors that grow up to 600,000 rows, and every insertion sorts them all for their
  ranks. Every iteration inserts its batch into one such buffer, from which local search starts, and draws a
  batch from another, which holds what local search found, to be destroyed backwards.
- Local search, 200 Langevin steps once every 100 iterations, evaluates the density three times a step. The
  density of 25GMM is a list of 25 distributions; `"density": "batched"` measures the same with one that takes
  a handful of calls.

What the paper added is done the same way: both losses with target networks, separate optimisers, exploration
noise, two batches from a prioritised replay buffer of 5000 for each fresh one. An iteration consists of the
same updates as Ebbtide's: one fresh, two replayed, one destroyed. Left out, in favour of the research code:
its logging, its conditional flow, and kernels that it evaluates without use.

What was measured elsewhere, of the research code itself: 19 ms for a single-loss update at T = 5 without
target networks, and 116 ms for one insertion into and one draw from its buffer of 600,000 entries.

The answer is the mean of an iteration without search, over at most 100 of them, and a hundredth of a search;
`parts` says what it consists of. With `"fill": "full"` the buffers hold 600,000 points before anything is
measured, which a training reaches after 1,200 iterations (2,000 for the finds) and keeps; with `"young"` they
hold what there is after 200.
"""

import argparse
import time

import torch

from research_search import batched_density, listed_density
from research_training import Training
from worker import serve

SEARCH_EVERY = 100


class Iteration:
    """A whole iteration as a work for the clock."""

    def __init__(self, request):
        torch.manual_seed(0)
        density = {"listed": listed_density, "batched": batched_density}[request.get("density", "listed")]()
        self.training = Training(request.get("fill", "full"), density)

    def warm_up(self):
        for _ in range(3):
            self.training.iterate()

    def answer(self, seconds):
        """The mean of at most a hundred iterations, as many as fit, and a hundredth of a search."""
        training = self.training
        training.seconds.clear()
        count, begun = 0, time.perf_counter()
        while count < SEARCH_EVERY and (count < 3 or time.perf_counter() - begun < seconds):
            training.iterate()
            count += 1
        training.search()
        shares = {"updates": count, "buffers": count, "search": SEARCH_EVERY}
        parts = {name: 1e3 * training.seconds[name] / share for name, share in shares.items()}
        return {"ms": sum(parts.values()), "flops": 0, "parts": parts, "iterations": count}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    torch.set_num_threads(parser.parse_args().threads)
    serve({"iteration": Iteration})
