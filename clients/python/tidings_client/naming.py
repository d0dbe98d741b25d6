"""Names of other languages, as Python can have them."""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Collection

# What no member of an `enum.Enum` may be called.
ENUM = frozenset(["mro"])


def fitting(name: str, reserved: Collection[str] = (), beside: Collection[str] = ()) -> str:
    """The name, with underscores behind it if Python or what is reserved needs it; then it is none of
    those beside it either."""
    # As Python reads it.
    name = unicodedata.normalize("NFKC", name)
    if not _is_pythons(name) and name not in reserved:
        return name
    while _is_pythons(name) or name in reserved or name in beside:
        name += "_"
    return name


def _is_pythons(name: str) -> bool:
    """Is it a word of Python's, or what that keeps for itself, or private to a class (`__init__`, `__x`)?"""
    return keyword.iskeyword(name) or (name.startswith("__") and not name.endswith("___"))


def all_fitting(names: Collection[str], reserved: Collection[str] = ()) -> list[str]:
    """Names that stand beside each other."""
    return [fitting(name, reserved, names) for name in names]


def unmarked(name: str) -> str:
    """The second type of a name, `Pair#2`, is `Pair_2`."""
    return name.replace("#", "_")
