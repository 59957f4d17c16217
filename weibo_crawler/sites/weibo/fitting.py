"""JSON made to fit the wire structs where the strict decoder refuses it: damage stays where it is.

What fits is kept as it is. What does not fit costs only itself: an odd scalar is left to the
parser, an odd item of a list is None, and an odd object is as if it were missing where it is
nothing ([], "", 0, false: PHP writes an empty object as []), else an empty object, in which the
parser then finds nothing legible. A list may be written as an object, too (`in_order`).
"""

import re
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Raw, Struct

_PLACE = re.compile("0|[1-9][0-9]{0,3}")
_HINTS: dict[type[Struct], dict[str, Any]] = {}


def fit(value: Any, kind: type[Struct]) -> Any:
    """`value`, a JSON object as a dict, as the struct `kind`. Errors: RecursionError."""
    fields = {}
    for name, hint in _hints(kind).items():
        if name in value:
            fitted = _fitted(value[name], _members(hint))
            if fitted is not _ODD:
                fields[name] = fitted
    return kind(**fields)


_ODD = object()


def _fitted(value: Any, members: tuple[Any, ...]) -> Any:
    if Raw in members:
        return Raw(msgspec.json.encode(value))
    if Any in members or (value is None and type(None) in members):
        return value
    for member in members:
        listed = value if isinstance(value, list) else in_order(value)
        if get_origin(member) is list and (listed or isinstance(value, list)):
            inner = _members(get_args(member)[0])
            items = (_fitted(item, inner) if isinstance(item, dict) else None for item in listed)
            return [None if item is _ODD else item for item in items]
        if isinstance(member, type) and issubclass(member, Struct):
            if isinstance(value, dict):
                return fit(value, member)
            return member() if value else _ODD
    return _ODD


def in_order(value: object) -> list[Any]:
    """The items of a list that PHP wrote as an object, whose keys are its places ("0", "2"), as it
    does once one is left out; [] for all else."""
    if not isinstance(value, dict) or not all(_PLACE.fullmatch(key) for key in value):
        return []
    return [value[key] for key in sorted(value, key=int)]


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if isinstance(hint, UnionType) else (hint,)


def _hints(kind: type[Struct]) -> dict[str, Any]:
    if kind not in _HINTS:
        hints = get_type_hints(kind)
        _HINTS[kind] = {name: hints[name] for name in kind.__struct_fields__}
    return _HINTS[kind]
