"""What a meta-estimator passes on to the classifier inside, and tells scikit-learn about it."""

from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils._repr_html.estimator import _VisualBlock
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _estimator_has, check_is_fitted, validate_data


class Wrapper(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier around a classifier: `estimator` to clone and fit, `estimator_` the fitted one."""

    estimator: Any
    cv: Any

    __metadata_request__fit = {"sample_weight": None, "groups": True}  # noqa: RUF012

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return what `estimator_.predict_proba` gives, in its form."""
        return self._ask("predict_proba", X)

    @available_if(_estimator_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Return what `estimator_.predict_log_proba` gives, in its form."""
        return self._ask("predict_log_proba", X)

    @available_if(_estimator_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return what `estimator_.decision_function` gives, in its form."""
        return self._ask("decision_function", X)

    def _ask(self, method: str, X: Any) -> Any:
        """Call a method of the fitted classifier."""
        check_is_fitted(self)
        self._check_columns(X)
        return getattr(self.estimator_, method)(X)

    def _check_columns(self, X: Any) -> None:
        """Refuse other columns than those of the fit, where the classifier does not look at their names itself."""
        if hasattr(self, "feature_names_in_") and not hasattr(self.estimator_, "feature_names_in_"):
            validate_data(self, X, reset=False, skip_check_array=True)

    def get_metadata_routing(self) -> MetadataRouter:
        """Say who takes which metadata: this estimator itself, the classifier's `fit`, and `cv.split`."""
        router = MetadataRouter(owner=self).add_self_request(self)
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        return router.add(estimator=self.estimator, method_mapping=to_fit).add(
            splitter=self.cv, method_mapping=to_split
        )

    def __sklearn_tags__(self) -> Any:
        """Describe what this estimator takes: one or several labels of two classes, and the X of the classifier."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        tags.input_tags.pairwise = inner.pairwise
        tags.classifier_tags.multi_class, tags.classifier_tags.multi_label = False, True
        return tags

    def _sk_visual_block_(self) -> _VisualBlock:
        """Show the classifier, fitted if it is, inside this one."""
        estimator = getattr(self, "estimator_", self.estimator)
        return _VisualBlock(
            "serial",
            [estimator],
            names=[type(estimator).__name__],
            name_details=[str(estimator)],
            dash_wrapped=False,
        )
