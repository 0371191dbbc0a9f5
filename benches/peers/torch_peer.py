"""The PyTorch peer, eager or compiled.

usage: torch_peer.py eager|compiled [--threads N]

Eager, a loss is differentiated by autograd. Compiled, both gradients are one function of the weights, so that
the compiler sees forward and backward passes together: faster than to compile the losses alone. Adam is the
fused one, the fastest that PyTorch has for processors. A request whose `form` is `plain` is about what `torch_plain` has.
"""

import argparse

import torch
from torch.func import functional_call, grad, vjp

import torch_plain
from settings import Case, harmonic_times, is_plain, uniform_times, walks
from torch_learner import Learner
from torch_network import Network, drift_and_variance, log_25gmm, log_destruction, log_generation, simulate
from worker import Work, serve

# Samples are drawn in blocks whose activations stay in the cache, which is faster than all at once.
BLOCK = 4000


class Training:
    """Gradients, a step of both optimisers, and of the lagging network. Subclasses have the losses."""

    def __init__(self, case, compiled):
        self.learner = Learner(case, fused=True)
        self.gradients = torch.compile(self.functional) if compiled else self.by_autograd

    def __call__(self):
        learner = self.learner
        networks = learner.live, learner.lagging
        weights = [{name: value.detach() for name, value in net.named_parameters()} for net in networks]
        learner.step(*self.gradients(*weights, *self.inputs()))
        learner.follow()

    def ask(self, parameters):
        """The network with these parameters."""
        return lambda *args, **heads: functional_call(self.learner.live, parameters, args, heads)

    def ordered(self, generation, destruction):
        """The gradients of both losses as lists, each with the parameters that its process owns."""
        return [generation[name] for name in self.learner.generation], [
            destruction[name] for name in self.learner.destruction
        ]


class Balance(Training):
    """One trajectory-balance update of both processes from given trajectories."""

    def __init__(self, request, compiled):
        case = Case.of(request)
        super().__init__(case, compiled)
        self.t = torch.from_numpy(uniform_times(case.steps))
        self.x, self.log_density = map(torch.from_numpy, walks(case))

    def inputs(self):
        return [self.learner.log_z.detach()]

    def log_probs(self, network):
        generation, destruction = network(self.x, self.t)
        return log_generation(self.x, generation, self.t), log_destruction(self.x, destruction, self.t)

    def by_autograd(self, _live, _lagging, log_z):
        learner = self.learner
        with torch.no_grad():
            lagging_forward, lagging_backward = self.log_probs(learner.lagging)
        forward, backward = self.log_probs(learner.live)
        generation = 0.5 * ((learner.log_z + forward - lagging_backward - self.log_density) ** 2).mean()
        destruction = 0.5 * ((log_z + lagging_forward - backward - self.log_density) ** 2).mean()
        inputs = [*learner.generation.values(), learner.log_z]
        *of_generation, of_log_z = torch.autograd.grad(generation, inputs, retain_graph=True)
        return of_generation, torch.autograd.grad(destruction, list(learner.destruction.values())), of_log_z

    @torch.no_grad()
    def functional(self, live, lagging, log_z):
        lagging_forward, lagging_backward = self.log_probs(self.ask(lagging))
        (forward, backward), pull = vjp(lambda live: self.log_probs(self.ask(live)), live)
        generation = (log_z + forward - lagging_backward - self.log_density) / len(forward)
        destruction = -(log_z + lagging_forward - backward - self.log_density) / len(forward)
        nothing = torch.zeros_like(forward)
        (of_generation,), (of_destruction,) = pull((generation, nothing)), pull((nothing, destruction))
        return *self.ordered(of_generation, of_destruction), generation.sum()


class ReverseKl(Training):
    """One iteration by reverse KL on 25GMM, the destruction process learning by VarGrad."""

    def __init__(self, request, compiled):
        self.case = Case.of(request)
        if self.case.d != 2:
            raise ValueError("reverse-kl is measured on 25GMM, where d is 2")
        super().__init__(self.case, compiled)
        self.t = torch.from_numpy(harmonic_times(self.case.steps))

    def inputs(self):
        return [torch.randn(self.case.steps, self.case.batch, self.case.d)]

    def generation_loss(self, live, lagging, noise):
        """Reverse KL through the simulation, and what the destruction loss needs to know of it."""
        x, raw = simulate(live, noise, self.t)
        lagging_generation, lagging_destruction = lagging(x, self.t)
        log_density = log_25gmm(x[-1])
        ratio = log_generation(x, raw, self.t) - log_destruction(x, lagging_destruction, self.t) - log_density
        x, log_density, lagging_generation = x.detach(), log_density.detach(), lagging_generation.detach()
        return ratio.mean() / self.case.d, (x, log_generation(x, lagging_generation, self.t) - log_density)

    def destruction_loss(self, live, x, known):
        """VarGrad, the second moment about the batch mean, of log p→ − log density (known) − log p←."""
        _, raw = live(x[2:], self.t[2:], generation=None, destruction=slice(None))
        ratio = known - log_destruction(x, raw, self.t)
        return 0.5 * ((ratio - ratio.mean()) ** 2).mean()

    def by_autograd(self, _live, _lagging, noise):
        learner = self.learner
        loss, seen = self.generation_loss(learner.live, learner.lagging, noise)
        of_generation = torch.autograd.grad(loss, list(learner.generation.values()))
        loss = self.destruction_loss(learner.live, *seen)
        return of_generation, torch.autograd.grad(loss, list(learner.destruction.values()))

    @torch.no_grad()
    def functional(self, live, lagging, noise):
        lagging = self.ask(lagging)
        of_generation, seen = grad(
            lambda live: self.generation_loss(self.ask(live), lagging, noise), has_aux=True
        )(live)
        of_destruction = grad(lambda live: self.destruction_loss(self.ask(live), *seen))(live)
        return self.ordered(of_generation, of_destruction)


class Sample:
    """Draws from a sampler with fresh noise in each call."""

    def __init__(self, request, compiled):
        self.case = Case.of(request)
        self.t = torch.from_numpy(uniform_times(self.case.steps))
        self.network = Network(self.case.d, self.case.width, self.case.depth)
        self.step = torch.compile(self.one) if compiled else self.one

    def one(self, x, t, dt, noise):
        raw, _ = self.network(x[None], t[None], generation=slice(None), destruction=None)
        drift, variance = drift_and_variance(raw[0], dt)
        return x + drift * dt + variance.sqrt() * noise

    @torch.no_grad()
    def __call__(self):
        blocks = []
        for first in range(0, self.case.batch, BLOCK):
            x = torch.zeros(min(BLOCK, self.case.batch - first), self.case.d)
            for i in range(self.case.steps):
                x = self.step(x, self.t[i], self.t[i + 1] - self.t[i], torch.randn_like(x))
            blocks.append(x)
        return torch.cat(blocks)


class Sgemm:
    """A large matrix product: what PyTorch's own library makes of the machine."""

    SIZE = 2048

    def __init__(self, *_):
        self.a, self.b = torch.rand(2, self.SIZE, self.SIZE)

    def __call__(self):
        return self.a @ self.b


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("flavour", choices=["eager", "compiled"])
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    works = {"update": Balance, "reverse-kl": ReverseKl, "sample": Sample, "sgemm": Sgemm}
    plain = {"update": torch_plain.Balance, "sample": torch_plain.Sample}
    compiled = arguments.flavour == "compiled"

    def set_up(name):
        return lambda request: Work((plain if is_plain(request) else works)[name](request, compiled))

    serve({name: set_up(name) for name in works})
