"""Tables for the library from what Python programs hold: numpy arrays, pandas frames, anything with an Arrow stream,
mappings of columns, and files. Numbers stay where they are; what the library cannot read as it lies is converted."""

import ctypes
import datetime
import decimal
import numbers
import os
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence

import numpy as np

from . import _library as c
from ._library import call, encode, lib, made_by

# ---- one column -----------------------------------------------------------------------------------------------------


class Values(NamedTuple):
    """A column as the library reads it: its type, and an array of one dimension with any stride. `kept` is what the
    pointers in a column of text point to."""

    type: int
    array: np.ndarray
    kept: Any = None


def _lying_well(array: np.ndarray, dtype: Any) -> np.ndarray:
    """The same array where it is of that type, in this machine's byte order, aligned and not one value repeated by a
    stride of 0 (which means something else to the library); else a copy."""
    array = np.asarray(array, dtype=dtype)
    if not array.flags.aligned or (array.strides[0] == 0 and len(array) > 1):
        array = array.copy()
    return array


def _from_integers(array: np.ndarray) -> Values:
    signed, size = array.dtype.kind == "i", array.dtype.itemsize
    if size < 4 or (signed and size == 4):
        return Values(c.INT32, _lying_well(array, np.int32))
    if not signed and size == 8 and len(array) and int(array.max()) > np.iinfo(np.int64).max:
        return Values(c.FLOAT64, _lying_well(array, np.float64))
    return Values(c.INT64, _lying_well(array, np.int64))


def _from_times(array: np.ndarray) -> Values:
    """Seconds since 1970 of datetime64, or of timedelta64 as a number."""
    kind = array.dtype.kind
    ticks = array.astype(f"{kind}8[us]")
    seconds = ticks.view(np.int64) / 1e6
    seconds[np.isnat(ticks)] = np.nan
    return Values(c.TIME if kind == "M" else c.FLOAT64, seconds)


def _texts_of(values: Sequence[Optional[str]], codes: np.ndarray) -> Values:
    """The column of values[codes[row]]: a pointer a row, and each text once. A code of -1 is missing."""
    encoded = [None if value is None else encode(value) for value in values]
    pointers = (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None)
    addresses = np.frombuffer(pointers, dtype=np.uintp)
    return Values(c.TEXT, addresses[codes], (encoded, pointers))  # the last one is NULL, and so is code -1


def _from_texts(values: Iterable[Optional[str]]) -> Values:
    numbers_of: Dict[Optional[str], int] = {}
    codes = np.array([numbers_of.setdefault(value, len(numbers_of)) for value in values], dtype=np.intp)
    return _texts_of(list(numbers_of), codes)


# ---- one column of Python objects -----------------------------------------------------------------------------------

_MISSING = {"NoneType", "NAType", "NaTType"}  # None, pandas.NA, pandas.NaT: pandas itself need not be there


def _kind_of(kind: type) -> str:
    """What values of a Python type are in a table."""
    if kind.__name__ in _MISSING:
        return "missing"
    if issubclass(kind, (bool, np.bool_)):
        return "boolean"
    if issubclass(kind, (datetime.date, np.datetime64)):  # datetime and Timestamp are dates
        return "time"
    if issubclass(kind, complex) and not issubclass(kind, numbers.Real):
        return "complex"
    if issubclass(kind, (numbers.Real, decimal.Decimal)):
        return "number"
    if issubclass(kind, (str, bytes)):
        return "text"
    return "other"


def _is_nan(value: Any) -> bool:
    return value != value


def _text_or_none(value: Any) -> Optional[str]:
    if type(value).__name__ in _MISSING or _is_nan(value):
        return None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _seconds_of(value: Any) -> float:
    """Since 1970. A time that has a zone is taken in UTC, one that has none as it stands."""
    if type(value).__name__ in _MISSING or _is_nan(value):
        return np.nan
    if isinstance(value, np.datetime64):
        return float(value.astype("M8[us]").astype(np.int64)) / 1e6
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if value.tzinfo is None:
        value = value.replace(tzinfo=datetime.timezone.utc)
    return (value - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)).total_seconds()


def _number_of(value: Any) -> float:
    return np.nan if type(value).__name__ in _MISSING else float(value)


