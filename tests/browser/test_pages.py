"""What holds for every page, by day and by night, on a desk and on a telephone."""

import re
from collections import Counter
from itertools import combinations, product

import pytest
from examples import RUNS
from visit import Visit, contrast, luminance

PAGES = [*RUNS, "diverged", "comparison", "paper"]
WIDTHS = [1280, 400]
DARKEST, BRIGHTEST = 0.05, 0.9
"""How bright the paper of a dark page may be, and that of a light page must be."""

WAYS = [*product(PAGES, ["light", "dark"], WIDTHS)]


@pytest.fixture(scope="module", params=WAYS, ids=lambda way: "-".join(map(str, way)))
def visit(request, pages, browser):
    name, scheme, width = request.param
    visit = Visit(browser, scheme, width).go(pages[name])
    yield visit
    visit.close()


@pytest.fixture(scope="module")
def drawings(visit):
    return visit.measure("drawings")


def test_nothing_is_wrong_and_nothing_is_fetched(visit):
    assert visit.complaints == []
    assert visit.requests == [visit.address]


def test_nothing_is_wider_than_the_window(visit):
    visit.page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    assert visit.page.evaluate("innerWidth") == visit.width
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= visit.width


def test_no_name_is_given_twice(visit):
    names = visit.page.evaluate("[...document.querySelectorAll('[id]')].map((element) => element.id)")
    assert names and [name for name, count in Counter(names).items() if count > 1] == []


def test_every_image_is_there(visit):
    assert visit.page.evaluate("[...document.images].every((image) => image.complete && image.naturalWidth > 0)")


def test_no_figure_is_torn(visit):
    assert visit.measure("tornFigures") == []


def test_every_drawing_is_seen_and_has_a_name(visit, drawings):
    assert len(drawings) >= 4
    for drawing in drawings:
        box = drawing["box"]
        assert drawing["role"] == "img" and drawing["seen"], drawing["name"]
        assert min(box["right"] - box["left"], box["bottom"] - box["top"]) > 90, drawing["name"]
    named = visit.page.get_by_role("img", name=re.compile(r"\w+ \w+"))
    assert named.count() == len(drawings)


def test_text_stays_within_its_drawing(drawings):
    for drawing in drawings:
        for text in drawing["texts"]:
            assert within(text["box"], drawing["box"]), (drawing["name"], text["words"])


def test_no_text_covers_another(drawings):
    for drawing in drawings:
        for one, other in combinations(drawing["texts"], 2):
            assert not overlap(letters(one), letters(other)), (drawing["name"], one["words"], other["words"])


def test_text_beside_the_plot_keeps_off_it(drawings):
    for drawing in drawings:
        for text in drawing["texts"]:
            assert not overlap(letters(text), drawing["plot"]), (drawing["name"], text["words"])


def test_charts_have_numbers_at_their_axes(visit, drawings):
    charts = visit.page.evaluate("[...document.querySelectorAll('.charts figure')].map((figure) => figure.id)")
    assert charts
    for drawing in drawings:
        if drawing["name"] in charts:
            anchors = [text["anchor"] for text in drawing["texts"] if re.search(r"\d", text["words"])]
            assert anchors.count("end") >= 2 and anchors.count("middle") >= 2, drawing["name"]


def test_text_of_drawings_can_be_read(drawings):
    for drawing in drawings:
        for text in drawing["texts"]:
            assert text["size"] >= 8.0, (drawing["name"], text["words"])


def test_words_stand_out_from_the_paper(visit):
    writing = visit.measure("writing")
    assert any(words["drawn"] for words in writing) and not all(words["drawn"] for words in writing)
    for words in writing:
        assert contrast(words["ink"], words["paper"]) >= 4.5, words


def test_paper_and_drawings_are_light_or_dark(visit):
    paper = luminance(visit.measure("background"))
    assert paper < DARKEST if visit.scheme == "dark" else paper > BRIGHTEST
    for written, shown in visit.measure("paints"):
        assert (channels(written) == shown) == (visit.scheme == "light"), written


@pytest.mark.parametrize(("name", "width"), [*product(PAGES, WIDTHS)])
def test_a_pointer_is_told_what_it_points_at(window, pages, name, width):
    page = window("light", width).go(pages[name]).page
    charts = page.evaluate("[...document.querySelectorAll('figure:has([data-tip])')].map((figure) => figure.id)")
    assert charts
    for chart in charts:
        strips = page.locator(f"figure[id='{chart}'] [data-tip]")
        for strip in (strips.first, strips.last):
            tip_shows(page, strip)


def tip_shows(page, strip):
    """Points at a strip: its words appear within the window. Points away: they are gone."""
    tip = page.locator("#tip")
    strip.scroll_into_view_if_needed()
    page.evaluate("new Promise((settled) => requestAnimationFrame(() => requestAnimationFrame(settled)))")
    box = strip.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert tip.is_visible() and tip.text_content() == strip.get_attribute("data-tip") != ""
    place = tip.bounding_box()
    assert place["x"] >= 0 and place["x"] + place["width"] <= page.viewport_size["width"]
    assert place["y"] >= 0 and place["y"] + place["height"] <= page.viewport_size["height"]
    page.mouse.move(1, 1)
    assert tip.is_hidden()


def test_paper_is_light_in_print(window, pages):
    visit = window("dark").go(pages["25gmm"])
    assert luminance(visit.measure("background")) < DARKEST
    visit.page.emulate_media(media="print", color_scheme="dark")
    assert luminance(visit.measure("background")) > BRIGHTEST
    assert all(channels(written) == shown for written, shown in visit.measure("paints"))
    printed = visit.page.pdf()
    assert printed.startswith(b"%PDF-") and re.search(rb"/Type\s*/Page\b", printed)


def channels(colour):
    """Red, green and blue of #rrggbb."""
    return list(bytes.fromhex(colour[1:]))


def letters(text):
    """Where the letters of a line are: without the room above and below that fonts keep free."""
    box, free = text["box"], 0.2 * (text["box"]["bottom"] - text["box"]["top"])
    return box | {"top": box["top"] + free, "bottom": box["bottom"] - free}


def overlap(one, other):
    across = min(one["right"], other["right"]) - max(one["left"], other["left"])
    down = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
    return across > 0.5 and down > 0.5


def within(inner, outer, slack=0.5):
    near = all(inner[side] >= outer[side] - slack for side in ("left", "top"))
    return near and all(inner[side] <= outer[side] + slack for side in ("right", "bottom"))
