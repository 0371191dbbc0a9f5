"""Takes the pictures of the documentation: take.py 25GMM-RUN HARD-FUNNEL-RUN FOLDER-OF-RUNS.

Needs playwright and a chromium; tests/browser/run installs both:
    target/browser/bin/python docs/images/take.py runs/… runs/… runs/over-steps
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH = 1120


def take(browser, page_file: Path, last: str, picture: str) -> None:
    """From the top of a page to the end of the element that `last` selects."""
    page = browser.new_page(viewport={"width": WIDTH, "height": 800})
    page.goto(page_file.resolve().as_uri())
    box = page.locator(last).bounding_box()
    bottom = box["y"] + box["height"] + 12
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": bottom}
    page.screenshot(path=Path(__file__).parent / picture, clip=clip, full_page=True)
    page.close()


def main() -> None:
    mixture, funnel, runs = map(Path, sys.argv[1:])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        take(browser, mixture / "report.html", "#exact-0-1", "report-25gmm.png")
        take(browser, funnel / "report.html", "#samples-0-2", "report-hard-funnel.png")
        take(browser, runs / "report.html", "#targets .charts", "report-over-steps.png")


main()
