"""Where the records of a CSV text and two of their fields begin and end, byte by byte."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trustcal.kernels import kernel

ByteArray = NDArray[np.uint8]
PlaceArray = NDArray[np.int64]

P_START, P_END, ID_START, ID_END, FIELDS = range(5)
"""The columns of `places`: where the two fields of a record begin and end, and how many fields it has."""


@kernel
def records(data: ByteArray, delimiter: int, last: bool, p: int, i: int, places: PlaceArray) -> tuple[int, int]:
    """Fill `places` with the records that are whole in `data`; how many, and where the next one begins.

    A record ends with a line feed, a carriage return or both.  A field that begins with a quote ends with the next one
    that is not doubled, whatever stands between; elsewhere quotes are letters.  An empty line is a record with no
    fields.  Where `last` says that nothing follows, the last record needs no end of line, and one with a quote that is
    never closed has −1 fields.  O(n).
    """
    quote, feed, carriage = 34, 10, 13
    size, count, position = len(data), 0, 0
    while position < size and count < len(places):
        start = field_start = position
        field, inside, whole = 0, False, False
        while position < size:
            byte = data[position]
            if inside:
                if byte == quote:
                    if position + 1 == size and not last:
                        break  # whether it is doubled, the next byte says
                    if position + 1 < size and data[position + 1] == quote:
                        position += 1
                    else:
                        inside = False
            elif byte == quote and position == field_start:
                inside = True
            elif byte in (delimiter, feed, carriage):
                if byte == carriage and position + 1 == size and not last:
                    break  # whether it is one end of line with the next byte
                if field == p:
                    places[count, P_START], places[count, P_END] = field_start, position
                if field == i:
                    places[count, ID_START], places[count, ID_END] = field_start, position
                if byte != delimiter:
                    places[count, FIELDS] = field + 1 if position > start else 0
                    if byte == carriage and position + 1 < size and data[position + 1] == feed:
                        position += 1
                    position += 1
                    whole = True
                    break
                field += 1
                field_start = position + 1
            position += 1
        if not whole:
            if not last:
                return count, start
            if field == p:
                places[count, P_START], places[count, P_END] = field_start, position
            if field == i:
                places[count, ID_START], places[count, ID_END] = field_start, position
            places[count, FIELDS] = -1 if inside else field + 1
        count += 1
    return count, position
