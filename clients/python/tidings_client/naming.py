"""Names of other languages, as Python can have them."""

from __future__ import annotations

import keyword
from collections.abc import Collection

# What no member of an `enum.Enum` may be called.
ENUM = frozenset(["mro"])


def fitting(name: str, reserved: Collection[str] = (), beside: Collection[str] = ()) -> str:
    """The name, with underscores behind it if Python or what is reserved needs it; then it is none of
    those beside it either."""
    if not keyword.iskeyword(name) and name not in reserved:
        return name
    while keyword.iskeyword(name) or name in reserved or name in beside:
        name += "_"
    return name


def all_fitting(names: Collection[str], reserved: Collection[str] = ()) -> list[str]:
    """Names that stand beside each other."""
    return [fitting(name, reserved, names) for name in names]


def unmarked(name: str) -> str:
    """The second type of a name, `Pair#2`, is `Pair_2`."""
    return name.replace("#", "_")
