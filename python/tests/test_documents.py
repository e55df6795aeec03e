"""What the documents show is what happens: every >>> line of them is run, and its output compared."""

import doctest
import os
import tempfile
import unittest
from pathlib import Path

from advgp import _regressor

ROOT = Path(__file__).resolve().parent.parent.parent


class Documents(unittest.TestCase):
    def runs(self, name, least):
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)  # examples write files
            try:
                result = doctest.testfile(str(ROOT / name), module_relative=False, encoding="utf-8")
            finally:
                os.chdir(before)
        self.assertGreaterEqual(result.attempted, least)
        self.assertEqual(result.failed, 0)

    def test_the_guide(self):
        self.runs("docs/python.md", 30)

    def test_the_tour_of_the_readme(self):
        self.runs("README.md", 5)

    def test_docstrings(self):
        result = doctest.testmod(_regressor)
        self.assertEqual(result.failed, 0)
        self.assertGreater(result.attempted, 3)


if __name__ == "__main__":
    unittest.main()
