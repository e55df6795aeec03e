"""A trained model: loaded from a file or fresh from a training, never changed, shared by any number of threads."""

import ctypes
import html
import json
import logging
import os
import reprlib
import sys
import tempfile
import warnings
import weakref
from functools import cached_property
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _library as c
from ._apart import Apart
from ._data import Rows, Table, from_files, inputs_of, is_path
from ._library import call, lib, made_by, text_made_by
from ._options import Options


_FEW, _LONG = 16, 10000  # rows

_log = logging.getLogger("advgp")


class DataWarning(UserWarning):
    """Rows have what training had not: values outside its range, categories it has not seen, missing values. Or they
    are so far from it that they have no answer. One warning a call tells all of it, by column."""


# What the notes say of columns whose answers deserve a doubt.
_DOUBTS = ("outside the range of training", "outside the time of training", "not seen in training", "is missing in",
           "have missing values", "taken as missing", "held dates in training", "no column", "without an answer")


class _Reading(Apart):
    """A question about a whole table, which may be long: `function` of the library with a model, a table and options.
    What it makes is freed by `free`. What is done to the rows (values not seen, out of range, ...) goes to the log."""

    def __init__(self, function: str, free: Any, handle: int, table: Table, options: Options):
        super().__init__()
        self.question = function, handle, table, options
        self.made, self.free = 0, free
        self.doubts: List[str] = []
        self._note: Any = c.TEXT_CALLBACK(self.guarded(lambda ctx, text: self._on_note(text.decode("utf-8", "replace"))))
        self.watch: Any = c.Watch(None, self._note, stop=ctypes.pointer(self.stop))

    def _on_note(self, text: str) -> None:
        _log.info("%s", text)
        if any(doubt in text for doubt in _DOUBTS):
            self.doubts.append(text[len("note: "):] if text.startswith("note: ") else text)

    def work(self) -> None:
        function, handle, table, options = self.question
        try:
            self.made = made_by(function, handle, table.handle, options.handle, ctypes.byref(self.watch))
        except c.AdvgpError as failure:
            self.failure = self.failure or failure
        self._note = self.watch = None  # which know this object: the table would outlive its answer

    def answer(self) -> int:
        """What the library has made. Only a long question pays for a thread, where Ctrl-C can be heard."""
        table = self.question[2]
        if table.n_rows is None or table.n_rows > _LONG:
            self.run()
        else:
            self.work()
        if self.failure is not None:
            self.free(self.made)
            raise self.failure
        if self.doubts:
            _warn("; ".join(self.doubts))
        return self.made


