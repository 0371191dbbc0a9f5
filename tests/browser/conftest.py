"""What the tests share: the command, short runs of it, and a browser."""

import os
from pathlib import Path

import pytest
from command import Command
from examples import COMPARED, DIVERGING, RUNS, SEEDS, SHORT
from playwright.sync_api import expect, sync_playwright
from visit import Visit


@pytest.fixture(scope="session")
def ebbtide():
    return Command(os.environ["EBBTIDE_BIN"])


@pytest.fixture(scope="session")
def runs(ebbtide, tmp_path_factory):
    """Folders of runs that have finished, by target."""
    place = tmp_path_factory.mktemp("runs")
    return {name: ebbtide.train(place / name, name, *settings) for name, settings in RUNS.items()}


@pytest.fixture(scope="session")
def diverged(ebbtide, tmp_path_factory):
    """The folder of a run that leaves the numbers at once."""
    return ebbtide.train(tmp_path_factory.mktemp("diverged"), "25gmm", *DIVERGING, code=3)


@pytest.fixture(scope="session")
def compared(ebbtide, tmp_path_factory):
    """A folder of several runs, with a page of them all."""
    place = tmp_path_factory.mktemp("compared")
    seeds = ",".join(map(str, range(SEEDS)))
    for method, steps in COMPARED:
        which = ["--method", method, "--steps", steps, "--seeds", seeds]
        ebbtide("train", "25gmm", *which, *SHORT, "--runs", place)
    assert ebbtide("report", place).split() == [str(place / "report.html")]
    return place


@pytest.fixture(scope="session")
def pages(runs, diverged, compared):
    """All pages there are, by name."""
    folders = runs | {"diverged": diverged, "comparison": compared}
    reports = {name: folder / "report.html" for name, folder in folders.items()}
    return reports | {"paper": Path(__file__).parents[2] / "paper" / "index.html"}


@pytest.fixture(scope="session")
def browser():
    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["EBBTIDE_CHROMIUM"], args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def window(browser):
    """Opens windows, and closes them when the test is over."""
    opened = []

    def open_window(*how, **further):
        opened.append(Visit(browser, *how, **further))
        return opened[-1]

    yield open_window
    for visit in opened:
        visit.close()
