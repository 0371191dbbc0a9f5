"""What the page of several runs shows: charts over steps, a table, and ways to each run's own page."""

import re
from urllib.parse import urljoin

from examples import COMPARED, SEEDS

CHARTS = ["25gmm-elbo", "25gmm-eubo", "25gmm-w2", "25gmm-ess"]


def test_it_shows_every_chart_with_every_method(window, pages):
    page = window().go(pages["comparison"]).page
    for chart in CHARTS:
        words = page.locator(f"figure[id='{chart}'] svg text").all_text_contents()
        assert {"tb-tb", "tb-fixed", "steps T"} <= {word.strip() for word in words}, chart


def test_steps_are_whole(window, pages):
    page = window().go(pages["comparison"]).page
    for chart in CHARTS:
        words = page.locator(f"figure[id='{chart}'] svg text[text-anchor=middle]").all_text_contents()
        assert {"2", "4"} <= {word.strip() for word in words} <= {"2", "3", "4", "steps T"}, chart


def test_its_table_has_a_row_for_each_method_and_number_of_steps(window, pages):
    rows = window().go(pages["comparison"]).page.locator("#targets tbody tr")
    cells = [row.locator("td").all_text_contents() for row in rows.all()]
    assert sorted((method, int(steps)) for method, steps, *_ in cells) == sorted(COMPARED)
    for _, _, finished, went_astray, elbo, *_ in cells:
        assert (finished, went_astray) == (str(SEEDS), "0")
        assert re.fullmatch(r"−?\d+\.\d{3} ± \d+\.\d{3}", elbo)


def test_every_run_can_be_gone_to(window, pages):
    visit = window().go(pages["comparison"])
    links = visit.page.locator("#runs tbody a")
    assert links.count() == SEEDS * len(COMPARED)
    links.first.click()
    assert visit.page.locator("h1").text_content() == "25gmm"
    visit.page.go_back()
    for way in [link.get_attribute("href") for link in links.all()]:
        visit.page.goto(urljoin(visit.address, way))
        assert visit.page.locator("header .badge").first.text_content() == "finished"
    assert visit.complaints == []
