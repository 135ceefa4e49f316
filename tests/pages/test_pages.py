"""The HTML pages in a browser: at the widths of a phone, a tablet and a desktop, in light and dark mode, and in print.

STEADY_PICTURES=FOLDER saves screenshots.
"""

import os
import unittest
from pathlib import Path

import browser

REPORTS = Path(__file__).resolve().parents[2] / "testdata" / "reports"
# Widths in pixels, and whether the colours are dark. `./test --all` shows every page in all of them.
VIEWS = [(width, dark) for width in (360, 800, 1400) for dark in (False, True)]
if os.environ.get("STEADY_TESTS") != "all":
    VIEWS = [(360, True), (800, False), (1400, True)]

# The lowest contrast of a text with its background according to WCAG 2, and the text.
CONTRAST = """(() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgb(getComputedStyle(at).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  let worst = [99, ''];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || element.closest('svg')) continue;
    const [one, other] = [light(rgb(getComputedStyle(element).color)), light(behind(element))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    if (ratio < worst[0]) worst = [ratio, walker.currentNode.data.slice(0, 60)];
  }
  return worst;
})()"""

# Overlapping labels of an axis.
COLLISIONS = """[...document.querySelectorAll('.x, .y')].flatMap(axis => {
  const boxes = [...axis.children].filter(each => each.textContent.trim()).map(each => [each.getBoundingClientRect(), each.textContent]);
  return boxes.flatMap(([a, one], i) => boxes.slice(i + 1).filter(([b]) =>
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom).map(([, other]) => one + ' / ' + other));
})"""

# Drawings without a role or name, table heads without a scope, and skipped heading levels.
UNNAMED = """[
  ...[...document.querySelectorAll('svg')].filter(each => each.getAttribute('aria-hidden') !== 'true'
    && !(each.getAttribute('role') === 'img' && each.getAttribute('aria-label'))).map(each => each.outerHTML.slice(0, 80)),
  ...[...document.querySelectorAll('th:not([scope])')].map(each => each.outerHTML),
  ...[...document.querySelectorAll('h1, h2, h3, h4')].filter((each, i, all) =>
    i > 0 && each.tagName[1] - all[i - 1].tagName[1] > 1).map(each => each.outerHTML),
]"""


