"""Specs as JSON and back; the digest names a spec in snapshots and checkpoints."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from typing import Any

from bankfull.errors import SpecError
from bankfull.spec import comparing, overload, predicates, query, spans

_KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        spans.Duration,
        spans.Ticks,
        spans.Rows,
        overload.Tuples,
        overload.Bytes,
        overload.Keep,
        comparing.Comparisons,
        comparing.Compare,
        overload.Shed,
        *predicates.PREDICATES.values(),
        query.Utility,
        query.Stream,
        query.Join,
        query.Query,
    )
}


def to_json(spec: query.Query) -> str:
    """Write a query as JSON with sorted keys: equal queries give equal text."""
    return json.dumps(_pack(spec), sort_keys=True, separators=(",", ":"))


def from_json(text: str) -> query.Query:
    """Read a query that :func:`to_json` wrote."""
    try:
        spec = _unpack(json.loads(text))
    except (ValueError, TypeError, KeyError) as error:
        raise SpecError(f"this is not a query written by bankfull: {error}") from error
    if not isinstance(spec, query.Query):
        raise SpecError("this JSON holds no query: write it with bankfull.spec.to_json")
    return spec


def digest(spec: query.Query) -> str:
    """Name a query by its meaning, in sixteen hexadecimal digits."""
    return hashlib.blake2b(to_json(spec).encode(), digest_size=8).hexdigest()


def _pack(value: object) -> Any:
    if is_dataclass(value):
        packed = {field.name: _pack(getattr(value, field.name)) for field in fields(value)}
        return {"kind": type(value).__name__, **packed}
    if isinstance(value, tuple):
        return [_pack(item) for item in value]
    return value


def _unpack(value: Any) -> Any:
    if isinstance(value, dict):
        kind = _KINDS[value.pop("kind")]
        return kind(**{name: _unpack(item) for name, item in value.items()})
    if isinstance(value, list):
        return tuple(_unpack(item) for item in value)
    return value
