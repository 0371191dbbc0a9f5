"""A page that goes with its run: what it shows while the run, its server and its training come and go."""

import os
import re
import signal
import socket
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from command import Server, end, only_folder, result, until
from playwright.sync_api import expect

LONG = ["25gmm", "--iterations", 100_000, "--batch", 64, "--threads", 1, "-q"]
OFTEN = ["evaluation.every=200", "evaluation.samples=256", "metrics.every=50", "checkpoint.seconds=1"]
LITTLE = ["network.width=16", "replay.capacity=256", "local-search.every=0"]
MEMORY = Path("/dev/shm")
"""Checkpoints come the later the longer writing one takes: a small one, in memory where that can be had, takes none."""
SERVER_GONE = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET")
FAREWELL = 3.0
"""Seconds that a server has to end in."""


@pytest.fixture
def serve(ebbtide):
    """Starts servers, and sees to it that they end."""
    started = []

    def start(*how):
        started.append(Server(ebbtide, *how))
        return started[-1]

    yield start
    for server in started:
        server.kill()


@pytest.fixture
def training(ebbtide, swift):
    """A training that goes on until it is interrupted, and the folder of its run."""
    settings = [word for setting in OFTEN + LITTLE for word in ("--set", setting)]
    process = ebbtide.start("train", *LONG, *settings, "--runs", swift)
    until(lambda: list(swift.glob("*/metrics.jsonl")), "first line of the metrics")
    yield process, only_folder(swift)
    end(process)


@pytest.fixture
def swift():
    """A folder where files are soon written."""
    with TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as folder:
        yield Path(folder)


def test_a_page_goes_with_its_run_to_the_end(ebbtide, window, serve, training):
    process, run = training
    server = serve(run)
    visit = window().go(server.url)
    visit.page.evaluate("window.unbroken = true")
    says(visit, "live")
    values_change(visit.page)
    pictures_change(visit.page)
    nothing_is_out_of_place(visit)
    server = server_comes_and_goes(visit, server, serve, run)
    training_stops(visit, process)
    training_ends(visit, ebbtide, run)
    assert visit.page.evaluate("window.unbroken") and visit.requests.count(visit.address) == 1
    assert server.interrupt(FAREWELL) == 0
    says(visit, "the run is over; the server is gone")


def says(visit, words):
    expect(visit.page.locator("#link")).to_have_text(words)


def values_change(page):
    """Words and curves follow the training."""
    overview, points = page.locator("#overview"), page.locator("#curve-bounds [data-tip]")
    words, count = overview.text_content(), points.count()
    expect(overview).not_to_have_text(words)
    expect(points).not_to_have_count(count)
    assert points.count() > count
    expect(page.locator("#overview .badge").first).to_have_text("training")


def pictures_change(page):
    """Pictures follow the checkpoints."""
    expect(page.locator("#samples .about")).to_have_text(re.compile("^After"))
    words, drawn = samples(page)
    until(lambda: samples(page)[0] != words, "new checkpoint in the page", seconds=60.0)
    assert samples(page)[1] != drawn


def samples(page):
    """What the page says of its samples, and their drawing, of the same moment."""
    section = page.locator("#samples").inner_html()
    parts = r"After [^<]*", r'<figure id="samples-0-1".*?</figure>'
    return [re.search(part, section, re.DOTALL)[0] for part in parts]


def nothing_is_out_of_place(visit):
    assert visit.complaints == []
    assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert all(drawing["seen"] for drawing in visit.measure("drawings"))


def server_comes_and_goes(visit, server, serve, run):
    """A page whose server is killed waits for the next one, and goes on."""
    server.kill()
    says(visit, "connection lost; trying again")
    server = serve(run, server.port)
    says(visit, "live")
    values_change(visit.page)
    assert all(any(reason in words for reason in SERVER_GONE) for words in visit.complaints), visit.complaints
    visit.complaints.clear()
    return server


def training_stops(visit, process):
    process.send_signal(signal.SIGINT)
    says(visit, "nobody is training")
    expect(visit.page.locator("#overview .badge").first).to_have_text("interrupted")
    assert process.wait(30) == 130


def training_ends(visit, ebbtide, run):
    ebbtide("resume", run, "--iterations", result(run)["iterations"] + 50, "--threads", 1, "-q")
    says(visit, "the run is over")
    expect(visit.page.locator("#overview .badge").first).to_have_text("finished")
    assert visit.complaints == []


@pytest.fixture
def finished(serve, runs):
    return serve(runs["25gmm"])


def test_a_run_that_is_over_is_shown(window, finished):
    visit = window().go(finished.url)
    says(visit, "the run is over")
    expect(visit.page.locator("figure svg")).not_to_have_count(0)
    assert visit.complaints == []
    assert visit.requests == [finished.url, finished.url + "events"]


def test_watching_changes_nothing(window, finished, runs):
    before = inventory(runs["25gmm"])
    visit = window().go(finished.url)
    says(visit, "the run is over")
    visit.close()
    assert finished.interrupt(FAREWELL) == 0
    assert inventory(runs["25gmm"]) == before


@pytest.mark.parametrize(
    ("code", "path", "asked"),
    [
        (405, "", {"method": "POST", "data": b""}),
        (405, "events", {"method": "POST", "data": b""}),
        (404, "result.json", {}),
        (404, "../config.toml", {}),
        (403, "", {"headers": {"Host": "elsewhere.example"}}),
        (403, "events", {"headers": {"Host": "127.0.0.1.elsewhere.example"}}),
    ],
)
def test_only_the_page_is_given_and_only_to_this_machine(finished, code, path, asked):
    with pytest.raises(HTTPError) as refused:
        urlopen(Request(finished.url + path, **asked), timeout=10)
    assert refused.value.code == code


def test_the_page_is_not_to_be_kept_or_framed(finished):
    with urlopen(finished.url, timeout=10) as answer:
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Frame-Options"] == "DENY"


def test_it_listens_on_one_address_alone(finished):
    with socket.create_connection(("127.0.0.1", finished.port), timeout=10):
        pass
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", finished.port), timeout=10)


def inventory(folder):
    """Every file of a folder, how large it is and when it was written."""
    stats = ((path, path.stat()) for path in [folder, *folder.rglob("*")])
    return {path: (stat.st_size, stat.st_mtime_ns) for path, stat in stats}
