"""The estimator and the model: what they answer, what they refuse, how they travel."""

import copy
import logging
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import advgp
from advgp import ADVGPRegressor
from arrow_frame import ArrowFrame
from test_training import program

QUICK = {"method": "exact", "noise": "constant", "options": {"trend": "linear"}}


def wave(n=80, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(-3, 3, (n, 2))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * random.standard_normal(n)


def people(n=120, seed=1):
    """A frame as people have them: text, categories, dates, booleans, missing values."""
    random = np.random.default_rng(seed)
    city = random.choice(["Ulm", "Köln", "Bonn"], n)
    size = random.uniform(20, 120, n)
    size[::9] = np.nan
    when = pd.Timestamp("2021-01-01") + pd.to_timedelta(random.integers(0, 900, n), unit="D")
    garden = random.random(n) < 0.5
    rent = 300 + 8 * np.nan_to_num(size, nan=70) + 100 * (city == "Köln") + 50 * garden + random.normal(0, 10, n)
    frame = pd.DataFrame({"city": city, "size": size, "when": when, "garden": garden,
                          "floor": pd.Categorical(random.choice(["ground", "first"], n))})
    return frame, rent


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.X, cls.y = wave()
        cls.model = ADVGPRegressor(**QUICK).fit(cls.X, cls.y)

    def test_means_deviations_intervals_and_quantiles_agree(self):
        mean, sd = self.model.predict(self.X, return_std=True)
        np.testing.assert_allclose(self.model.predict(self.X), mean, rtol=1e-12, atol=1e-12)
        self.assertLess(np.sqrt(np.mean((mean - self.y) ** 2)), 0.15)
        self.assertGreater(self.model.score(self.X, self.y), 0.95)
        self.assertTrue((sd > 0.03).all() and (sd < 0.5).all())
        lo, hi = self.model.predict_interval(self.X, level=0.8)
        wide = self.model.predict_interval(self.X, level=0.95)
        self.assertTrue((wide[0] < lo).all() and (lo < hi).all() and (hi < wide[1]).all())
        quantiles = self.model.predict_quantiles(self.X, [0.1, 0.5, 0.9])
        self.assertEqual(quantiles.shape, (80, 3))
        self.assertTrue((np.diff(quantiles, axis=1) > 0).all())
        np.testing.assert_array_equal(self.model.predict_quantiles(self.X, 0.5), quantiles[:, 1])

    def test_everything_that_the_command_line_says(self):
        answer = self.model.model_.answer(self.X[:5], interval=[0.5, 0.9], exceeds=0.2, draws=2)
        self.assertEqual(list(answer), ["mean", "sd_f", "sd_y", "lo_0.5", "hi_0.5", "lo_0.9", "hi_0.9", "p_exceeds",
                                        "draw_1", "draw_2"])
        self.assertTrue((answer["sd_f"] < answer["sd_y"]).all())
        figures = self.model.model_.evaluate({"x0": self.X[:, 0], "x1": self.X[:, 1], "y": self.y})
        self.assertIn("rmse", figures)

    def test_answers_of_a_logarithm_within_bounds_agree(self):
        y = np.clip(np.exp(self.y) - 0.6, 0, 3)
        model = ADVGPRegressor(method="linear", options={"log-target": True, "bounds": "0:3"}).fit(self.X, y)
        levels = [0.05, 0.25, 0.5, 0.75, 0.95]
        quantiles = model.predict_quantiles(self.X, levels)
        self.assertTrue((np.diff(quantiles, axis=1) >= 0).all() and quantiles.min() >= 0 and quantiles.max() <= 3)
        np.testing.assert_array_equal(np.stack(model.predict_interval(self.X, 0.9), axis=1), quantiles[:, [0, 4]])
        np.testing.assert_array_equal(np.stack(model.predict_interval(self.X, 0.5), axis=1), quantiles[:, [1, 3]])
        answer = model.model_.answer(self.X, interval=[0.5, 0.9], exceeds=[0, 1], draws=200)
        for threshold, above in ((0, answer["p_exceeds_0"]), (1, answer["p_exceeds_1"])):
            for u, q in zip(levels, quantiles.T):
                self.assertTrue((above[q > threshold] >= 1 - u - 1e-6).all())
                self.assertTrue((above[q < threshold] <= 1 - u + 1e-6).all())
            draws = np.stack([answer[f"draw_{k}"] for k in range(1, 201)])
            self.assertLess(abs((draws > threshold).mean() - above.mean()), 4 * 0.5 / np.sqrt(draws.size))
        figures = model.model_.evaluate({"x0": self.X[:, 0], "x1": self.X[:, 1], "y": y, "kind": self.X[:, 0] > 0},
                                        by="kind")
        self.assertEqual(sum(value["rows"] for value in figures["by"]["values"]), 80)
        self.assertTrue({"mnlp", "mnlp_calibrated", "crps", "winkler"} <= set(figures))

    def test_rows_in_any_layout_give_the_same_numbers(self):
        expected = self.model.predict(self.X)
        tall = np.zeros((160, 5))
        tall[::2, 1::2] = self.X
        for same in (np.asfortranarray(self.X), tall[::2, 1::2], self.X.astype(">f8"), self.X.astype(object),
                     self.X.tolist(), pd.DataFrame(self.X), np.ma.array(self.X), self.X[::-1][::-1]):
            np.testing.assert_array_equal(self.model.predict(same), expected)
        single = self.X.astype(np.float32)
        np.testing.assert_array_equal(self.model.predict(single), self.model.predict(single.astype(np.float64)))

    def test_a_few_rows_are_answered_as_many_are(self):
        for ask in (lambda X: self.model.predict(X), lambda X: np.stack(self.model.predict(X, return_std=True), axis=1),
                    lambda X: np.stack(self.model.predict_interval(X, 0.8), axis=1),
                    lambda X: self.model.predict_quantiles(X, [0.2, 0.7])):
            many = ask(np.where(self.X > 2.9, np.nan, self.X))
            for rows in (self.X[:1], self.X[3:16], np.asfortranarray(self.X[:5])):
                X = np.where(rows > 2.9, np.inf, rows)
                first = np.flatnonzero((self.X == rows[0]).all(axis=1))[0]
                np.testing.assert_allclose(ask(X), many[first:first + len(rows)], rtol=1e-9)
        dropped = ADVGPRegressor(method="linear").fit(np.c_[np.ones(80), self.X], self.y)
        self.assertEqual(dropped.model_.inputs, ["x1", "x2"])
        np.testing.assert_allclose(dropped.predict(np.c_[[7.0], self.X[:1]]),
                                   dropped.predict(np.c_[np.ones(80), self.X])[:1], rtol=1e-9)

    def test_equal_seeds_give_equal_bits(self):
        again = ADVGPRegressor(**QUICK, random_state=0).fit(self.X, self.y)
        np.testing.assert_array_equal(again.predict(self.X), self.model.predict(self.X))
        generator = ADVGPRegressor(**QUICK, random_state=np.random.RandomState(3)).fit(self.X, self.y)
        self.assertLess(np.abs(generator.predict(self.X) - self.model.predict(self.X)).max(), 0.1)

    def test_missing_values_are_predicted_and_infinities_are_missing(self):
        X = self.X[:3].copy()
        X[0, 0], X[1, 0] = np.nan, np.inf
        mean = self.model.predict(X)
        self.assertTrue(np.isfinite(mean).all())
        X[1, 0] = np.nan
        np.testing.assert_array_equal(self.model.predict(X), mean)

    def test_a_million_rows(self):
        quick = ADVGPRegressor(method="linear").fit(self.X, self.y)
        X = np.tile(self.X, (12500, 1))
        mean = quick.predict(X)
        self.assertEqual(mean.shape, (1000000,))
        np.testing.assert_allclose(mean[-80:], quick.predict(self.X), rtol=1e-12)

    def test_two_models_at_once(self):
        other = ADVGPRegressor(**QUICK).fit(self.X, -2 * self.y)
        expected = self.model.predict(self.X), other.predict(self.X)
        wrong = []

        def ask(model, answer):
            for _ in range(20):
                if not np.array_equal(model.predict(self.X), answer):
                    wrong.append(model)

        threads = [threading.Thread(target=ask, args=pair)
                   for pair in zip((self.model, other) * 2, expected * 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_numpy_keeps_its_threads(self):
        done = program("""
get = advgp._library.lib.openblas_get_num_threads
X, y = rows(100)
before = get()
model = ADVGPRegressor(method="linear").fit(X, y)
print(before, get(), model.predict(X).shape, get())
""", env={**os.environ, "OPENBLAS_NUM_THREADS": "2"})
        self.assertEqual(done.stdout, "2 2 (100,) 2\n", done.stderr)

    def test_rows_are_explained(self):
        X = np.arange(60.0).reshape(-1, 1)
        model = ADVGPRegressor(method="linear").fit(X, X[:, 0])
        rows = model.explain(X[:3])
        self.assertEqual([row["row"] for row in rows], [1, 2, 3])
        np.testing.assert_allclose([row["mean"] for row in rows], model.predict(X[:3]), atol=1e-6)
        self.assertEqual([row["row"] for row in model.explain(X, rows="7-8")], [7, 8])

    def test_the_core_of_openblas(self):
        if "avx2" not in advgp.show_config(mode="dicts")["cpu"]:
            self.skipTest("a CPU without AVX2 has nothing to correct")
        ask = "import os, advgp; print(advgp.show_config('dicts')['core'], 'OPENBLAS_CORETYPE' in os.environ)"
        environment = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "ADVGP_CORE_WAS")}
        environment["ADVGP_TEST_CORE"] = "Prescott"  # as if OpenBLAS had taken the CPU for one

        def said(program, **more):
            return subprocess.run([sys.executable, "-c", program], env={**environment, **more}, check=True, text=True,
                                  capture_output=True).stdout

        self.assertRegex(said(ask), "'corrected_from': 'Prescott', 'better': None.* False")
        self.assertRegex(said("import numpy; " + ask), "'name': 'Prescott', 'corrected_from': None, 'better': '")
        self.assertRegex(said(ask, OPENBLAS_CORETYPE="Nehalem"), "'name': 'Nehalem'.*'by_user': True")
        fit = ("import numpy, advgp; "
               "[print(advgp.train({'x': range(60), 'y': range(60)}, 'y', method='linear').notes) for _ in range(2)]")
        first, second = said(fit).splitlines()
        self.assertIn("OpenBLAS takes this CPU for a Prescott", first)
        self.assertEqual(second, "[]")  # once in a process

    def test_notebooks(self):
        self.assertIn("x0", self.model._repr_html_())
        self.assertIn("ADVGPRegressor", ADVGPRegressor()._repr_html_())
        strange = ADVGPRegressor(method="linear").fit(pd.DataFrame(self.X, columns=["<script>", "b"]), self.y)
        self.assertNotIn("<script>", strange._repr_html_())
        self.assertIn("&lt;script&gt;", strange._repr_html_())


class Travels(unittest.TestCase):
    def test_pickle_copy_and_files(self):
        frame, rent = people()
        model = ADVGPRegressor(**QUICK, random_state=4).fit(frame, rent)
        expected = model.predict(frame)
        there_and_back = pickle.loads(pickle.dumps(model))
        self.assertEqual(there_and_back.get_params(), model.get_params())
        self.assertEqual(there_and_back.notes_, model.notes_)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rent.safetensors"
            model.save(path)
            loaded, plain = ADVGPRegressor.load(path), advgp.load(str(path))
        self.assertEqual(list(loaded.feature_names_in_), list(frame.columns))
        for same in (there_and_back, copy.deepcopy(model), copy.copy(model), loaded, plain):
            np.testing.assert_array_equal(same.predict(frame), expected)
        self.assertEqual(plain.target, "y")
        self.assertEqual(plain.kinds, {"city": "category", "size": "number", "when": "time", "garden": "boolean",
                                       "floor": "category"})
        np.testing.assert_array_equal(plain.predict(frame[frame.columns[::-1]]), expected)
        self.assertEqual(plain.inspect()["method"], "exact")
        self.assertIn("city", plain.describe())

    def test_a_description_fits_a_screen(self):
        rng = np.random.default_rng(5)
        X = rng.normal(size=(6000, 70))
        y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=6000)
        model = ADVGPRegressor(method="advgp", inducing=20, components=1, epochs=5).fit(X, y).model_
        self.assertLessEqual(len(model.describe().splitlines()), 60)
        self.assertIn("less relevant", model.describe())

    def test_a_file_of_a_matrix_has_no_names(self):
        X, y = wave(40)
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("error")
            ADVGPRegressor(method="linear").fit(X, y).save(os.path.join(folder, "m.safetensors"))
            loaded = ADVGPRegressor.load(os.path.join(folder, "m.safetensors"))
            self.assertEqual((loaded.predict(X).shape, loaded.n_features_in_), ((40,), 2))
        self.assertFalse(hasattr(loaded, "feature_names_in_"))

    def test_without_scikit_learn(self):
        done = program("""
from advgp import _scikit
model = ADVGPRegressor(method="linear", workers=None)
print(model.get_params()["method"], model.set_params(method="exact", noise="constant"), _scikit.BaseEstimator.__name__,
      _scikit.BaseEstimator.__module__)
print(model.fit(*rows(200)).score(*rows(200)) > 0.9, sorted(sys.modules["advgp"].__all__)[0])
for wrong in (lambda: model.set_params(metod=1), lambda: ADVGPRegressor().predict([[1]])):
    try:
        wrong()
    except ValueError as refused:
        print(type(refused).__name__)
""")
        self.assertEqual(done.stdout, "linear ADVGPRegressor(noise='constant', method='exact') BaseEstimator "
                         "advgp._scikit\nTrue ADVGPRegressor\nValueError\nNotFittedError\n", done.stderr)

    def test_files_that_are_no_models(self):
        with self.assertRaises(FileNotFoundError):
            advgp.load("no such file")
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"something else")
            file.flush()
            with self.assertRaises(advgp.AdvgpValueError) as caught:
                advgp.load(file.name)
        self.assertEqual(caught.exception.status, "EFILE")
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((str(again), again.status), (str(caught.exception), "EFILE"))

    def test_what_is_not_fitted(self):
        for method in (lambda model: model.predict([[0]]), lambda model: model.save("nowhere")):
            with self.assertRaises(advgp._scikit.NotFittedError):
                method(ADVGPRegressor())