@unittest.skipIf(browser.find() is None, "Chromium is not installed (Debian: chromium)")
class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        opened = browser.Browser(browser.find())
        cls.addClassCleanup(opened.__exit__)
        cls.browser = opened.__enter__()
        cls.pages = sorted(REPORTS.glob("*.html"))

    def everywhere(self):
        """Shows every page at every width, and in light and dark mode."""
        self.assertGreater(len(self.pages), 5)
        for page in self.pages:
            for width, dark in VIEWS:
                with self.subTest(page=page.name, width=width, dark=dark):
                    self.browser.show(page, width, dark)
                    self.keep(f"{page.stem}-{width}{'-dark' if dark else ''}.png")
                    yield page, width, dark

    def keep(self, name: str) -> None:
        if folder := os.environ.get("STEADY_PICTURES"):
            self.browser.picture(Path(folder) / name)

    def test_pages_fit_are_readable_have_accessible_names_and_fetch_nothing(self) -> None:
        for page, width, dark in self.everywhere():
            value = self.browser.value
            self.assertLessEqual(value("document.scrollingElement.scrollWidth"), width)
            self.assertEqual(value(COLLISIONS), [])
            self.assertEqual(self.browser.requests(), [page.as_uri()])
            self.assertEqual(self.browser.complaints(), [])
            ratio, where = value(CONTRAST)
            self.assertGreaterEqual(ratio, 4.5, where)
            paper = value("getComputedStyle(document.body).backgroundColor")
            self.assertEqual(paper == "rgb(255, 255, 255)", not dark)
            self.assertEqual(value(UNNAMED), [])
            self.assertEqual(value("document.querySelectorAll('h1').length"), 1)

    def test_drawn_elements_have_a_size(self) -> None:
        self.browser.show(REPORTS / "slower.html", 800)
        sizes = self.browser.value(
            "[...document.querySelectorAll('.plot svg path')].map(each => each.getBoundingClientRect()).map(r => r.width + r.height)")
        self.assertGreater(len(sizes), 20)
        self.assertGreater(min(sizes), 0)
        self.browser.show(REPORTS / "load-hash.html", 800)
        for drawn, least in ((".plot svg path.first", 4), (".plot svg rect.heat", 300)):
            sizes = self.browser.value(
                f"[...document.querySelectorAll('{drawn}')].map(each => each.getBoundingClientRect()).map(r => r.width * r.height)")
            self.assertGreaterEqual(len(sizes), least, drawn)
            self.assertGreater(min(sizes), 0, drawn)
        for page, drawn, least in (("costs-usual", "path.column", 20), ("costs-usual", "path.line.rest", 20),
                                   ("costs-usual", "path.second", 20), ("costs-few", "path.third", 1),
                                   ("costs-sweep", "path.line.first", 2), ("costs-sweep", "path.line.second", 2), ("locks-queue", "rect.bar.first", 9),
                                   ("locks-queue", "rect.bar.second", 9), ("locks-many", "rect.bar.first", 24),
                                   ("release-random", "path.line.first", 3), ("release-random", "path.line.second", 3),
                                   ("release-random", "path.third", 2), ("release-followed", "path.line.first", 4),
                                   ("release-refused", "rect.bar.first", 2)):
            self.browser.show(REPORTS / f"{page}.html", 800)
            sizes = self.browser.value(
                f"[...document.querySelectorAll('.plot svg {drawn}')].map(each => each.getBoundingClientRect()).map(r => r.width + r.height)")
            self.assertGreaterEqual(len(sizes), least, f"{page}: {drawn}")

    def test_standalone_drawings_are_complete(self) -> None:
        for drawing in sorted(REPORTS.glob("*.svg")):
            with self.subTest(drawing=drawing.name):
                self.browser.show(drawing, 820)
                self.assertEqual(self.browser.complaints(), [])
                self.assertEqual(self.browser.requests(), [drawing.as_uri()])
                outside = """[...document.querySelectorAll('text, circle')].map(each => each.getBoundingClientRect())
                    .filter(r => r.left < 0 || r.top < 0 || r.right > 800 || r.bottom > 460).length"""
                self.assertEqual(self.browser.value(outside), 0)

    def test_printed_pages_are_light_in_dark_mode(self) -> None:
        self.browser.show(REPORTS / "slower.html", 800, dark=True, media="print")
        self.assertEqual(self.browser.value("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        self.assertTrue(self.browser.pdf().startswith(b"%PDF"))

    def test_a_text_selects_the_rows_of_a_long_table(self) -> None:
        self.browser.show(REPORTS / "costs-usual.html", 800)
        shown = """[...document.querySelector('input.filter').nextElementSibling.querySelectorAll('tbody tr')]
            .filter(row => row.getBoundingClientRect().height > 0).length"""
        write = """(text => {
            const field = document.querySelector('input.filter');
            field.value = text;
            field.dispatchEvent(new Event('input'));
            return field.getBoundingClientRect().height > 0;
        })(%r)"""
        everything = self.browser.value(shown)
        self.assertGreaterEqual(everything, 20)
        self.assertTrue(self.browser.value(write % "FORK"))
        self.assertIn(self.browser.value(shown), range(1, everything))
        self.browser.value(write % "no such row")
        self.assertEqual(self.browser.value(shown), 0)
        self.browser.value(write % "")
        self.assertEqual(self.browser.value(shown), everything)
        self.assertEqual(self.browser.complaints(), [])

    def test_the_content_policy_blocks_fetches(self) -> None:
        self.browser.show(REPORTS / "slower.html", 800)
        fetched = "fetch('data:text/plain,x').then(() => 'fetched', () => 'refused')"
        self.assertEqual(self.browser.value(fetched), "refused")


if __name__ == "__main__":
    unittest.main()