def _numbers_of(array: np.ndarray, name: str) -> np.ndarray:
    try:
        return np.fromiter(map(_number_of, array), np.float64, len(array))
    except OverflowError:
        raise ValueError(f"column {name!r} holds a whole number that is too large for dtype('float64')") from None


def _refuse(array: np.ndarray, kinds: Dict[type, str], name: str) -> None:
    for row, value in enumerate(array):
        if kinds[type(value)] == "complex":
            raise ValueError(f"Complex data not supported: column {name!r}, row {row}, has {value!r}")
        if kinds[type(value)] == "other":
            raise TypeError(f"column {name!r}, row {row}: argument must be a string or a real number, not "
                            f"{type(value).__name__!r}")


def _from_objects(array: np.ndarray, name: str) -> Values:
    kinds = {kind: _kind_of(kind) for kind in set(map(type, array))}
    found = set(kinds.values()) - {"missing"}
    if found & {"complex", "other"}:
        _refuse(array, kinds, name)
    if found == {"boolean"} and "missing" not in kinds.values():
        return Values(c.BOOLEAN, array.astype(bool))
    if found <= {"boolean", "number"}:
        return Values(c.FLOAT64, _numbers_of(array, name))
    nan_only = "number" not in found or all(map(_is_nan, (v for v in array if kinds[type(v)] == "number")))
    if nan_only and found - {"number"} == {"time"}:
        return Values(c.TIME, np.fromiter(map(_seconds_of, array), np.float64, len(array)))
    return _from_texts(map(_text_or_none, array))


def values_of(array: np.ndarray, name: str) -> Values:
    """A column from an array of one dimension and any type."""
    kind = array.dtype.kind
    if kind == "f":
        single = array.dtype.itemsize <= 4
        return Values(c.FLOAT32 if single else c.FLOAT64, _lying_well(array, np.float32 if single else np.float64))
    if kind in "iu":
        return _from_integers(array)
    if kind == "b":
        return Values(c.BOOLEAN, _lying_well(array, np.bool_))
    if kind in "Mm":
        return _from_times(array)
    if kind in "US":
        return _from_texts(map(_text_or_none, array.tolist()))
    if kind == "c":
        raise ValueError(f"Complex data not supported: column {name!r}")
    if kind == "O":
        return _from_objects(array, name)
    raise TypeError(f"column {name!r} is of type {array.dtype}, which is no table's")


# ---- one column of a pandas frame -----------------------------------------------------------------------------------


def _from_series(series: Any, name: str) -> Values:
    dtype, kind = series.dtype, type(series.dtype).__name__
    if isinstance(dtype, np.dtype):
        return values_of(series.to_numpy(), name)
    if kind == "CategoricalDtype":
        return _texts_of([_text_or_none(value) for value in series.cat.categories], series.cat.codes.to_numpy())
    if kind == "DatetimeTZDtype":
        return values_of(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), name)
    if kind == "PeriodDtype":
        return values_of(series.dt.to_timestamp().to_numpy(), name)
    if kind == "SparseDtype":
        return values_of(np.asarray(series), name)
    if dtype.kind in "fiu":
        return values_of(series.to_numpy(dtype=np.float64, na_value=np.nan), name)
    return values_of(series.to_numpy(dtype=object), name)


# ---- a table --------------------------------------------------------------------------------------------------------


class Table:
    """A table of the library. What its columns point to lives as long as it does."""

    def __init__(self, handle: int, n_rows: Optional[int] = None, kept: Any = None):
        self.handle = handle
        self.n_rows = n_rows  # None: in files, which nobody has read
        self.kept = [kept]

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            lib.advgp_data_free(self.handle)
            self.handle = 0

    def add(self, name: str, values: Values) -> None:
        column = c.Column(encode(name), values.type, values.array.ctypes.data, values.array.strides[0])
        call("data_add", self.handle, ctypes.byref(column))
        self.kept.append(values)


def from_files(paths: Any) -> Table:
    """A table in a file, a folder, a glob, or several of them together."""
    several = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else list(paths)
    encoded = [os.fsencode(path) for path in several]
    return Table(made_by("data_files", (ctypes.c_char_p * len(encoded))(*encoded), len(encoded)))