class Frames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.frame, cls.rent = people()
        cls.model = ADVGPRegressor(**QUICK).fit(cls.frame, pd.Series(cls.rent, name="rent"))

    def test_as_the_command_line_has_them(self):
        self.assertEqual(self.model.model_.target, "rent")
        self.assertGreater(self.model.score(self.frame, self.rent), 0.9)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "people.csv")
            self.frame.assign(rent=self.rent).to_csv(path, index=False)
            model = advgp.train(path, target="rent", method="exact", noise="constant", trend="linear")
            self.assertEqual(model.kinds, self.model.model_.kinds)
            np.testing.assert_allclose(model.predict(path), self.model.predict(self.frame), rtol=1e-6)
            by_frame = advgp.train(self.frame.assign(rent=self.rent), target="rent", method="exact", noise="constant")
            np.testing.assert_array_equal(by_frame.predict(self.frame), self.model.predict(self.frame))

    def test_missing_and_unseen_values(self):
        frame = self.frame.head(4).copy()
        frame["city"] = ["Rom", None, "Ulm", "Ulm"]
        frame["when"] = pd.NaT
        frame["garden"] = pd.array([None, True, False, True], dtype="boolean")
        frame["floor"] = None
        with self.assertLogs("advgp", logging.INFO):
            self.assertTrue(np.isfinite(self.model.predict(frame)).all())

    def test_arrow_streams(self):
        columns = {"city": [str(city) for city in self.frame["city"]], "size": self.frame["size"].to_numpy()}
        frame = pd.DataFrame(columns)
        stream = ArrowFrame(columns)
        from_arrow, from_pandas = (ADVGPRegressor(**QUICK).fit(X, self.rent) for X in (stream, frame))
        self.assertEqual(list(from_arrow.feature_names_in_), ["city", "size"])
        np.testing.assert_array_equal(from_arrow.predict(stream), from_pandas.predict(frame))
        np.testing.assert_array_equal(from_arrow.model_.predict(ArrowFrame(dict(reversed(columns.items())))),
                                      from_pandas.predict(frame))
        with self.assertRaisesRegex(ValueError, "should match"):
            from_arrow.predict(ArrowFrame(dict(reversed(columns.items()))))

    def test_dates_of_files_frames_and_streams_are_the_same(self):
        rng = np.random.default_rng(4)
        when = pd.Timestamp("2010-12-20") + pd.to_timedelta(rng.integers(0, 700, 400), "D")
        cost = np.asarray((when - when.min()).days / 70 + np.cos(2 * np.pi * when.dayofyear / 365))
        options = {"method": "exact", "noise": "constant", "trend": "linear"}
        texts = pd.DataFrame({"when": when.strftime("%d/%m/%y"), "cost": cost})
        stream = ArrowFrame({"when": list(texts["when"]), "cost": cost})
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("error")
            path = os.path.join(folder, "costs.csv")
            texts.to_csv(path, index=False)
            models = [advgp.train(table, target="cost", **options) for table in (path, texts, stream)]
            for model in models:
                self.assertTrue(any("years of two digits" in note for note in model.notes), model.notes)
                for table in (path, texts, stream):
                    np.testing.assert_array_equal(model.predict(table), models[0].predict(path))
            self.assertLess(models[0].evaluate(path)["rmse"], 0.1)
            dates = texts.assign(when=when)  # what was a date in training may come as text
            model = advgp.train(dates, target="cost", **options)
            warnings.simplefilter("always")
            for table in (path, texts, stream):
                with self.assertWarnsRegex(advgp.DataWarning, "'when' held dates in training .* read day first$"):
                    np.testing.assert_array_equal(model.predict(table), model.predict(dates))
            with self.assertWarnsRegex(advgp.DataWarning, "holds 1 values that are no dates, as in 'soon'.*missing"):
                models[0].predict(texts.assign(when=["soon"] + list(texts["when"][1:])))

    def test_targets_and_weights_find_names(self):
        X, y = wave(40)
        frame = pd.DataFrame({"Y": X[:, 0], "weight": X[:, 1]})
        model = ADVGPRegressor(**QUICK).fit(frame, y, sample_weight=np.ones(40))
        self.assertEqual(model.model_.inputs, ["Y", "weight"])
        self.assertEqual(model.model_.target, "y_")


