"""Reads how many requests a block of an agent's store has, by the format in docs/agent.md."""

DOUBLE = 8


class Blob:
    """The bytes of a blob that have not been read yet."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def skip(self, length):
        self.at += length

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def whole(self):
        """Reads a number with the encoding n."""
        value, shift = 0, 0
        while (byte := self.byte()) >= 128:
            value, shift = value | (byte - 128) << shift, shift + 7
        return value | byte << shift

    def skip_number(self, escape):
        """Skips a number with the encoding w or z, in which the whole number `escape` precedes a double."""
        if self.whole() == escape:
            self.skip(DOUBLE)


def requests(data):
    """Returns the number of requests of a block, without those of the warm-up."""
    blob = Blob(data)
    if blob.byte() != 2:
        raise ValueError("the format of the blob is not version 2")
    for _ in ("folded", "lost"):
        blob.whole()
    blob.skip(DOUBLE * blob.whole())
    return sum(requests_of_row(blob) for _ in range(blob.whole()))


def requests_of_row(blob):
    for _ in ("process", "version", "route"):
        blob.whole()
    flags = blob.byte()
    for flag in (8, 16):
        if flags & flag:
            blob.whole()
    counted = blob.whole()
    blob.skip_number(1)
    blob.skip(DOUBLE)
    blob.skip_number(1)
    mask = blob.whole()
    for bit in range(4):
        if mask >> bit & 1:
            blob.whole()
    for bit in range(4, 8):
        if mask >> bit & 1:
            blob.skip_number(1)
    blob.skip(DOUBLE * (mask >> 8).bit_count())
    levels = blob.whole()
    for bit in (14, 15):
        if levels >> bit & 1:
            blob.whole()
    for bit in range(14):
        if levels >> bit & 1:
            blob.skip_number(2)
    return counted
