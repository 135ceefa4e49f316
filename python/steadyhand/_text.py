"""Text as lines have it: docs/protocol.md."""

from __future__ import annotations

LONGEST = 500

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def field(text: object) -> str:
    """Any text as a field: nothing in it ends the field or the line, and it is not longer than a field may be."""
    # What is no Unicode, such as half a surrogate pair, becomes a question mark.
    written = str(text).encode("utf-8", "replace").decode("utf-8").translate(_ESCAPES)
    if len(written) * 4 <= LONGEST or len(written.encode()) <= LONGEST:
        return written
    cut = written.encode()[:LONGEST].decode("utf-8", "ignore")
    # An escape that was cut in half goes as a whole.
    backslashes = len(cut) - len(cut.rstrip("\\"))
    return cut[:-1] if backslashes % 2 else cut