class Refusals(unittest.TestCase):
    def refuses(self, words, X, y, kind=ValueError, **how):
        with self.assertRaisesRegex(kind, words):
            ADVGPRegressor(**QUICK).fit(X, y, **how)

    def test_wrong_tables(self):
        X, y = wave(20)
        self.refuses("inconsistent numbers of samples", X, y[:-1])
        self.refuses("Reshape", y, y)
        self.refuses("1d array", X, X)
        self.refuses("minimum of 10", X[:5], y[:5])
        self.refuses("0 feature", X[:, :0], y)
        self.refuses("y contains NaN", X, np.where(y == y[3], np.nan, y))
        self.refuses("could not convert string", X, ["a"] * 20)
        self.refuses("dates", X, np.full(20, "2020-01-01", dtype="M8[D]"), kind=TypeError)
        self.refuses("sample_weight.shape", X, y, sample_weight=[1.0])
        self.refuses("1D array or scalar", X, y, sample_weight=np.ones((20, 2)))
        self.refuses("weight", X, y, sample_weight=-np.ones(20))
        self.refuses("nothing to learn", X, np.ones(20))

    def test_numbers_that_are_none_get_a_sentence(self):
        X = np.arange(60.0).reshape(-1, 1)
        model = ADVGPRegressor(method="linear").fit(X, X[:, 0])
        for rows in (X[:2], X):  # a few go another way
            for level in ("0.9", 10**400, None, "x", 1, 0, float("nan"), 0.9999999999999999):
                with self.assertRaisesRegex(advgp.AdvgpValueError, "level: a number from"):
                    model.predict_interval(rows, level=level)
            with self.assertRaisesRegex(advgp.AdvgpValueError, "quantiles: numbers"):
                model.predict_quantiles(rows, [10**400])
            with self.assertRaisesRegex(advgp.AdvgpValueError, "from 0.0001 to 0.9999"):
                model.predict_quantiles(rows, [0.5, 0.99999])
        with self.assertRaisesRegex(ValueError, "too large"):
            model.predict([[10**400], [1]])
        for y, weight in (([10**400] * 60, None), (X[:, 0], [10**400] * 60), (X[:, 0], 10**400)):
            with self.assertRaisesRegex(ValueError, "too large"):
                ADVGPRegressor(method="linear").fit(X, y, sample_weight=weight)

    def test_wrong_options_say_what_the_command_line_says(self):
        X, y = wave(20)
        for parameters, words in (({"kernel": "rbf"}, "ard-rbf"), ({"options": {"inducting": 5}}, "inducing"),
                                  ({"inducing": -1}, "inducing"), ({"bounds": (1, 0)}, "bounds")):
            with self.assertRaisesRegex(advgp.AdvgpValueError, words) as caught:
                ADVGPRegressor(**parameters).fit(X, y)
            self.assertEqual(caught.exception.status, "EINVAL")
        with self.assertRaisesRegex(ValueError, "level|interval|0.9"):
            ADVGPRegressor(**QUICK).fit(X, y).predict_interval(X, level=2)

    def test_weights_count(self):
        X, y = wave(60)
        weight = np.r_[np.ones(40), np.zeros(20)]
        y = np.where(weight, y, 50)
        weighted = ADVGPRegressor(method="linear").fit(X, y, sample_weight=weight)
        without = ADVGPRegressor(method="linear").fit(X[:40], y[:40])
        np.testing.assert_allclose(weighted.predict(X), without.predict(X), rtol=1e-9)

    def test_what_is_masked_is_missing(self):
        X, y = wave(60)
        hidden = np.arange(60) % 6 == 0
        wrong = np.ma.array(np.where(hidden, 1000, y), mask=hidden)
        without = ADVGPRegressor(method="linear").fit(X[~hidden], y[~hidden])
        masked = ADVGPRegressor(method="linear").fit(X, wrong)
        np.testing.assert_allclose(masked.predict(X), without.predict(X), rtol=1e-9)
        self.assertAlmostEqual(masked.score(X, wrong), without.score(X[~hidden], y[~hidden]), 9)
        weight = np.ma.array(np.where(hidden, 1e6, 1), mask=hidden)
        weighted = ADVGPRegressor(method="linear").fit(X, wrong.data, sample_weight=weight)
        np.testing.assert_allclose(weighted.predict(X), without.predict(X), rtol=1e-9)
        self.assertAlmostEqual(weighted.score(X, wrong.data, weight), without.score(X[~hidden], y[~hidden]), 9)

    def test_answers_are_finite_or_counted(self):
        x = np.linspace(0, 1, 60).reshape(-1, 1)
        model = ADVGPRegressor(method="linear", log_target=True).fit(x, np.exp(50 * x[:, 0]))
        for near in (x[:2], x):  # a few go another way
            far = np.vstack([near, [[1000.0]], [[1e308]]])
            for ask in (model.predict, model.predict_interval, lambda X: model.predict(X, return_std=True),
                        lambda X: model.predict_quantiles(X).T):
                with self.assertWarnsRegex(advgp.DataWarning, "2 rows are without an answer") as caught:
                    answers = np.atleast_2d(ask(far))
                self.assertEqual(len(caught.warnings), 1)
                self.assertTrue(np.isfinite(answers[:, :-2]).all() and np.isnan(answers[:, -2:]).all())

    def test_bounds_and_logarithms(self):
        X, y = wave(60)
        cut = ADVGPRegressor(**QUICK, bounds=(0, None)).fit(X, np.maximum(y, 0))
        self.assertGreaterEqual(cut.predict(X).min(), 0)
        self.assertGreaterEqual(cut.predict_interval(X)[0].min(), 0)
        positive = ADVGPRegressor(**QUICK, log_target=True).fit(X, np.exp(y))
        self.assertGreater(positive.predict_interval(X, 0.99)[0].min(), 0)


if __name__ == "__main__":
    unittest.main()