class Model:
    """A trained model. `advgp.load` and `advgp.train` make one.

    Its files are those of the command line. Data for it is a pandas frame, a frame of polars, pyarrow or whatever else
    has an Arrow stream, a mapping of names to columns, an array whose columns are in the order of `inputs`, or the
    path of a file that `advgp predict` reads; columns are found by name, in any order.
    """

    def __init__(self, handle: int, notes: Sequence[str] = ()):
        self._handle = handle
        self.notes: List[str] = list(notes)
        """What its training wanted people to know."""
        self._spare: List[int] = []  # workspaces that nobody uses at the moment
        # At exit nothing is freed: a thread that is still at work would lose its model.
        weakref.finalize(self, _free, handle, self._spare).atexit = False

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"], trust: bool = False) -> "Model":
        """Reads a model file, whoever wrote it, and proves it by its golden rows.

        One that asks for more than a quarter of the memory or 10 seconds of arithmetic is refused, unless you `trust` it.
        """
        os.stat(path)  # FileNotFoundError says it best
        return cls(made_by("model_load_trusted" if trust else "model_load", os.fsencode(path)))

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the model file, whole or not at all. The command line reads it, too."""
        call("model_save", self._handle, os.fsencode(path))

    @classmethod
    def from_bytes(cls, content: bytes) -> "Model":
        """The model of `to_bytes`, or of any model file that was read."""
        return _from_bytes(bytes(content), ())

    # ---- what it is -------------------------------------------------------------------------------------------------

    @property
    def target(self) -> str:
        """The name of what it predicts."""
        return lib.advgp_model_target(self._handle).decode()

    @property
    def inputs(self) -> List[str]:
        """The columns that it wants, in its order."""
        return list(self.kinds)

    @cached_property
    def kinds(self) -> Dict[str, str]:
        """What each of these columns holds: "number", "boolean", "time" or "category"."""
        kinds, kind = {}, ctypes.c_int()
        for i in range(lib.advgp_model_inputs(self._handle)):
            name = lib.advgp_model_input(self._handle, i, ctypes.byref(kind)).decode()
            kinds[name] = c.KINDS[kind.value]
        return kinds

    def inspect(self) -> Dict[str, Any]:
        """What `advgp inspect --json` prints: columns, relevance, length-scales, figures, how it was trained."""
        return json.loads(text_made_by("model_inspect", self._handle))

    def describe(self) -> str:
        """What the model is, in at most 60 lines for people; `inspect()` has everything."""
        return text_made_by("model_describe", self._handle)

    def __repr__(self) -> str:
        return f"<advgp.Model of {self.target} from {', '.join(self.inputs)}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.describe())}</pre>"

    # ---- copies: there is nothing to copy, but another process needs the bytes -------------------------------------

    def __copy__(self) -> "Model":
        return self

    def __deepcopy__(self, memo: Any) -> "Model":
        return self

    def __reduce__(self) -> Any:
        return _from_bytes, (self.to_bytes(), self.notes)

    def to_bytes(self) -> bytes:
        """The bytes of its file."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.safetensors")
            self.save(path)
            with open(path, "rb") as file:
                return file.read()

    # ---- what it says -----------------------------------------------------------------------------------------------

    def _given(self, data: Any) -> Any:
        """Paths as they are, all else as rows with names. What can be read only once is read here."""
        if is_path(data) or isinstance(data, Rows):
            return data
        inputs = inputs_of(data)
        names = inputs.names or self.inputs
        if len(names) != inputs.n_columns:
            raise ValueError(f"X has {inputs.n_columns} columns, and the model wants {len(names)}: {', '.join(names)}")
        return Rows(inputs, names)

    def _table(self, data: Any) -> Table:
        given = self._given(data)
        return given.inputs.table(given.names) if isinstance(given, Rows) else from_files(given)

    def answer(self, data: Any, **options: Any) -> Dict[str, np.ndarray]:
        """All that `advgp predict` says of every row, by column: mean, sd_f, sd_y, lo and hi, or what its options ask
        for: `interval`, `quantiles`, `exceeds`, `draws`, `mean_only`. As in answer(frame, quantiles=[0.1, 0.9])."""
        table, asked = self._table(data), Options("predict", options)
        answer = _Reading("predict_data", lib.advgp_answer_free, self._handle, table, asked).answer()
        try:
            n_rows, columns = lib.advgp_answer_rows(answer), {}
            for i in range(lib.advgp_answer_columns(answer)):
                numbers = np.empty(n_rows)
                if n_rows:
                    ctypes.memmove(numbers.ctypes.data, lib.advgp_answer_values(answer, i), numbers.nbytes)
                columns[lib.advgp_answer_name(answer, i).decode()] = numbers
            return columns
        finally:
            lib.advgp_answer_free(answer)

    def predict(self, data: Any, return_std: bool = False) -> Union[np.ndarray, Tuple[np.ndarray, np.ndarray]]:
        """The mean of every row, and with `return_std` the standard deviation of an observation (not of the function
        alone: that is `sd_f` of `answer`)."""
        data = self._given(data)
        few = self._few(data)
        if few is None:
            answer = self.answer(data) if return_std else self.answer(data, mean_only=True)
            return (answer["mean"], answer["sd_y"]) if return_std else answer["mean"]
        mean, sd = np.empty((2, len(few)))
        if not return_std:
            self._compute("predict_mean", few, mean.ctypes.data)
            self._doubt(few, mean)
            return mean
        self._compute("predict_sd", few, mean.ctypes.data, None, sd.ctypes.data)
        self._doubt(few, mean, sd)
        return mean, sd

    def predict_interval(self, data: Any, level: float = 0.9) -> Tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the calibrated interval that holds an observation with probability `level`."""
        data, level = self._given(data), _level_of(level)
        few = self._few(data)
        if few is None:
            answer = self.answer(data, interval=level)
            return answer["lo"], answer["hi"]
        lo, hi = np.empty((2, len(few)))
        self._compute("predict_interval", few, level, None, lo.ctypes.data, hi.ctypes.data)
        self._doubt(few, lo, hi)
        return lo, hi

    def predict_quantiles(self, data: Any, quantiles: Union[float, Sequence[float]] = (0.1, 0.5, 0.9)) -> np.ndarray:
        """Quantiles of what a row may turn out to be: a column each, or one dimension for a single number."""
        levels, data = np.atleast_1d(_levels_of(quantiles)), self._given(data)
        few = self._few(data)
        if few is None:
            answer = self.answer(data, quantiles=levels)
            values = np.stack([column for name, column in answer.items() if name.startswith("q_")], axis=1)
        else:
            values = np.empty((len(few), len(levels)))
            self._compute("predict_quantiles", few, levels.ctypes.data, len(levels), values.ctypes.data)
            self._doubt(few, *values.T)
        return values[:, 0] if np.ndim(quantiles) == 0 else values

    # A server asks for a row at a time: the few rows of a matrix go to the library as they are, without a table of
    # named columns, which costs more than they do.

    def _few(self, given: Any) -> Optional[np.ndarray]:
        """A few rows of numbers in the order of `inputs`; None: not a matrix, too many, or not all are numbers."""
        if not isinstance(given, Rows):
            return None
        (inputs, names), kinds = given, self.kinds
        if inputs.matrix is None or not 0 < inputs.n_rows <= _FEW or set(kinds.values()) != {"number"}:
            return None
        order = [list(names).index(name) for name in kinds if name in names]
        if len(order) < len(kinds):  # let the table say which one is not there
            return None
        rows = np.array(inputs.matrix[:, order], dtype=np.float64, order="C")
        rows[~np.isfinite(rows)] = np.nan
        return rows

    @cached_property
    def _ranges(self) -> np.ndarray:
        """The least and the largest value of training, a column each; of a model that has not kept them, any."""
        ranges = [column.get("range") or (None, None) for column in self.inspect()["inputs"]]
        return np.array([[-np.inf if low is None else low, np.inf if high is None else high] for low, high in ranges]).T

    def _doubt(self, rows: np.ndarray, *answers: np.ndarray) -> None:
        """The warning of a table, for rows that are none and what was said of them."""
        low, high = self._ranges
        outside, missing = ((rows < low) | (rows > high)).sum(0), np.isnan(rows).sum(0)
        lost = int(np.isnan(answers).any(axis=0).sum())
        doubts = [f"column '{name}' is missing in {n} rows" for name, n in zip(self.inputs, missing) if n]
        doubts += [f"column '{name}' is outside the range of training, {a:.6g} to {b:.6g}, in {n} rows"
                   for name, n, a, b in zip(self.inputs, outside, low, high) if n]
        if lost:
            doubts.append(f"{lost} row{' is' if lost == 1 else 's are'} without an answer, or with a part of one: "
                          f"{'its' if lost == 1 else 'their'} inputs are so far from those of training that double "
                          "precision cannot hold it")
        if doubts:
            _warn("; ".join(doubts))

    def _compute(self, function: str, rows: np.ndarray, *further: Any) -> None:
        """With a workspace that is this thread's for the while."""
        try:
            workspace = self._spare.pop()
        except IndexError:
            workspace = made_by("workspace_new", self._handle)
        try:
            call(function, self._handle, workspace, rows.ctypes.data, len(rows), 0, *further)
        finally:
            self._spare.append(workspace)

    def evaluate(self, data: Any, **options: Any) -> Dict[str, Any]:
        """What `advgp evaluate --json` prints of rows whose target is known: errors, likelihood, coverage."""
        asked, table = Options("evaluate", options), self._table(data)
        return json.loads(c.text_taken(_Reading("evaluate", lib.advgp_text_free, self._handle, table, asked).answer()))

    def explain(self, data: Any, **options: Any) -> List[Dict[str, Any]]:
        """Why the model says what it says of each row, as `advgp explain --json` has it (docs/explain.md): what the
        parts add to the mean, how far the row is from the training data, the inducing inputs nearest to it. `rows` and
        `near` are its options; without `rows` all rows of what lies in memory, 10,000 at most, or the first of a
        file."""
        asked, table = Options("explain", options), self._table(data)
        return json.loads(c.text_taken(_Reading("explain", lib.advgp_text_free, self._handle, table, asked).answer()))


def _level_of(level: Any) -> float:
    """The level of an interval, if it is one: the library's rule, for files and frames as for a few rows."""
    try:
        if not isinstance(level, str) and 0.001 <= float(level) <= 0.999:
            return float(level)
        raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise c.AdvgpValueError(f"level: a number from 0.001 to 0.999 is wanted, not {reprlib.repr(level)}") from None


def _levels_of(quantiles: Any) -> np.ndarray:
    try:
        return np.asarray(quantiles, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise c.AdvgpValueError(
            f"quantiles: numbers from 0.0001 to 0.9999 are wanted, not {reprlib.repr(quantiles)}") from None


def _warn(text: str) -> None:
    """As from whoever called this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "advgp":
        frame, level = frame.f_back, level + 1
    warnings.warn(text, DataWarning, stacklevel=level)


def _free(handle: int, workspaces: List[int]) -> None:
    for workspace in workspaces:
        lib.advgp_workspace_free(workspace)
    lib.advgp_model_free(handle)


def _from_bytes(content: bytes, notes: Sequence[str]) -> Model:
    return Model(made_by("model_load_memory", content, len(content)), notes)
