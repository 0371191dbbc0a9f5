"""Evaluates a log density for another process: batches of points come in, values and gradients go back."""

import sys

if sys.path[:1] == [""]:  # the working directory; the model's own folder takes its place
    del sys.path[0]

import difflib
import json
import os
import select
import signal
import struct
import threading
import time
import traceback
import types

LONGEST = 16_000
"""Letters of a traceback that are told."""

PATIENCE = 3
"""Seconds that there are to end in, once nobody asks any more."""


class Complaint(Exception):
    """Something that whoever asks is to be told: which kind of mistake, what there is to say, and what may have been meant."""

    def __init__(self, kind, text="", nearest=None):
        super().__init__(text)
        self.told = {"kind": kind, "text": text, "nearest": nearest, "interpreter": sys.executable}


def streams():
    """Questions and answers, out of the model's reach: what it prints goes to standard error, and it has nothing to read."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)
    return questions, answers


def leave_with(questions):
    """Ends this process soon after whoever asks has gone, even where the model never answers (unless it never lets Python go on either)."""
    if not hasattr(select, "poll"):
        return
    end = select.poll()
    end.register(questions, select.POLLHUP)  # that the other end is closed, and nothing else

    def watch():
        end.poll()
        time.sleep(PATIENCE)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def fill(stream, room):
    """Reads until there is no room left; false where the stream ends before."""
    view = memoryview(room).cast("B")
    while view:
        count = stream.readinto(view)
        if not count:
            return False
        view = view[count:]
    return True


def text(questions):
    """A text with its length before it."""
    (length,) = struct.unpack("=Q", questions.read(8))
    return questions.read(length)


def answer(answers, kind, parts):
    """What comes back, with its kind and length before it."""
    views = [memoryview(part).cast("B") for part in parts]
    answers.write(kind + struct.pack("=Q", sum(map(len, views))))
    for view in views:
        answers.write(view)
    answers.flush()


def told(error):
    """A traceback without the frames that are ours, and not those of the model."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith("<"):
        frames = frames.tb_next
    words = "".join(traceback.format_exception(type(error), error, frames)).rstrip()
    return words if len(words) <= LONGEST else "…" + words[-LONGEST:]


def module(name, file, source):
    """A text as a module. What imports it again gets the same one."""
    made = types.ModuleType(name)
    made.__file__ = file
    sys.modules.setdefault(name, made)
    exec(compile(source, file, "exec"), made.__dict__)
    return made


def model(file, source):
    """The model's module, imported as if it were a library beside its own file."""
    folder, name = os.path.split(file)
    sys.path.insert(0, folder)
    sys.argv = [file]
    try:
        return module(os.path.splitext(name)[0], file, source)
    except BaseException as error:
        raise Complaint("import", told(error)) from None


def function(model, name):
    """A function of the model by its name."""
    found = getattr(model, name, None)
    if callable(found):
        return found
    if found is not None:
        raise Complaint("no-function", f"`{name}` is there, but it is no function: its type is `{type(found).__name__}`")
    all_names = [own for own, value in vars(model).items() if getattr(value, "__module__", None) == model.__name__]
    nearest = difflib.get_close_matches(name, all_names, n=1)
    raise Complaint("no-function", f"there is no function `{name}`", nearest[0] if nearest else None)


def density(setup, source):
    """The density that is asked for, and the error that it raises where an answer is none."""
    if sys.version_info < (3, 10):
        raise Complaint("old", sys.version.split()[0])
    try:
        import numpy  # noqa: F401
    except ImportError as error:
        raise Complaint("numpy", str(error)) from None
    ours = module("ebbtide_density", "<ebbtide>", setup["density"])
    theirs = model(setup["file"], source)
    log_density, gradient = function(theirs, setup["function"]), setup["gradient"]
    if gradient not in (None, "torch", "jax"):
        gradient = function(theirs, gradient)
    try:
        return ours.Density(log_density, gradient), ours.DensityError
    except ImportError as error:
        raise Complaint("library", str(error), gradient) from None


def evaluate(density, density_error, names, with_gradient, points):
    """Values, and gradients where they are asked for. Functions have the names that the model gives them."""
    try:
        return density.value_and_gradient(points) if with_gradient else (density.value(points),)
    except density_error as error:
        which, rest = str(error).split(" ", 1)
        raise Complaint("answer", f"`{names.get(which, which)}` {rest}") from None
    except BaseException as error:
        raise Complaint("raised", told(error)) from None


def serve(questions, answers):
    """Answers until there are no more questions."""
    setup = json.loads(text(questions))
    log_density, density_error = density(setup, text(questions))
    import numpy

    answer(answers, b"=", [])
    names = {"log_density": setup["function"], "grad": setup["gradient"]}
    header = bytearray(9)
    while fill(questions, header):
        with_gradient, count = struct.unpack("=?Q", header)
        # New for each question: the model may keep it.
        points = numpy.empty((count, setup["dim"]))
        if not fill(questions, points):
            return
        try:
            answer(answers, b"=", evaluate(log_density, density_error, names, with_gradient, points))
        except Complaint as complaint:
            answer(answers, b"!", [json.dumps(complaint.told).encode()])


def main():
    # It is over when there are no more questions, and not before: whoever asks may have something left to ask after Ctrl-C.
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    questions, answers = streams()
    leave_with(questions)
    try:
        serve(questions, answers)
    except Complaint as complaint:
        answer(answers, b"!", [json.dumps(complaint.told).encode()])


if __name__ == "__main__":
    main()
