"""Text fields of protocol lines; see docs/protocol.md."""

from __future__ import annotations

# The longest field, in bytes.
LONGEST = 500

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def name_field(text: object, what: str) -> str:
    """Returns the name of a service or version as a field. Raises ValueError if it is empty or too long."""
    if (size := len(str(text).encode("utf-8", "replace"))) > LONGEST:
        raise ValueError(f"the name of the {what} has {size} bytes; at most {LONGEST} are possible")
    written = field(text)
    if not written:
        raise ValueError(f"the name of the {what} must not be empty")
    return written


def field(text: object) -> str:
    """Returns the text as a field: escaped, and cut to `LONGEST` bytes."""
    # Characters without an encoding, such as half a surrogate pair, become question marks.
    written = str(text).encode("utf-8", "replace").decode("utf-8").translate(_ESCAPES)
    if len(written) * 4 <= LONGEST or len(written.encode()) <= LONGEST:
        return written
    cut = written.encode()[:LONGEST].decode("utf-8", "ignore")
    # Drop an escape that was cut in half.
    backslashes = len(cut) - len(cut.rstrip("\\"))
    return cut[:-1] if backslashes % 2 else cut
