"""Charts as files of their own: each as SVG and as PNG, each fit to be opened alone."""

import struct
import zlib
from xml.etree import ElementTree

import pytest

SIGNATURE = b"\x89PNG\r\n\x1a\n"
PIXELS = 2
"""Of a PNG, for each of the drawing's own."""


@pytest.fixture(scope="module", params=["25gmm", "comparison"])
def plots(request, ebbtide, pages, tmp_path_factory):
    """A page and the folder of its plots."""
    place, page = tmp_path_factory.mktemp("plots"), pages[request.param]
    ebbtide("report", page.parent, "--plots", place / "plots", "-o", place / "report.html", "--threads", 1)
    return place / "report.html", place / "plots"


@pytest.fixture
def drawings(plots):
    return sorted(plots[1].glob("*.svg"))


def test_there_are_two_files_of_each_chart(window, plots):
    page, folder = plots
    charts = window().go(page).page.evaluate("[...document.querySelectorAll('figure')].map((figure) => figure.id)")
    assert charts
    names = [f"{chart}.{kind}" for chart in charts for kind in ("svg", "png")]
    assert sorted(names) == sorted(file.name for file in folder.iterdir())


def test_every_drawing_opens_alone(window, drawings):
    visit = window()
    for drawing in drawings:
        visit.go(drawing)
        [shown] = visit.measure("drawings")
        assert shown["role"] == "img" and shown["seen"], drawing
        assert visit.page.evaluate("document.documentElement.querySelector('title').textContent"), drawing
    assert visit.complaints == []
    assert visit.requests == [drawing.as_uri() for drawing in drawings]


def test_every_picture_is_its_drawing_at_twice_the_size(drawings):
    for drawing in drawings:
        root = ElementTree.parse(drawing).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        width, height, pixels = picture(drawing.with_suffix(".png").read_bytes())
        assert [width, height] == [PIXELS * float(root.get(side)) for side in ("width", "height")]
        assert len(set(pixels)) > 50, f"{drawing}: next to nothing is drawn"


def picture(content):
    """Width, height and unpacked rows of a PNG."""
    assert content.startswith(SIGNATURE)
    packed, place, size = b"", len(SIGNATURE), None
    while place < len(content):
        length, kind = struct.unpack(">I4s", content[place : place + 8])
        body = content[place + 8 : place + 8 + length]
        size = struct.unpack(">II", body[:8]) if kind == b"IHDR" else size
        packed += body if kind == b"IDAT" else b""
        place += length + 12
    return *size, zlib.decompress(packed)
