"""The worker's side of the protocol: a request per line of standard input, an answer per line of output.

As `ebbtide-bench serve`: a request names a work and its sizes, `{"work": "update", "d": 2, …, "seconds": 1}`.
The work is set up and warmed up once for equal requests, then repeated for about so many seconds in five or
so chunks. The best mean over a chunk is the answer, `{"ms": …, "flops": 0, "peak_mb": …}`, or else an error.
"""

import json
import os
import resource
import sys
import time

CHUNKS = 5
WARM_UP = 0.2  # seconds


class Work:
    """Something set up once and done again and again."""

    def __init__(self, call, finish=None, value=None):
        """`finish` waits for what `call` may have left running; `value` is what the last call found."""
        self.call = call
        self.finish = finish or (lambda: None)
        self.value = value

    def mean(self, calls):
        """Seconds per call."""
        begun = time.perf_counter()
        for _ in range(calls):
            self.call()
        self.finish()
        return (time.perf_counter() - begun) / calls

    def warm_up(self):
        begun = time.perf_counter()
        self.mean(2)  # the first call compiles, and the second may do so again
        while time.perf_counter() - begun < WARM_UP:
            self.mean(1)

    def answer(self, seconds):
        """The best mean over a chunk of calls, looked for during about `seconds`."""
        begun = time.perf_counter()
        first = self.mean(1)
        calls = max(1, round(seconds / CHUNKS / first))
        best = first if calls == 1 else self.mean(calls)
        while time.perf_counter() - begun < seconds:
            best = min(best, self.mean(calls))
        answer = {"ms": 1e3 * best, "flops": 0}
        return answer | {"value": self.value()} if self.value else answer


def peak_mb():
    """Peak resident memory of this process, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def serve(set_ups):
    """Answers until there is nothing to read. `set_ups` maps a work's name to what makes it of a request."""
    # Whatever a library prints must not stand among the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    ready = {}  # the last of each kind and form, since requests for one size come together
    for line in sys.stdin:
        if not line.strip():
            continue
        try:
            request = json.loads(line)
            seconds, name = request.pop("seconds", 1.0), request.get("work")
            if name not in set_ups:
                raise ValueError(f"there is no work `{name}` here; there is {', '.join(set_ups)}")
            kind = name, request.get("form")
            if ready.get(kind, (None,))[0] != request:
                ready.pop(kind, None)
                work = set_ups[name](request)
                work.warm_up()
                ready[kind] = request, work
            answer = ready[kind][1].answer(seconds) | {"peak_mb": peak_mb()}
        except Exception as error:  # a bad request must not end the worker
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)
