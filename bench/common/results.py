"""Results: one JSON object per line, written immediately, so that an interrupted bench can continue."""

import json
import os
import time
from pathlib import Path


class Results:
    """A results file and the records in it."""

    def __init__(self, path: Path):
        self.path = path
        self.records = list(_read(path))

    def add(self, record: dict) -> None:
        """Appends a record with the current time and syncs the file."""
        record = {"at": round(time.time(), 3), **record}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a+b") as file:
            if _ends_in_mid_line(file):
                file.write(b"\n")
            file.write(json.dumps(record).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.records.append(record)

    def of(self, **fields) -> list:
        """Returns the records with these values."""
        return [record for record in self.records if all(record.get(k) == v for k, v in fields.items())]


def _ends_in_mid_line(file) -> bool:
    if file.seek(0, os.SEEK_END) == 0:
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def _read(path: Path):
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue  # cut off when the bench was killed; the trial is repeated
