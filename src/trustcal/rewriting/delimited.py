"""CSV and TSV rewritten as text: one field more in every record, and every other byte as it was."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trustcal.kernels.records import FIELDS, ID_END, ID_START, P_END, P_START, PlaceArray, records
from trustcal.reading.streams import Unpacked, decoded, packed, unpacked
from trustcal.rewriting.passage import Passage

FloatArray = NDArray[np.float64]

_CHUNK = 1 << 22
_LONGEST = 1 << 27
"""Bytes of a record beyond which its quotes are taken to be wrong."""
_ROWS = 1 << 17
_BOM = b"\xef\xbb\xbf"
_INTEGER = re.compile(rb"0|-?[1-9][0-9]{0,19}")


def rewrite_delimited(source: Path, target: Path, delimiters: str, passage: Passage) -> None:
    """Copy a CSV, one of these delimiters between its fields, with the safe prediction right after the prediction."""
    with unpacked(source) as stream, packed(target) as out:
        line, delimiter, rest = _header(source, stream, delimiters)
        names = _names(source, line, delimiter)
        p, i = passage.places(names)
        letter, places = ord(delimiter), np.zeros((1, FIELDS + 1), dtype=np.int64)
        records(np.frombuffer(line.removeprefix(_BOM), dtype=np.uint8), letter, True, p, -1, places)
        end = places[0, P_END] + len(line) - len(line.removeprefix(_BOM))
        out.write(line[:end] + delimiter.encode() + _field(passage.into, delimiter) + line[end:])
        for data, found in _blocks(source, stream, rest, letter, p, -1 if i is None else i):
            decoded(source, data)
            _refuse_ragged(passage, found, len(names))
            rows = found if len(names) == 1 else found[found[:, FIELDS] > 0]  # an empty line is no row of two fields
            out.write(_with_field(passage, data, rows, letter, i is not None))
            passage.report(int(passage.rows / stream.share()))


def _header(source: Path, stream: Unpacked, delimiters: str) -> tuple[bytes, str, bytes]:
    """The record that names the columns, with its end of line; the delimiter; and what was read beyond."""
    data, last = b"", False
    while not (last or b"\n" in data or b"\r" in data):
        chunk = stream.read(_CHUNK)
        data, last = data + chunk, not chunk
    first = data.splitlines()[0] if data else b""
    delimiter = max(delimiters, key=lambda letter: len(_names(source, first, letter)))
    places = np.zeros((1, FIELDS + 1), dtype=np.int64)
    while True:
        body = data.removeprefix(_BOM)
        count, end = records(np.frombuffer(body, dtype=np.uint8), ord(delimiter), last, -1, -1, places)
        if count and places[0, FIELDS] > 0:
            end += len(data) - len(body)
            return data[:end], delimiter, data[end:]
        if last or count or len(data) > _LONGEST:
            raise ValueError(
                f"{source} must begin with a line that names the columns, but is empty or begins otherwise."
            )
        chunk = stream.read(_CHUNK)
        data, last = data + chunk, not chunk


def _names(source: Path, line: bytes, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line.removeprefix(_BOM).decode()], delimiter=delimiter), [])
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(f"{source} cannot be read: its first line is not a line of utf-8 text.") from None


def _blocks(
    source: Path, stream: Unpacked, data: bytes, delimiter: int, p: int, i: int
) -> Iterator[tuple[bytes, PlaceArray]]:
    """The text in pieces of whole records, and their places."""
    places = np.zeros((_ROWS, FIELDS + 1), dtype=np.int64)
    last = False
    while data or not last:
        if not last:
            chunk = stream.read(_CHUNK)
            data, last = data + chunk, not chunk
        while True:
            scan = records.on(len(data))
            count, end = scan(np.frombuffer(data, dtype=np.uint8), delimiter, last, p, i, places)
            if count:
                yield data[:end], places[:count]
                data = data[end:]
            if count < _ROWS:
                break
        if len(data) > _LONGEST:
            raise ValueError(f"{source} cannot be read: a row is longer than {_LONGEST} bytes. Is a quote not closed?")


def _with_field(passage: Passage, data: bytes, rows: PlaceArray, delimiter: int, named: bool) -> bytes:
    """The text with the next block's draws put in; nothing once a bad row was met."""
    ends = rows[:, P_END].tolist()
    texts = [data[start:end] for start, end in zip(rows[:, P_START].tolist(), ends, strict=True)]
    ids = None
    if named:
        spans = zip(rows[:, ID_START].tolist(), rows[:, ID_END].tolist(), strict=True)
        ids = _ids(passage, [data[start:end] for start, end in spans])
    safe = passage.drawn(numbers(texts), ids, lambda index: _plain(texts[index]).decode(errors="replace"))
    if safe is None:
        return b""
    pieces: list[bytes] = []
    separator, done = bytes([delimiter]), 0
    for end, value in zip(ends, safe.tolist(), strict=True):
        pieces += (data[done:end], separator, repr(value).encode())
        done = end
    return b"".join([*pieces, data[done:]])


def numbers(texts: list[bytes]) -> FloatArray:
    """Texts as numbers; NaN for what is none."""
    together = b"".join(texts)
    if b"_" not in together and b'"' not in together:
        try:
            return np.array([float(text) for text in texts], dtype=np.float64)
        except ValueError:
            pass
    return np.array([_number(_plain(text)) for text in texts], dtype=np.float64)


def identity(text: bytes) -> int | str:
    """A row id in a text without types: an integer where it is written as one, as in other formats."""
    if _INTEGER.fullmatch(text) and -(2**63) <= int(text) < 2**64:
        return int(text)
    return text.decode()


def _ids(passage: Passage, texts: list[bytes]) -> NDArray[Any]:
    ids = np.empty(len(texts), dtype=object)
    for index, text in enumerate(texts):
        if not text:
            raise passage.missing_id(index)
        ids[index] = identity(_plain(text))
    return ids


def _plain(text: bytes) -> bytes:
    """A field without its quotes."""
    return text[1:-1].replace(b'""', b'"') if text[:1] == b'"' else text


def _number(text: bytes) -> float:
    try:
        return float(text) if b"_" not in text else np.nan
    except ValueError:
        return np.nan


def _field(name: str, delimiter: str) -> bytes:
    quoted = any(letter in name for letter in (delimiter, '"', "\n", "\r")) or not name
    return ('"' + name.replace('"', '""') + '"' if quoted else name).encode()


def _refuse_ragged(passage: Passage, places: PlaceArray, width: int) -> None:
    fields = places[:, FIELDS][places[:, FIELDS] != 0]
    if (fields != width).any():
        row = int(np.argmax(fields != width))
        came = "a quote that is never closed" if fields[row] < 0 else f"{fields[row]}"
        raise ValueError(
            f"{passage.file} cannot be read: every row must have the {width} fields that the first line names, but row "
            f"{passage.rows + row} (from 0) has {came}."
        )
