"""The site that mdBook builds from docs/: it builds without a warning, and every link has a target."""

import os
import shutil
import subprocess
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute() / "tools" / "bin"


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path: Path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if "id" in given:
            self.anchors.add(given["id"])
        for name in ("href", "src"):
            if given.get(name):
                self.links.append(given[name])


class Site(unittest.TestCase):
    def test_the_site_builds_and_its_links_lead_somewhere(self):
        mdbook = shutil.which("mdbook", path=f"{TOOLS}:{os.environ['PATH']}")
        if mdbook is None:
            self.skipTest("no mdbook (cargo install mdbook)")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        site = Path(folder.name)
        built = subprocess.run([mdbook, "build", "--dest-dir", site, ROOT], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(built.returncode, 0, built.stdout)
        self.assertNotRegex(built.stdout, r"\b(WARN|ERROR)\b")
        pages = {path: Page(path) for path in site.rglob("*.html")}
        self.assertGreater(len(pages), len(list((ROOT / "docs").glob("*.md"))) - 5)
        dead = [f"{path.relative_to(site)}: {link}" for path, page in pages.items() if path.name != "404.html"
                for link in page.links if not leads_somewhere(link, path, pages)]
        self.assertEqual(dead, [])


def leads_somewhere(link: str, start: Path, pages: dict) -> bool:
    """Returns whether a link of the page `start` names an existing file and anchor.

    Links to other sites are not checked.
    """
    if urlparse(link).scheme:
        return True
    path, anchor = urldefrag(unquote(link))
    target = (start.parent / path).resolve() if path else start
    if target.is_dir():
        target /= "index.html"
    return target.exists() and (not anchor or target not in pages or anchor in pages[target].anchors)


if __name__ == "__main__":
    unittest.main()
