"""Options of the command line from Python's values: True, 0.9, ["a", "b"], {"zip": "onehot"}."""

import os
from typing import Any, Mapping, Optional

import numpy as np

from ._library import call, encode, lib, made_by


def text_of(value: Any) -> str:
    """A value as one would type it behind its option. Items of a list are joined by commas; a mapping is a
    list of key=value."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return text_of([f"{key}={text_of(item)}" for key, item in value.items()])
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        return ",".join(text_of(item).replace(",", "\\,") for item in value)
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return str(value)


class Options:
    """The options of a verb. A value that is None is one that was not given."""

    def __init__(self, verb: str, values: Optional[Mapping[str, Any]] = None):
        self.handle = made_by("options_new", verb.encode())
        for key, value in (values or {}).items():
            if value is not None:
                call("options_set", self.handle, encode(key), encode(text_of(value)))

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            lib.advgp_options_free(self.handle)
            self.handle = 0
