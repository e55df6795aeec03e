"""What becomes of arrays and frames on their way to the library."""

import ctypes
import ctypes.util
import datetime
import decimal
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import pandas as pd

from advgp import _data, _library

ROOT = Path(__file__).resolve().parent.parent.parent


def read_back(values):
    """A column as the library would read it, through pointer and stride."""
    kinds = {_library.FLOAT64: ctypes.c_double, _library.FLOAT32: ctypes.c_float, _library.INT64: ctypes.c_int64,
             _library.INT32: ctypes.c_int32, _library.BOOLEAN: ctypes.c_uint8, _library.TIME: ctypes.c_double,
             _library.TEXT: ctypes.c_char_p}
    start, stride, kind = values.array.ctypes.data, values.array.strides[0], kinds[values.type]
    return [kind.from_address(start + stride * row).value for row in range(len(values.array))]


class Columns(unittest.TestCase):
    def gives(self, array, kind, expected, copied=None):
        values = _data.values_of(array, "c")
        self.assertEqual(values.type, kind)
        got = read_back(values)
        self.assertEqual([None if isinstance(v, float) and v != v else v for v in got], expected)
        if copied is not None:
            self.assertEqual(not np.shares_memory(values.array, array), copied)

    def test_numbers_stay_where_they_are_with_any_stride(self):
        matrix = np.arange(12.0).reshape(4, 3)
        self.gives(matrix[:, 1], _library.FLOAT64, [1, 4, 7, 10], copied=False)
        self.gives(matrix[::-2, 2], _library.FLOAT64, [11, 5], copied=False)
        self.gives(np.asfortranarray(matrix)[:, 1], _library.FLOAT64, [1, 4, 7, 10], copied=False)
        self.gives(matrix.astype(np.float32)[:, 0], _library.FLOAT32, [0, 3, 6, 9])
        self.gives(np.arange(3), _library.INT64, [0, 1, 2], copied=False)
        self.gives(np.arange(3, dtype=np.int32), _library.INT32, [0, 1, 2], copied=False)
        self.gives(np.array([True, False]), _library.BOOLEAN, [1, 0], copied=False)

    def test_what_the_library_cannot_read_is_converted(self):
        self.gives(np.arange(3, dtype=">f8"), _library.FLOAT64, [0, 1, 2], copied=True)
        self.gives(np.arange(3, dtype=">i4"), _library.INT32, [0, 1, 2], copied=True)
        self.gives(np.arange(3, dtype=np.float16), _library.FLOAT32, [0, 1, 2])
        self.gives(np.arange(3, dtype=np.longdouble), _library.FLOAT64, [0, 1, 2])
        self.gives(np.arange(3, dtype=np.uint32), _library.INT64, [0, 1, 2])
        self.gives(np.array([-5, 7], dtype=np.int8), _library.INT32, [-5, 7])
        self.gives(np.array([1, 2**63], dtype=np.uint64), _library.FLOAT64, [1, 2.0**63])
        self.gives(np.broadcast_to(3.0, 4), _library.FLOAT64, [3, 3, 3, 3], copied=True)
        packed = np.zeros(2, dtype=np.dtype([("a", "u1"), ("b", "f8")]))  # b is not aligned
        packed["b"] = [5, 6]
        self.gives(packed["b"], _library.FLOAT64, [5, 6], copied=True)

    def test_dates_are_seconds(self):
        day = 1577836800.0  # 2020-01-01
        self.gives(np.array(["2020-01-01", "NaT"], dtype="M8[D]"), _library.TIME, [day, None])
        self.gives(np.array([1500, -500], dtype="m8[ms]"), _library.FLOAT64, [1.5, -0.5])
        zone = datetime.timezone(datetime.timedelta(hours=1))
        self.gives(np.array([datetime.date(2020, 1, 1), None, datetime.datetime(2020, 1, 1, 1, tzinfo=zone),
                             pd.Timestamp("2020-01-01 00:00:01"), pd.NaT, np.datetime64("2020-01-01")], dtype=object),
                   _library.TIME, [day, None, day, day + 1, None, day])

    def test_objects_are_what_they_hold(self):
        self.gives(np.array([1, None, 2.5, np.nan, pd.NA, decimal.Decimal("0.5")], dtype=object), _library.FLOAT64,
                   [1, None, 2.5, None, None, 0.5])
        self.gives(np.array([True, False], dtype=object), _library.BOOLEAN, [1, 0])
        self.gives(np.array([True, None], dtype=object), _library.FLOAT64, [1, None])
        self.gives(np.array(["a", None, np.nan, "é", b"b", "a"], dtype=object), _library.TEXT,
                   [b"a", None, None, "é".encode(), b"b", b"a"])
        self.gives(np.array([1, "a"], dtype=object), _library.TEXT, [b"1", b"a"])
        self.gives(np.array(["b", "a"]), _library.TEXT, [b"b", b"a"])
        self.gives(np.array([None, None], dtype=object), _library.FLOAT64, [None, None])
        with self.assertRaisesRegex(TypeError, "column 'c', row 1: argument must be a string or a real number"):
            _data.values_of(np.array([1, {}], dtype=object), "c")
        with self.assertRaisesRegex(ValueError, "Complex data"):
            _data.values_of(np.array([1, 2j], dtype=object), "c")
        with self.assertRaisesRegex(TypeError, "no table's"):
            _data.values_of(np.zeros(2, dtype="V4"), "c")

    def test_columns_of_pandas(self):
        day = 1577836800.0
        frame = pd.DataFrame({
            "category": pd.Categorical(["x", None, "y"]), "few": pd.Categorical([7, 8, 7]),
            "zone": pd.to_datetime(["2020-01-01 01:00", None, "2020-01-01"]).tz_localize("Europe/Berlin"),
            "month": pd.period_range("2020-01", periods=3, freq="M"), "whole": pd.array([1, None, 3], dtype="Int64"),
            "maybe": pd.array([True, None, False], dtype="boolean"), "sure": pd.array([True] * 3, dtype="boolean"),
            "text": pd.array(["q", None, "r"], dtype="string"), "sparse": pd.arrays.SparseArray([0.0, 0.0, 1.0])})
        expected = {
            "category": [b"x", None, b"y"], "few": [b"7", b"8", b"7"], "zone": [day, None, day - 3600],
            "month": [day, day + 31 * 86400.0, day + 60 * 86400.0], "whole": [1, None, 3], "maybe": [1, None, 0],
            "sure": [1, 1, 1], "text": [b"q", None, b"r"], "sparse": [0, 0, 1]}
        inputs = _data.inputs_of(frame)
        self.assertEqual(inputs.names, list(expected))
        for i, (name, values) in enumerate(expected.items()):
            got = read_back(inputs.column(i, name))
            self.assertEqual([None if isinstance(v, float) and v != v else v for v in got], values, name)
        numbers = pd.DataFrame(np.arange(6.0).reshape(3, 2), columns=["a", "b"])
        column = _data.inputs_of(numbers).column(1, "b").array
        self.assertTrue(np.shares_memory(column, numbers["b"].to_numpy()))

    def test_shapes_that_are_no_table(self):
        for bad in (np.zeros(3), np.float64(3), np.zeros((2, 2, 2))):
            with self.assertRaisesRegex(ValueError, "Reshape your data"):
                _data.inputs_of(bad)
        with self.assertRaisesRegex(ValueError, "equal lengths"):
            _data.inputs_of({"a": [1, 2], "b": [1]})
        with self.assertRaisesRegex(TypeError, "string names"):
            _data.inputs_of(pd.DataFrame({"a": [1], 2: [1]}))
        self.assertIsNone(_data.inputs_of(pd.DataFrame(np.zeros((2, 2)))).names)
        fields = np.zeros(2, dtype=[("a", "f8"), ("b", "i4")])
        self.assertEqual(_data.inputs_of(fields).names, ["a", "b"])

    def test_masked_values_are_missing(self):
        masked = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
        got = read_back(_data.inputs_of(masked).column(1, "c"))
        self.assertTrue(np.isnan(got[0]) and got[1] == 4)
        columns = _data.inputs_of({"a": np.ma.array([1, 2], mask=[True, False]),
                                   "t": np.ma.array(["u", "v"], mask=[False, True]),
                                   "d": np.ma.array(["2020-01-01"] * 2, dtype="M8[D]", mask=[True, False])})
        got = read_back(columns.column(0, "a"))
        self.assertTrue(np.isnan(got[0]) and got[1] == 2)
        self.assertEqual(list(read_back(columns.column(1, "t"))), [b"u", None])
        got = read_back(columns.column(2, "d"))
        self.assertTrue(np.isnan(got[0]) and got[1] == 1577836800)


