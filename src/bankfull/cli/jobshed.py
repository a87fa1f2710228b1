"""The part of a job file that says what to do when the windows do not fit: ``[shed]``."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from bankfull.cli.tables import Table, typed
from bankfull.errors import SpecError, closest
from bankfull.policies import resolve
from bankfull.policies.registry import find
from bankfull.spec import Compare, Comparisons, Keep, Shed, Tuples, span
from bankfull.spec.overload import Bytes, size

_OVERLOADS = ("block",)
_EXAMPLE = '[shed] with memory = "64 MB"'


def read_overload(top: Table) -> Shed | None:
    """Read ``overload = "block"``, which is the default, or the table ``[shed]``."""
    word = top.optional("overload", _word, None)
    if "shed" not in top:
        return None
    if word is not None:
        raise SpecError(f"{top.file}: it has both overload = {word!r} and [shed]: keep one of them")
    table = Table(top.file, "[shed]", top.read("shed", lambda value: value), _EXAMPLE)
    memory = table.optional("memory", _memory, None)
    keep = table.optional("keep", lambda value: _keep(table, value), Keep("gain"))
    one_buffer: str | tuple[tuple[str, float], ...] = "unified"
    split = table.optional("split", lambda value: _split(table, value), one_buffer)
    words = 'write one of "min", "max", "sum", "product", "average"'
    importance = table.optional("importance", lambda value: typed(value, str, words), "min")
    nothing: float | str = 0.0
    sample = table.optional("sample", _sample, nothing)
    seed = table.optional("seed", lambda value: typed(value, int, "e.g. seed = 7"), 0)
    recall = table.optional("recall", lambda value: _share(value, "e.g. recall = 0.95"), None)
    cpu = table.optional("cpu", _cpu, None)
    compare = table.optional("compare", lambda value: _compare(table, value), Compare())
    table.done()
    with table.told():
        return Shed(memory, keep, split, importance, sample, seed, recall, cpu, compare)


def _word(value: Any) -> str:
    if isinstance(value, dict):
        raise SpecError(f"a table is not a word: to shed, write {_EXAMPLE}")
    word = typed(value, str, f'write "block", or {_EXAMPLE}')
    if word not in _OVERLOADS:
        known = closest(word, _OVERLOADS)
        raise SpecError(f"{word!r} is not in this version: {known}; to shed, write {_EXAMPLE}")
    return word


def _memory(value: Any) -> Tuples | Bytes | None:
    if isinstance(value, dict):
        if list(value) != ["tuples"]:
            raise SpecError(f'{value!r} is no budget: write "64 MB" or {{tuples = 10000}}')
        return Tuples(value["tuples"])
    return size(typed(value, str, 'write "64 MB" or {tuples = 10000}'))


def _cpu(value: Any) -> float | Comparisons | None:
    if isinstance(value, dict):
        if list(value) != ["comparisons"]:
            raise SpecError(f"{value!r} is no budget: write 0.8 or {{comparisons = 1000000}}")
        return Comparisons(value["comparisons"])
    return _number(value, "e.g. cpu = 0.8, or {comparisons = 1000000}")


def _compare(table: Table, value: Any) -> Compare:
    """Read how comparisons are chosen: a word, or a table with the word and its parameters."""
    example = '{algorithm = "correlation", sample = 0.1}'
    if not isinstance(value, dict):
        return Compare(typed(value, str, f'write "auto", or {example}'))
    inner = Table(table.file, f"{table.where} compare", value, example)
    algorithm = inner.text("algorithm", f"name one, e.g. {example}")
    sample = inner.optional("sample", lambda one: _share(one, "e.g. sample = 0.1"), None)
    boost = inner.optional("boost", lambda one: _number(one, "e.g. boost = 1.2"), 1.2)
    period = inner.optional("period", lambda one: span(one, "period"), None)
    inner.done()
    with inner.told():
        return Compare(algorithm, sample, boost, period)


def _keep(table: Table, value: Any) -> Keep:
    """Read a policy: its name, or a table with its name and its parameters."""
    example = '{policy = "gdj", initial = 0.9}'
    if not isinstance(value, dict):
        keep = Keep(typed(value, str, f'name a policy, e.g. "gain", or write {example}'))
    else:
        inner = Table(table.file, f"{table.where} keep", value, example)
        name = inner.text("policy", f"name one, e.g. {example}")
        known = [field.name for field in fields(find(name))]
        given = [(key, _parameter(inner, key)) for key in known if key in inner]
        inner.done()
        keep = Keep(name, tuple(given))
    resolve(keep)  # complain now about what can be judged now
    return keep


def _parameter(inner: Table, key: str) -> Any:
    return inner.read(key, lambda value: tuple(value) if isinstance(value, list) else value)


def _split(table: Table, value: Any) -> str | tuple[tuple[str, float], ...]:
    if isinstance(value, str):
        return value
    example = "{orders = 0.3, payments = 0.7}"
    inner = Table(
        table.file, f"{table.where} split", value, f'"unified", "proportional", {example}'
    )
    shares = [
        (name, inner.read(name, lambda one: _number(one, f"e.g. {example}"))) for name in inner
    ]
    return tuple(sorted(shares))


def _sample(value: Any) -> float | str:
    return value if isinstance(value, str) else _number(value, 'e.g. sample = 0.3, or "unbiased"')


def _share(value: Any, advice: str) -> float | None:
    return _number(value, advice)


def _number(value: Any, advice: str) -> float:
    return float(value if type(value) is int else typed(value, float, advice))
