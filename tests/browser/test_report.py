"""What the page of one run shows: every figure that it promises, and the numbers of the run."""

import re

import pytest
from command import result

STEPS = range(1, 6)
EVERY_RUN = [
    *["curve-bounds", "curve-losses", "curve-ess", "curve-gradient", "samples-0-1"],
    *[f"{way}-{step}" for way in ("generation", "destruction") for step in STEPS],
    *["trajectories-generation", "trajectories-destruction", "multiplier-gamma", "multiplier-alpha-beta", "weights"],
]
COORDINATES = {"25gmm": 2, "hard-funnel": 10, "manywell": 32}
OF_THE_PLANE = {"exact-0-1"}
LARGEST = 3_000_000


@pytest.fixture(params=COORDINATES)
def name(request):
    return request.param


@pytest.fixture
def page(window, pages, name):
    return window().go(pages[name]).page


def test_it_is_not_large(pages, name):
    assert pages[name].stat().st_size < LARGEST


def test_it_shows_every_figure(page, name):
    figures = set(page.evaluate("[...document.querySelectorAll('figure:has(> svg)')].map((figure) => figure.id)"))
    marginals = {f"marginal-{coordinate}" for coordinate in range(COORDINATES[name])}
    assert figures >= set(EVERY_RUN) | marginals
    assert (figures >= OF_THE_PLANE) == (COORDINATES[name] == 2)
    assert "coverage" in figures or name != "25gmm"


def test_it_says_how_the_run_ended(page, name):
    assert page.locator("h1").text_content() == name
    assert page.locator("header .badge").first.text_content() == "finished"
    assert page.locator("#samples .about").text_content().startswith("After ")


def test_its_numbers_are_those_of_the_result(page, runs, name):
    shown, found = tiles(page), result(runs[name])
    for tile, key in {"ELBO": "elbo", "EUBO": "eubo", "log Z": "log_z"}.items():
        value, error = shown[tile].split(" ± ")
        assert value == printed(found[key], value) and error == printed(found[f"{key}_error"], error), tile
    assert shown["ESS"] == f"{100 * found['ess']:.1f} %"
    assert shown["W2"] == printed(found["w2"], shown["W2"])


def test_a_run_that_diverged_says_so_and_promises_nothing(window, pages):
    page = window().go(pages["diverged"]).page
    assert page.locator("header .badge").first.text_content().startswith("diverged at iteration ")
    assert "There will be pictures" not in page.locator("main").text_content()


def test_what_a_run_says_is_written_for_readers(window, pages):
    words = window().go(pages["diverged"]).page.locator("ul.reading").text_content()
    assert not re.search(r"`|\d{7}|\de\d|-\d", words), words


def tiles(page):
    """The text of each tile's figure, by its name."""
    names, figures = (page.locator(f".tiles {part}").all_text_contents() for part in ("dt", "dd:not(.note)"))
    return dict(zip(names, figures, strict=True))


def printed(value, like):
    """A number as pages write it: as many decimals as `like`, a true minus, thousands apart from five digits on."""
    decimals = len(like.partition(".")[2])
    text = f"{abs(value):,.{decimals}f}"
    apart = "\u202f" if abs(value) >= 10_000 else ""
    return ("−" if value < 0 else "") + text.replace(",", apart)
