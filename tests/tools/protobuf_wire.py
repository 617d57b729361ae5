# SPDX-License-Identifier: BSD-2-Clause
"""The wire format of protocol buffers, without the definition of a message."""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """All (number, value) of a message; bytes stay bytes."""
    at, out = 0, []
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        elif kind == 2:
            n, at = varint(data, at)
            assert at + n <= len(data), "cut short"
            value, at = data[at:at + n], at + n
        else:
            raise ValueError("wire type %d" % kind)
        out.append((key >> 3, value))
    return out
