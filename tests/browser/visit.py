"""A page that was opened: what it said, what it asked for, and where everything in it stands."""

from pathlib import Path

MEASURE = (Path(__file__).parent / "measure.js").read_text()


class Visit:
    """A window with one page in it."""

    def __init__(self, browser, scheme="light", width=1280):
        self.scheme, self.width = scheme, width
        self.context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", self.hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: self.complaints.append(f"{request.url}: {request.failure}"))

    def hear(self, message):
        if message.type in ("error", "warning", "assert"):
            self.complaints.append(message.text)

    def go(self, address):
        """Opens a file or a URL."""
        self.address = address.as_uri() if isinstance(address, Path) else address
        self.page.goto(self.address)
        return self

    def close(self):
        self.context.close()

    def measure(self, what):
        """Asks one of the questions of measure.js."""
        return self.page.evaluate(f"() => {{ {MEASURE}\nreturn {what}(); }}")


def luminance(colour):
    """Relative luminance, by the W3C's guidelines, of red, green and blue from 0 to 255."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(ink, paper):
    """From 1, the same, to 21, black on white."""
    low, high = sorted(map(luminance, (ink, paper)))
    return (high + 0.05) / (low + 0.05)
