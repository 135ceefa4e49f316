#!/usr/bin/env python3
"""Draws a report of steady as SVG, for light and for dark pages: docs/images/report-light.svg and report-dark.svg.

Reads the report from standard input; the argument is the command line that is shown above it:

    steady compare 'gzip -6 -kc /bin/bash' 'gzip -9 -kc /bin/bash' |
        packaging/picture.py "steady compare 'gzip -6 -kc /bin/bash' 'gzip -9 -kc /bin/bash'"

The report of an earlier run serves as well: steady history report 17 | packaging/picture.py ...
"""

import sys
from html import escape
from pathlib import Path

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
# Foreground, background, border and the colour of the answer.
THEMES = {
    "light": ("#1f2328", "#f6f8fa", "#d1d9e0", "#0a5c9e"),
    "dark": ("#e6edf3", "#151b23", "#3d444d", "#79c0ff"),
}
# Pixels. A column is wide enough for the common monospace fonts at this size; textLength holds every line to it.
FONT_SIZE, COLUMN, LINE, MARGIN = 13, 7.8, 18, 16
# The end of a report is about the machine and the record, not about the commands.
LAST_SECTION = "Load of the machine during the runs"
LAST_SECTION_LINES = 4


def shown(report):
    """The lines of the report that are drawn: up to the first lines of the last section."""
    lines = report.rstrip().splitlines()
    if LAST_SECTION in lines:
        lines = lines[: lines.index(LAST_SECTION) + 1 + LAST_SECTION_LINES]
    return lines


def drawing(command, lines, theme):
    """One SVG: the command line, the answer in bold and colour, headings in bold, the rest as it is."""
    text, background, border, accent = THEMES[theme]
    typed = f"$ {command}".splitlines()
    first = len(typed) + 1
    rows = [*typed, "", *lines]
    answer = range(first, first + next((at for at, line in enumerate(lines) if not line), len(lines)))
    width = round(max(map(len, rows)) * COLUMN + 2 * MARGIN)
    height = len(rows) * LINE + 2 * MARGIN
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escape(lines[0])}">',
        f"<style>text{{font:{FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
        f"fill:{text};white-space:pre}}.b{{font-weight:bold}}.a{{font-weight:bold;fill:{accent}}}</style>",
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="6" fill="{background}" stroke="{border}"/>',
    ]
    for at, row in enumerate(rows):
        if not row:
            continue
        body = row.lstrip(" ")
        indent = len(row) - len(body)
        kind = ' class="a"' if at in answer else ' class="b"' if indent == 0 and at > first and not row.endswith(".") else ""
        x, y = MARGIN + indent * COLUMN, MARGIN + at * LINE + FONT_SIZE
        length = f'{len(body) * COLUMN:.1f}'
        out.append(f'<text{kind} x="{x:.1f}" y="{y}" textLength="{length}" xml:space="preserve">{escape(body, False)}</text>')
    return "\n".join([*out, "</svg>", ""])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lines = shown(sys.stdin.read())
    if not lines:
        sys.exit("picture.py: no report on standard input")
    for theme in THEMES:
        (IMAGES / f"report-{theme}.svg").write_text(drawing(sys.argv[1], lines, theme), encoding="utf-8")


if __name__ == "__main__":
    main()