class Finding(unittest.TestCase):
    """A library that is not there, or another machine's, is named, with the way out."""

    def refused(self, path):
        done = subprocess.run([sys.executable, "-c", "import advgp"], capture_output=True, text=True,
                              env={**os.environ, "ADVGP_LIBRARY": str(path)})
        self.assertEqual(done.returncode, 1)
        return done.stderr.splitlines()[-1]

    def test_what_is_not_the_library(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "libadvgp.so"
            self.assertIn(f"ImportError: ADVGP_LIBRARY names {file}, which cannot be loaded", self.refused(file))
            file.write_bytes(b"\x7fELF" + bytes(14) + (22).to_bytes(2, "little"))  # IBM's S/390
            self.assertIn(f"ImportError: {file} was built for Linux machine 22, and this is Linux", self.refused(file))
        self.assertIn("lacks advgp_", self.refused(ctypes.util.find_library("m")))


class Declarations(unittest.TestCase):
    """What ctypes was told is what the header says."""

    header = re.sub(r"//[^\n]*", "", (ROOT / "include" / "advgp.h").read_text())

    def test_every_function_and_the_number_of_its_arguments(self):
        declared = re.findall(r"ADVGP_API[^;]*?\badvgp_(\w+)\(([^;]*)\);", self.header)
        counts = {name: 0 if takes == "void" else takes.count(",") + 1 for name, takes in declared}
        self.assertEqual(counts, {name: len(takes) for name, (_, takes) in _library.PROTOTYPES.items()})

    def members(self, name):
        body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (name, name), self.header, re.S).group(1)
        body = re.sub(r"\(\*(\w+)\)\([^)]*\)", r"\1", body)
        return [word for line in body.split(";") for word in re.findall(r"(\w+)(?:\[\d+\])?\s*(?:,|$)", line.strip())]

    def test_every_member_of_a_struct(self):
        for name, kind in (("error", _library.Error), ("column", _library.Column), ("progress", _library.CProgress),
                           ("watch", _library.Watch)):
            self.assertEqual([field for field, _ in kind._fields_], self.members("advgp_" + name))

    def test_the_statuses(self):
        listed = re.findall(r"X\((\w+), \"", self.header)
        self.assertEqual(tuple(listed), _library.STATUS_NAMES)


if __name__ == "__main__":
    unittest.main()
