"""Trainings that are watched, stopped, interrupted, forked away from, or left behind by their process."""

import os
import signal
import subprocess
import sys
import threading
import unittest
import warnings

import numpy as np

import advgp
from advgp import ADVGPRegressor

# Longer than anybody waits, with looks at its held-out rows early: every 50 epochs.
LONG = {"method": "advgp", "inducing": 20, "components": 1, "cells": "none", "noise": "constant", "epochs": 2000,
        "options": {"patience": "inf", "batch": 100}}


def rows(n=2000):
    random = np.random.default_rng(0)
    X = random.uniform(-3, 3, (n, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * random.standard_normal(n)


def program(text, blocked="sklearn", **how):
    """Runs Python on a text that knows LONG and rows; what it printed and its exit code. scikit-learn, which takes a
    second to import, is not there unless it matters."""
    here = os.path.dirname(os.path.abspath(__file__))
    head = f"import sys; sys.path[:0] = [{here!r}]; sys.modules.update(dict.fromkeys({blocked.split()!r}))\n"
    head += "from test_training import *\n"
    return subprocess.run([sys.executable, "-c", head + text], capture_output=True, text=True, timeout=300 * int(os.environ.get("ADVGP_SLOW", 1)), **how)


class Watched(unittest.TestCase):
    def test_a_callback_sees_progress_and_may_end_it(self):
        seen = []

        def enough(progress):
            seen.append(progress)
            return len(seen) == 3

        X, y = rows()
        model = ADVGPRegressor(**LONG).fit(X, y, callback=enough)
        self.assertEqual(len(seen), 3)
        self.assertTrue(seen[0].epoch < seen[1].epoch < seen[2].epoch < seen[2].epochs)
        self.assertTrue(all(np.isfinite(progress.rmse) for progress in seen))
        self.assertGreater(model.score(X, y), 0)

    def test_an_exception_of_a_callback_arrives(self):
        def broken(progress):
            raise ZeroDivisionError("mine")

        X, y = rows()
        model = ADVGPRegressor(**LONG)
        with self.assertRaisesRegex(ZeroDivisionError, "mine"):
            model.fit(X, y, callback=broken)
        self.assertFalse(hasattr(model, "model_"))
        self.assertEqual(model.partial_model_.inputs, ["x0", "x1"])
        model.set_params(epochs=2).fit(X, y)
        self.assertFalse(hasattr(model, "partial_model_"))

    def test_verbose_tells(self):
        once = "X, y = rows(); ADVGPRegressor(**LONG, verbose=1).fit(X, y, callback=lambda progress: True)"
        done = program(once, blocked="sklearn tqdm tqdm.auto")
        self.assertEqual((done.stderr, done.returncode), ("", 0))
        self.assertRegex(done.stdout, r"advgp: .* s, epoch 50 of 2000, RMSE [0-9.]+, MNLP ")

    def test_verbose_has_no_figures_that_are_none(self):
        done = program("X, y = rows(); m = ADVGPRegressor(verbose=1).fit(X[:200], y[:200]); print(m.notes_)",
                       blocked="sklearn tqdm tqdm.auto")
        self.assertEqual((done.stderr, done.returncode), ("", 0))
        self.assertNotIn("nan", done.stdout)
        self.assertRegex(done.stdout, r"advgp: .* s, epoch \S+, bound \S+ a row")
        self.assertNotRegex(done.stdout.splitlines()[-1], "pilot|hyper-parameters|reading")

    def test_strange_rows_are_warned_of_once_a_call(self):
        generator = np.random.default_rng(1)
        x, kind = generator.uniform(size=60), np.array(["a", "b"] * 30)
        model = advgp.train({"x": x, "kind": kind, "y": x + (kind == "a")}, target="y")
        with self.assertWarns(advgp.DataWarning) as caught:
            model.predict({"x": np.array([0.5, 7.0, np.nan]), "kind": np.array(["a", "c", "b"])})
        self.assertEqual(caught.filename, __file__)
        for part in ("'x' is missing in 1 rows", "'x' is outside the range of training", "'kind' holds categories"):
            self.assertIn(part, str(caught.warning))
        counts = {"x": {"outside_range": 1, "unseen": 0, "missing": 1}, "kind": {"outside_range": 0, "unseen": 1, "missing": 0}}
        with self.assertWarns(advgp.DataWarning):
            told = model.evaluate({"x": np.array([0.5, 7.0, np.nan]), "kind": np.array(["a", "c", "b"]),
                                   "y": np.ones(3)})["columns"]
        self.assertEqual({column.pop("name"): column for column in told}, counts)

    def test_a_few_rows_are_warned_of_too(self):
        X, y = rows()
        model = ADVGPRegressor().fit(X[:100], y[:100])
        with self.assertWarnsRegex(advgp.DataWarning, "'x0' is outside the range of training, .* in 1 rows"):
            model.predict_interval(np.array([[1e3, X[0, 1]], [X[0, 0], X[0, 1]]]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.predict(X[:3])

    def test_verbose_with_tqdm(self):
        try:
            import tqdm  # noqa: F401
        except ImportError:
            self.skipTest("tqdm is not installed")
        done = program("X, y = rows(); ADVGPRegressor(**LONG, verbose=1).fit(X, y, callback=lambda progress: True)")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"50\S*/2000\S* .*RMSE [0-9.]+")

    def test_train_of_a_mapping_keeps_what_there_is(self):
        X, y = rows()

        def broken(progress):
            raise KeyError

        options = {**LONG, **LONG["options"]}
        del options["options"]
        with self.assertRaises(KeyError) as caught:
            advgp.train({"a": X[:, 0], "b": X[:, 1], "y": y}, target="y", callback=broken, **options)
        self.assertEqual(caught.exception.partial_model.inputs, ["a", "b"])


class Interrupted(unittest.TestCase):
    def interrupt_soon(self, progress):
        if not self.sent:
            self.sent = True
            os.kill(os.getpid(), signal.SIGINT)

    def test_ctrl_c_ends_a_fit_and_leaves_python_usable(self):
        X, y = rows()
        for _ in range(2):
            self.sent = False
            model = ADVGPRegressor(**LONG)
            with self.assertRaises(KeyboardInterrupt):
                model.fit(X, y, callback=self.interrupt_soon)
            self.assertTrue(np.isfinite(model.partial_model_.predict(X[:5])).all())
        self.assertGreater(ADVGPRegressor(method="linear").fit(X, y).score(X, y), 0.3)

    def test_ctrl_c_before_anything_was_seen(self):
        done = program("""
import _thread
threading.Timer(0.3, _thread.interrupt_main).start()
X, y = rows()
try:
    ADVGPRegressor(**LONG).fit(X, y)
except KeyboardInterrupt:
    print("usable", ADVGPRegressor(method="linear").fit(X, y).score(X, y) > 0.3)
""")
        self.assertEqual((done.stdout, done.returncode), ("usable True\n", 0), done.stderr)

    def test_ctrl_c_ends_a_long_prediction(self):
        done = program("""
import resource
X, y = rows(2000)
model = ADVGPRegressor(method="exact", noise="constant", epochs=None).fit(X, y)
many = np.tile(X, (300, 1))
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.5)
try:
    model.predict(many, return_std=True)
except KeyboardInterrupt:
    print("heard", resource.getrusage(resource.RUSAGE_SELF).ru_utime < 60, model.predict(X[:50]).shape)
""")
        self.assertEqual((done.stdout, done.returncode), ("heard True (50,)\n", 0), done.stderr)

    def test_the_process_of_an_interrupted_fit_dies_of_it(self):
        done = program("""
X, y = rows()
ADVGPRegressor(**LONG).fit(X, y, callback=lambda progress: os.kill(os.getpid(), signal.SIGINT))
""")
        self.assertIn("KeyboardInterrupt", done.stderr)
        self.assertEqual(done.returncode, -signal.SIGINT)


class LeftBehind(unittest.TestCase):
    def test_the_interpreter_ends_during_a_fit_in_a_thread(self):
        for daemon in ("True", "False"):
            done = program(f"""
X, y = rows()
begun = threading.Event()
epochs = 2000 if {daemon} else 50
thread = threading.Thread(target=lambda: ADVGPRegressor(**{{**LONG, "epochs": epochs}}).fit(
    X, y, callback=lambda progress: begun.set()), daemon={daemon})
thread.start()
begun.wait()
print("over")
""")
            self.assertEqual((done.stdout, done.stderr, done.returncode), ("over\n", "", 0))

    def test_sys_exit_in_a_callback(self):
        done = program("X, y = rows(); ADVGPRegressor(**LONG).fit(X, y, callback=lambda progress: sys.exit(7))")
        self.assertEqual((done.stderr, done.returncode), ("", 7))

    def test_a_model_answers_in_a_child_that_was_forked(self):
        done = program("""
X, y = rows(100)
model = ADVGPRegressor(method="exact", noise="constant").fit(X, y)
expected = model.predict(X)
for work in (lambda: np.array_equal(model.predict(X), expected),
             lambda: ADVGPRegressor(method="exact", noise="constant").fit(X, y).score(X, y) > 0.9):
    child = os.fork()
    if child == 0:
        sys.exit(0 if work() else 1)
    print(os.waitpid(child, 0)[1])
thread = threading.Thread(target=lambda: ADVGPRegressor(**LONG).fit(*rows(), callback=lambda progress: begun.set()),
                          daemon=True)
begun = threading.Event()
thread.start()
begun.wait()
child = os.fork()  # while the parent trains: the child has no such thread, and waits for none
if child == 0:
    sys.exit(0 if np.array_equal(model.predict(X), expected) else 1)
print(os.waitpid(child, 0)[1])
""")
        self.assertEqual((done.stdout, done.returncode), ("0\n0\n0\n", 0), done.stderr)


if __name__ == "__main__":
    unittest.main()
