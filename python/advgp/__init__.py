"""advgp: Gaussian process regression for tables of any size.

    from advgp import ADVGPRegressor

    model = ADVGPRegressor().fit(X, y)
    lo, hi = model.predict_interval(X_new, level=0.9)

For files that are larger than a frame should be: `advgp.train("flights.parquet", target="delay")`. Models are files
that the command line shares: `advgp.load("model.safetensors")`.
"""

import json
import os
from typing import Any, Callable, Optional, Union

from . import _training
from ._data import from_files, inputs_of, is_path
from ._library import AdvgpError, AdvgpMemoryError, AdvgpValueError, __version__, text_made_by
from ._model import DataWarning, Model
from ._options import Options
from ._regressor import ADVGPRegressor, with_workers
from ._training import Progress

__all__ = ["ADVGPRegressor", "AdvgpError", "AdvgpMemoryError", "AdvgpValueError", "DataWarning", "Model", "Progress",
           "__version__", "load", "show_config", "train"]


def load(path: Union[str, "os.PathLike[str]"], trust: bool = False) -> Model:
    """The model in a file, whoever wrote it: this package, the command line, or a C program.

    One that asks for more than a quarter of the memory or 10 seconds of arithmetic is refused, unless you `trust` it.
    """
    return Model.load(path, trust)


def show_config(mode: str = "stdout") -> Any:
    """What `advgp info` prints: versions, the core that OpenBLAS computes with and whether it was corrected, the
    vector instructions of advgp's own loops, transports. mode="dicts" returns it instead."""
    if mode == "dicts":
        return json.loads(text_made_by("config_json"))
    if mode != "stdout":
        raise ValueError(f"mode is 'stdout' or 'dicts', not {mode!r}")
    print(text_made_by("config_text"), end="")
    return None


def train(data: Any, target: Optional[str] = None, *, callback: Optional[Callable[[Progress], Any]] = None,
          verbose: int = 0, **options: Any) -> Model:
    """A model of the column `target` of a file (or folder, glob, several files), frame or mapping of columns.

    `options` are those of `advgp train`, with underscores: train("flights.parquet", target="delay", inducing=400,
    exclude=["tail_number"], log="run.jsonl"). Ctrl-C ends it soon; `partial_model` of the KeyboardInterrupt is the
    model so far, or None.
    """
    options["target"] = target
    if is_path(data):
        table = from_files(data)
    else:
        inputs = inputs_of(data)
        table = inputs.table(inputs.names or [f"c{i + 1}" for i in range(inputs.n_columns)])
        options = with_workers(options, inputs.n_rows)
    trained = _training.train(table, Options("train", options), callback, verbose)
    model = Model(trained.handle, trained.notes) if trained.handle else None
    if trained.failure is not None:
        trained.failure.partial_model = model  # type: ignore[attr-defined]
        raise trained.failure
    return model  # type: ignore[return-value]
