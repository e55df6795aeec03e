"""ADVGPRegressor: a Gaussian process for tables of any size, in the manner of scikit-learn."""

import html
import multiprocessing
import numbers
import os
import threading
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _training
from ._data import Inputs, Rows, free_name, inputs_of, target_of, values_of, weights_of
from ._model import Model
from ._options import Options
from ._scikit import BaseEstimator, DataConversionWarning, NotFittedError, RegressorMixin
from ._training import Progress

_FEWEST = 10  # rows that the library trains from
_SMALL = 3000  # rows that it fits by the exact process unless an option speaks against it


def workers_here() -> Optional[int]:
    """How many threads a fit may take when nobody says. None: as many as the library likes (a core each, of those that
    the process may run on), in the main thread of a program. Where several fits may run at once, in threads or in
    processes of joblib: what joblib leaves to each, or one."""
    alone = multiprocessing.parent_process() is None
    if alone and threading.current_thread() is threading.main_thread():
        return None
    limit = os.environ.get("OMP_NUM_THREADS", "")  # which joblib sets in its processes
    return int(limit) if limit.isdigit() and int(limit) > 0 and not alone else 1


def with_workers(options: Dict[str, Any], n_rows: int) -> Dict[str, Any]:
    """The same options, with `workers` where it makes a difference: a small table has no steps, and methods without
    steps refuse it."""
    stepless = options.get("method") in ("exact", "linear", "mean")
    if options.get("workers") is None and n_rows > _SMALL and not stepless:
        return {**options, "workers": workers_here()}
    return options


def seed_of(random_state: Any) -> Optional[int]:
    """A seed of the library from scikit-learn's random_state."""
    if random_state is None or isinstance(random_state, numbers.Integral):
        return None if random_state is None else int(random_state)
    draw = getattr(random_state, "integers", None) or random_state.randint
    return int(draw(2**31 - 1))


def _bounds_of(bounds: Any) -> Any:
    """(0, None) as `0:`."""
    if not isinstance(bounds, (tuple, list)):
        return bounds
    low, high = bounds
    return ":".join("" if end is None or np.isinf(end) else repr(float(end)) for end in (low, high))


def _names_of_a_matrix(n_columns: int) -> List[str]:
    return [f"x{i}" for i in range(n_columns)]


