"""A frame with an Arrow C stream, as polars and pyarrow have one, made of numpy arrays and lists of texts by ctypes:
the tests need neither library. Columns: float64 arrays (NaN: missing) and lists of str or None."""

import ctypes

import numpy as np


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


_p = ctypes.c_void_p
ReleaseSchema = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
ReleaseArray = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
ReleaseStream = ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))
GetSchema = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))
GetNext = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))
GetError = ctypes.CFUNCTYPE(_p, ctypes.POINTER(Stream))
Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", _p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", _p),
    ("release", ReleaseSchema), ("private_data", _p)]
Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))), ("dictionary", _p), ("release", ReleaseArray),
    ("private_data", _p)]
Stream._fields_ = [
    ("get_schema", GetSchema), ("get_next", GetNext), ("get_last_error", GetError), ("release", ReleaseStream),
    ("private_data", _p)]

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [_p, ctypes.c_char_p, _p]


@ReleaseSchema
def _release_schema(schema):
    schema.contents.release = ReleaseSchema()


@ReleaseArray
def _release_array(array):
    array.contents.release = ReleaseArray()


@ReleaseStream
def _release_stream(stream):
    stream.contents.release = ReleaseStream()


class ArrowFrame:
    """Rows go out in batches of `batch`. What the structs point to lives as long as the frame."""

    def __init__(self, columns, batch=7):
        self.columns = columns
        self.batch = batch
        self.kept = []
        self.n_rows = len(next(iter(columns.values())))

    def _keep(self, thing):
        self.kept.append(thing)
        return thing

    def _children(self, kind, structs):
        return self._keep((ctypes.POINTER(kind) * len(structs))(*map(ctypes.pointer, structs)))

    def _schema(self):
        fields = [self._keep(Schema(b"g" if isinstance(column, np.ndarray) else b"u", name.encode(), None, 2,
                                    release=_release_schema)) for name, column in self.columns.items()]
        return Schema(b"+s", b"", None, 0, len(fields), self._children(Schema, fields), release=_release_schema)

    def _buffers(self, *arrays):
        addresses = [None if array is None else self._keep(np.ascontiguousarray(array)).ctypes.data for array in arrays]
        return self._keep((_p * len(addresses))(*addresses))

    def _column(self, values):
        if isinstance(values, np.ndarray):
            return self._keep(Array(len(values), 0, 0, 2, 0, self._buffers(None, values.astype(np.float64)),
                                    release=_release_array))
        bits = np.packbits([value is not None for value in values], bitorder="little")
        texts = [(value or "").encode() for value in values]
        offsets = np.cumsum([0, *map(len, texts)]).astype(np.int32)
        letters = np.frombuffer(b"".join(texts) or b"\0", dtype=np.uint8)
        nulls = sum(value is None for value in values)
        return self._keep(Array(len(values), nulls, 0, 3, 0, self._buffers(bits, offsets, letters),
                                release=_release_array))

    def _batch(self, first):
        last = min(first + self.batch, self.n_rows)
        columns = [self._column(column[first:last]) for column in self.columns.values()]
        return Array(last - first, 0, 0, 1, len(columns), self._buffers(None), self._children(Array, columns),
                     release=_release_array)

    def __arrow_c_stream__(self, requested_schema=None):
        row = iter(range(0, self.n_rows, self.batch))

        def get_schema(stream, out):
            out[0] = self._schema()
            return 0

        def get_next(stream, out):
            first = next(row, None)
            out[0] = Array() if first is None else self._batch(first)
            return 0

        stream = self._keep(Stream(GetSchema(get_schema), GetNext(get_next), GetError(lambda stream: None),
                                   _release_stream))
        return _new_capsule(ctypes.addressof(stream), b"arrow_array_stream", None)
