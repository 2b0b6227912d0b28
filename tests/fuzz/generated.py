"""What the fuzz tests feed: bytes, JSON that means nothing, JSON in the words of a protocol, and broken JSON.

HERMES_FUZZ_EXAMPLES sets how many examples each test tries (default 100).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

FUZZ = settings(
    max_examples=int(os.environ.get("HERMES_FUZZ_EXAMPLES", "100")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

TEXTS = st.text(st.characters(exclude_categories=()), max_size=12)
"""Any characters, half surrogate pairs too: JSON can spell them."""
NUMBERS = st.integers(-(2**70), 2**70) | st.integers(-3, 200) | st.floats(allow_nan=True, allow_infinity=True)
SCALARS = st.none() | st.booleans() | NUMBERS


def words_of(shapes: Iterable[type[msgspec.Struct]]) -> list[str]:
    """Return the names of all fields of these shapes, and of the shapes inside them."""
    found: set[str] = set()
    for shape in _with_inner(shapes):
        found.update(shape.__struct_encode_fields__)
        if shape.__struct_config__.tag is not None:
            found.update((str(shape.__struct_config__.tag), str(shape.__struct_config__.tag_field)))
    return sorted(found)


def _with_inner(shapes: Iterable[type[msgspec.Struct]]) -> Iterator[type[msgspec.Struct]]:
    inspected = msgspec.inspect.multi_type_info(shapes)
    waiting: list[Any] = list(inspected)
    seen: set[type] = set()
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, msgspec.inspect.StructType):
            if kind.cls in seen:
                continue
            seen.add(kind.cls)
            yield kind.cls
            waiting += [field.type for field in kind.fields]
        elif isinstance(kind, msgspec.inspect.UnionType):
            waiting += kind.types
        elif isinstance(kind, msgspec.inspect.ListType | msgspec.inspect.VarTupleType):
            waiting.append(kind.item_type)


def values(words: Iterable[str]) -> st.SearchStrategy[Any]:
    """Return a strategy of values whose keys and texts are often among `words`."""
    texts = st.sampled_from(sorted(words)) | TEXTS
    return st.recursive(
        SCALARS | texts,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=5),
        max_leaves=12,
    )


def fields(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy of objects that have some of these members."""
    none: dict[str, st.SearchStrategy[Any]] = {}
    return st.fixed_dictionaries(none, optional=members)


def objects(shape: type[msgspec.Struct], inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy of objects that have some fields of `shape`, of the right kind where that is simple."""
    return fields(**{field.encode_name: _likely(field.type) | inner for field in msgspec.structs.fields(shape)})


def _likely(kind: Any) -> st.SearchStrategy[Any]:
    if kind is str or kind == str | None:
        return st.sampled_from(["", "/a", "once", "x"]) | TEXTS
    if kind is int or kind is bool or kind == int | None or kind == bool | None:
        return st.integers(-3, 200) | st.booleans()
    return st.none()


def as_json(value: Any) -> bytes:
    """Return `value` as JSON in ASCII; numbers that JSON has no word for are written as JavaScript writes them."""
    return json.dumps(value).encode()


@st.composite
def damaged(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """Return bytes that were cut, doubled or mixed with others in one place."""
    data = draw(whole)
    start, end = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
    middle = draw(st.binary(max_size=4) | st.sampled_from([b"", b" x", b"\xff", b'"', b"}", b"[" * 1500, b"\\ud800"]))
    return data[:start] + middle + data[end:]


def lines(meaningful: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    """Return a strategy of inputs: bytes, JSON of `meaningful` values, and the same damaged."""
    whole = meaningful.map(as_json)
    return st.one_of(st.binary(max_size=60), whole, damaged(whole))


def pieces(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    """Return `data` cut at these places, each taken modulo its length."""
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


CUTS = st.lists(st.integers(0, 10_000), max_size=12)
