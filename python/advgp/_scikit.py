"""What an estimator takes from scikit-learn, and the same in short where scikit-learn is not installed."""

import inspect
from typing import Any, Dict

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.exceptions import DataConversionWarning, NotFittedError
except ImportError:

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """An estimator was asked before it was fitted."""

    class DataConversionWarning(UserWarning):  # type: ignore[no-redef]
        """Data was not of the shape that is expected, but could be read."""

    class RegressorMixin:  # type: ignore[no-redef]
        _estimator_type = "regressor"

    class BaseEstimator:  # type: ignore[no-redef]
        """Parameters are the arguments of the constructor, and attributes of the same names."""

        def get_params(self, deep: bool = True) -> Dict[str, Any]:
            names = [name for name in inspect.signature(type(self).__init__).parameters if name != "self"]
            return {name: getattr(self, name) for name in names}

        def set_params(self, **params: Any) -> Any:
            known = self.get_params()
            for name, value in params.items():
                if name not in known:
                    raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: "
                                     f"{sorted(known)}.")
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            given = (f"{name}={value!r}" for name, value in self.get_params().items() if value not in (None, 0))
            return f"{type(self).__name__}({', '.join(given)})"