class Inputs:
    """What somebody gave as X: `names` of its columns (None where it has none), its size, and a way to the library."""

    names: Optional[List[str]] = None
    n_rows = 0
    n_columns = 0
    matrix: Optional[np.ndarray] = None  # where it is a matrix of numbers, this one

    def table(self, names: Sequence[str]) -> Table:
        """As a table of the library, its columns called so."""
        raise NotImplementedError


class _Columns(Inputs):
    """Columns that can be asked for one by one."""

    def __init__(self, n_rows: int, n_columns: int, names: Optional[List[str]], column: Any):
        self.n_rows, self.n_columns, self.names, self.column = n_rows, n_columns, names, column

    def table(self, names: Sequence[str]) -> Table:
        table = Table(made_by("data_new", self.n_rows), self.n_rows)
        for i, name in enumerate(names):
            table.add(name, self.column(i, name))
        return table


# ---- Arrow ----------------------------------------------------------------------------------------------------------


class _ArrowSchema(ctypes.Structure):
    pass


_ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(_ArrowSchema))),
    ("dictionary", ctypes.c_void_p), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_ArrowSchema))),
    ("private_data", ctypes.c_void_p)]


class _ArrowStream(ctypes.Structure):
    _fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_ArrowSchema)))]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _names_in(stream: int) -> List[str]:
    schema = _ArrowSchema()
    if ctypes.cast(stream, ctypes.POINTER(_ArrowStream)).contents.get_schema(stream, ctypes.byref(schema)):
        raise ValueError("the Arrow stream has no schema")
    try:
        if schema.format != b"+s":
            raise ValueError("the Arrow stream is one column without a name: give a frame, not a series")
        return [schema.children[i].contents.name.decode() for i in range(schema.n_children)]
    finally:
        schema.release(ctypes.byref(schema))


class _Arrow(Inputs):
    """A frame of polars, pyarrow, DuckDB, ...: the library reads its buffers where they are."""

    def __init__(self, exporter: Any):
        capsule = exporter.__arrow_c_stream__()  # which releases a stream that nobody has read
        stream = _capsule_pointer(capsule, b"arrow_array_stream")
        self.names = _names_in(stream)
        self.n_columns = len(self.names)
        self.read = Table(made_by("data_arrow", stream), kept=exporter)
        self.read.n_rows = self.n_rows = lib.advgp_data_rows(self.read.handle)

    def table(self, names: Sequence[str]) -> Table:
        if list(names) != self.names:
            raise ValueError(f"columns are wanted as {list(names)}, and this table has {self.names}")
        return self.read


# ---- what somebody gave ---------------------------------------------------------------------------------------------


def _frame_names(labels: Sequence[Any]) -> Optional[List[str]]:
    """Names where all labels are texts, as scikit-learn has it; none where none is."""
    texts = sum(isinstance(label, str) for label in labels)
    if texts and texts < len(labels):
        kinds = sorted({type(label).__qualname__ for label in labels})
        raise TypeError(f"Feature names are only supported if all input features have string names, but your input "
                        f"has {kinds} as feature name / column name types. If you want feature names to be stored and "
                        "validated, you must convert them all to strings, by using X.columns = X.columns.astype(str) "
                        "for example.")
    return [str(label) for label in labels] if texts else None


def _unmasked(column: Any) -> np.ndarray:
    """A column as an array: what is masked is missing."""
    array = np.asanyarray(column)
    if not isinstance(array, np.ma.MaskedArray):
        return np.asarray(array)
    if not np.ma.is_masked(array):
        return array.data
    if array.dtype.kind in "iufb":
        return array.astype(np.float64).filled(np.nan)
    if array.dtype.kind in "Mm":
        return array.filled(np.array("NaT", array.dtype))
    return np.where(np.ma.getmaskarray(array), None, array.data.astype(object))


def _from_mapping(columns: Mapping[str, Any]) -> Inputs:
    arrays = {str(name): _unmasked(column) for name, column in columns.items()}
    lengths = {array.shape for array in arrays.values()}
    if len(lengths) != 1 or len(lengths.copy().pop()) != 1:
        raise ValueError(f"columns of a table have one dimension and equal lengths, not {sorted(lengths)}")
    (n_rows,) = lengths.pop()
    listed = list(arrays.values())
    return _Columns(n_rows, len(listed), list(arrays), lambda i, name: values_of(listed[i], name))