class ADVGPRegressor(RegressorMixin, BaseEstimator):
    """Gaussian process regression for tables of any size, with calibrated intervals.

    X may be an array or a frame of pandas, polars or pyarrow. Numbers need no scaling; text, categories, dates,
    booleans and missing values of a frame are taken care of, as by the command line (docs/data-rules.md). Every
    parameter that is None is chosen by the library.

    Parameters
    ----------
    inducing : int
        Inducing points, in all components together. None: as many as docs/recipe.md says, more on large tables.
    components : int or "auto"
        Kernels that are added up.
    cells : int, "auto" or "none"
        Local processes in so many cells of the input space.
    kernel : "ard-rbf", "matern32" or "matern52"
        The covariance; all have a length-scale a column.
    noise : "auto", "constant" or "varying"
        One spread for all rows, or one that depends on the row.
    method : "auto", "advgp", "exact", "linear", "mean", ...
        How it is fitted; auto is exact for small tables and advgp for others.
    epochs : int or "auto"
        Passes over the rows at most.
    time : float
        Seconds after which the training ends.
    validation : float or str
        The fraction of the rows that is held out to stop training and to calibrate intervals, or "last:0.1".
    log_target : bool or "auto"
        Fit the logarithm of a target that is never negative. "auto": where the target is skewed and a trial on some
        of the rows shows that it pays; `notes_` then says so.
    bounds : (low, high), "auto" or "none"
        Where means, intervals and quantiles are cut; None for an open end.
    workers : int or "auto"
        Threads. None: a core each; inside of joblib's processes what joblib leaves, in other threads one.
    random_state : int, RandomState or Generator
        The seed. None is seed 0: two fits of the same table give the same bits.
    options : dict
        Further options of `advgp train`, by their names without dashes: {"trend": "constant", "outliers": "keep"}.
    verbose : int
        1: tells notes and progress, by tqdm where it is installed.

    Attributes
    ----------
    model_ : Model
        The trained model.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only where X had names.
    notes_ : list of str
        What the training wanted people to know: columns left out, values clipped, ...
    partial_model_ : Model
        The model so far, after a fit that ended with an exception (Ctrl-C, a callback's), where there was one.

    Examples
    --------
    >>> import numpy as np
    >>> from advgp import ADVGPRegressor
    >>> x = np.linspace(0, 6, 60).reshape(-1, 1)
    >>> model = ADVGPRegressor().fit(x, np.sin(x[:, 0]))
    >>> float(abs(model.predict([[3.0]])[0] - np.sin(3.0))) < 0.01
    True
    """

    def __init__(self, inducing: Optional[int] = None, components: Union[int, str, None] = None,
                 cells: Union[int, str, None] = None, kernel: Optional[str] = None, noise: Optional[str] = None,
                 method: Optional[str] = None, epochs: Union[int, str, None] = None, time: Optional[float] = None,
                 validation: Union[float, str, None] = None, log_target: Union[bool, str, None] = None,
                 bounds: Union[Tuple[Optional[float], Optional[float]], str, None] = None,
                 workers: Union[int, str, None] = None, random_state: Any = None,
                 options: Optional[Mapping[str, Any]] = None, verbose: int = 0):
        self.inducing = inducing
        self.components = components
        self.cells = cells
        self.kernel = kernel
        self.noise = noise
        self.method = method
        self.epochs = epochs
        self.time = time
        self.validation = validation
        self.log_target = log_target
        self.bounds = bounds
        self.workers = workers
        self.random_state = random_state
        self.options = options
        self.verbose = verbose

    # ---- fitting ----------------------------------------------------------------------------------------------------

    def _train_options(self) -> Dict[str, Any]:
        named = ("inducing", "components", "cells", "kernel", "noise", "method", "epochs", "time", "validation",
                 "log_target", "workers")
        chosen = {name: getattr(self, name) for name in named}
        chosen["bounds"] = _bounds_of(self.bounds)
        chosen["seed"] = seed_of(self.random_state)
        return {**chosen, **(self.options or {})}

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *,
            callback: Optional[Callable[[Progress], Any]] = None) -> "ADVGPRegressor":
        """Trains. Ctrl-C ends it soon, with KeyboardInterrupt and the model so far in `partial_model_`.

        `sample_weight` says how much a row matters beside the others (or, with options={"weights-are": "counts"}, how
        many rows it stands for). Rows whose target or weight is masked (numpy.ma) are left out. `callback` is called with a `Progress` at every look at the held-out rows; if it
        returns True, training ends and the model so far is the result; an exception ends it and arrives here.
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        inputs = inputs_of(X)
        self._check_size(inputs)
        target = target_of(y, inputs.n_rows, lambda text: warnings.warn(text, DataConversionWarning, stacklevel=4))
        weights = None if sample_weight is None else weights_of(sample_weight, inputs.n_rows)
        if weights is not None:
            target = np.where(np.isnan(weights), np.nan, target)  # a masked weight, too, leaves its row out
        names = inputs.names or _names_of_a_matrix(inputs.n_columns)
        options = with_workers(self._train_options(), inputs.n_rows)
        if inputs.names is None:
            options.setdefault("features", names)  # a matrix has no columns that nobody chose, such as row numbers

        table = inputs.table(names)
        name = getattr(y, "name", None)  # of a series
        options["target"] = free_name(name if isinstance(name, str) and name else "y", names)
        table.add(options["target"], values_of(target, "y"))
        if weights is not None:
            options["weights"] = free_name("weight", [*names, options["target"]])
            table.add(options["weights"], values_of(np.nan_to_num(weights), "sample_weight"))

        trained = _training.train(table, Options("train", options), callback, self.verbose)
        return self._take(trained, inputs)

    def _check_size(self, inputs: Inputs) -> None:
        n, d = inputs.n_rows, inputs.n_columns
        if d == 0:
            raise ValueError(f"Found array with 0 feature(s) (shape=({n}, 0)) while a minimum of 1 is required.")
        if n < _FEWEST:
            raise ValueError(f"Found array with {n} sample(s) (shape=({n}, {d})) while a minimum of {_FEWEST} is "
                             f"required by {type(self).__name__}.")

    def _take(self, trained: _training.Trained, inputs: Inputs) -> "ADVGPRegressor":
        model = Model(trained.handle, trained.notes) if trained.handle else None
        self.__dict__.pop("partial_model_", None)
        if trained.failure is not None:
            if model:
                self.partial_model_ = model
            raise trained.failure
        self._adopt(model, inputs.n_columns, inputs.names)
        return self

    def _adopt(self, model: Any, n_features: int, names: Optional[List[str]]) -> None:
        self.model_, self.notes_, self.n_features_in_ = model, model.notes, n_features
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    # ---- predicting -------------------------------------------------------------------------------------------------

    def _rows(self, X: Any) -> Rows:
        """X, if it has the columns that `fit` saw."""
        if not hasattr(self, "model_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate "
                                 "arguments before using this estimator.")
        inputs = inputs_of(X)
        fitted = getattr(self, "feature_names_in_", None)
        self._check_names(inputs.names, fitted)
        if inputs.n_columns != self.n_features_in_:
            raise ValueError(f"X has {inputs.n_columns} features, but {type(self).__name__} is expecting "
                             f"{self.n_features_in_} features as input.")
        if inputs.n_rows == 0:
            raise ValueError(f"Found array with 0 sample(s) (shape=(0, {inputs.n_columns})) while a minimum of 1 is "
                             f"required by {type(self).__name__}.")
        return Rows(inputs, _names_of_a_matrix(inputs.n_columns) if fitted is None else list(fitted))

    def _check_names(self, names: Optional[Sequence[str]], fitted: Optional[Sequence[str]]) -> None:
        """scikit-learn's rule: the same names in the same order, or none at all, with a warning."""
        me = type(self).__name__
        if names is None or fitted is None:
            if names is not None:
                warnings.warn(f"X has feature names, but {me} was fitted without feature names", stacklevel=4)
            if fitted is not None:
                warnings.warn(f"X does not have valid feature names, but {me} was fitted with feature names",
                              stacklevel=4)
            return
        if list(names) != list(fitted):
            raise ValueError(_difference(names, fitted))

    def predict(self, X: Any, return_std: bool = False) -> Union[np.ndarray, Tuple[np.ndarray, np.ndarray]]:
        """The mean of every row, and with `return_std` the standard deviation of an observation, noise included."""
        rows = self._rows(X)
        return self.model_.predict(rows, return_std)

    def predict_interval(self, X: Any, level: float = 0.9) -> Tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends of the calibrated interval that holds an observation with probability `level`."""
        rows = self._rows(X)
        return self.model_.predict_interval(rows, level)

    def predict_quantiles(self, X: Any, quantiles: Union[float, Sequence[float]] = (0.1, 0.5, 0.9)) -> np.ndarray:
        """Quantiles of what a row may turn out to be: a column each, or one dimension for a single number."""
        rows = self._rows(X)
        return self.model_.predict_quantiles(rows, quantiles)

    def explain(self, X: Any, **options: Any) -> List[Dict[str, Any]]:
        """Why the model says what it says of each row: see `Model.explain`."""
        rows = self._rows(X)
        return self.model_.explain(rows, **options)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination R² of the means."""
        mean = self.predict(X)
        truth = target_of(y, len(mean), lambda text: None)
        weight = np.ones(len(mean)) if sample_weight is None else weights_of(sample_weight, len(mean))
        there = np.isfinite(mean) & ~np.isnan(truth) & ~np.isnan(weight)  # neither masked nor without an answer
        mean, truth, weight = mean[there], truth[there], weight[there]
        error = np.sum(weight * (truth - mean) ** 2)
        spread = np.sum(weight * (truth - np.average(truth, weights=weight)) ** 2)
        return float(1 - error / spread) if spread > 0 else float(error == 0)

    # ---- files and notebooks ----------------------------------------------------------------------------------------

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the model file that the command line reads, too. (A pickle keeps the parameters beside it.)"""
        if not hasattr(self, "model_"):
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet: there is nothing to save.")
        self.model_.save(path)

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> "ADVGPRegressor":
        """A fitted estimator of a model file, whoever trained it. Its columns are those that the model wants."""
        model, estimator = Model.load(path), cls()
        names = model.inputs
        unnamed = names == _names_of_a_matrix(len(names))
        estimator._adopt(model, len(names), None if unnamed else names)
        return estimator

    def _repr_html_(self) -> str:
        head = f"<pre>{html.escape(repr(self))}</pre>"
        return head + self.model_._repr_html_() if hasattr(self, "model_") else head

    def _repr_mimebundle_(self, **kwargs: Any) -> Dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    # ---- what scikit-learn asks -------------------------------------------------------------------------------------

    def _more_tags(self) -> Dict[str, Any]:  # before scikit-learn 1.6
        return {"allow_nan": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _difference(names: Sequence[str], fitted: Sequence[str]) -> str:
    """How these names differ, in scikit-learn's words."""
    new, gone = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    text = "The feature names should match those that were passed during fit.\n"
    for title, some in (("Feature names unseen at fit time", new),
                        ("Feature names seen at fit time, yet now missing", gone)):
        if some:
            text += f"{title}:\n" + "".join(f"- {name}\n" for name in some[:5]) + ("- ...\n" if some[5:] else "")
    return text if new or gone else text + "Feature names must be in the same order as they were in fit.\n"