def _from_array(X: Any) -> Inputs:
    array = np.asanyarray(X)
    if isinstance(array, np.ma.MaskedArray) and not array.dtype.names:
        array = array.astype(np.float64).filled(np.nan)
    if array.dtype.names and array.ndim == 1:
        return _from_mapping({name: array[name] for name in array.dtype.names})
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{array}\n")
    if array.ndim != 2:
        got = ("a scalar", "1D array")[array.ndim] if array.ndim < 2 else f"an array of shape {array.shape}"
        raise ValueError(f"Expected 2D array, got {got} instead. Reshape your data either using array.reshape(-1, 1) "
                         "if your data has a single feature or array.reshape(1, -1) if it contains a single sample.")
    array = np.asarray(array)
    inputs = _Columns(*array.shape, None, lambda i, name: values_of(array[:, i], name))
    inputs.matrix = array if array.dtype.kind in "fiub" else None
    return inputs


def inputs_of(X: Any) -> Inputs:
    """X of whatever kind. A frame keeps its columns as they are; everything else goes through numpy."""
    if type(X).__module__.startswith("scipy.sparse"):
        raise TypeError("A sparse matrix was passed, but dense data is required. Use X.toarray() to convert to a "
                        "dense numpy array.")
    if hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns"):
        return _Columns(*X.shape, _frame_names(list(X.columns)), lambda i, name: _from_series(X.iloc[:, i], name))
    if hasattr(X, "__arrow_c_stream__"):
        return _Arrow(X)
    if isinstance(X, Mapping):
        return _from_mapping(X)
    return _from_array(X)


def is_path(data: Any) -> bool:
    """A path, or several."""
    one = (str, bytes, os.PathLike)
    return isinstance(data, one) or (isinstance(data, (list, tuple)) and bool(data) and
                                     all(isinstance(item, one) for item in data))


class Rows(NamedTuple):
    """Inputs, and what their columns are called."""

    inputs: Inputs
    names: Sequence[str]


# ---- targets and weights --------------------------------------------------------------------------------------------


def _check_finite(array: np.ndarray, name: str, masked: np.ndarray) -> None:
    array = array[~masked]
    if np.isnan(array).any():
        raise ValueError(f"Input {name} contains NaN.")
    if not np.isfinite(array).all():
        raise ValueError(f"Input {name} contains infinity or a value too large for dtype('float64').")


def _check_length(array: np.ndarray, n_rows: int) -> None:
    if len(array) != n_rows:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{n_rows}, {len(array)}]")


def _mask_of(values: Any, shape: Sequence[int]) -> np.ndarray:
    """Which rows are masked."""
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else np.zeros(shape, bool)
    return mask.reshape(shape)


def _without(array: np.ndarray, masked: np.ndarray) -> np.ndarray:
    """NaN, which is missing, where a value is masked."""
    return np.where(masked, np.nan, array) if masked.any() else array


def _as_numbers(values: Any, name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{array}\n")
    if array.dtype.kind in "Mm":
        raise TypeError(f"{name} holds dates or times, and numbers are wanted")
    try:
        return array if array.dtype.kind in "f" else array.astype(np.float64)
    except OverflowError:
        raise ValueError(f"Input {name} contains infinity or a value too large for dtype('float64').") from None


def target_of(y: Any, n_rows: int, warn: Any) -> np.ndarray:
    """y as numbers in one dimension, NaN where it is masked. `warn` is told of a column vector."""
    array = _as_numbers(y, "y")
    if array.ndim == 2 and array.shape[1] == 1:
        warn("A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
             "(n_samples,), for example using ravel().")
        array = array.ravel()
    if array.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    masked = _mask_of(y, array.shape)
    _check_finite(array, "y", masked)
    _check_length(array, n_rows)
    return _without(array, masked)


def weights_of(sample_weight: Any, n_rows: int) -> np.ndarray:
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(n_rows, sample_weight)
    array = _as_numbers(sample_weight, "sample_weight")
    if array.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got shape {array.shape}")
    if len(array) != n_rows:
        raise ValueError(f"sample_weight.shape == {array.shape}, expected {(n_rows,)}!")
    masked = _mask_of(sample_weight, array.shape)
    _check_finite(array, "sample_weight", masked)
    return _without(array, masked)


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """That name, with underscores behind it until no column has it; capitals do not count."""
    lower = {name.lower() for name in taken}
    while wanted.lower() in lower:
        wanted += "_"
    return wanted
