"""Feature importances of a mixture of models."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def mixture_importances(
    components: dict[str, list[Any]], weights: dict[str, float], n_features: int
) -> NDArray[np.float64]:
    """Return the importances of all models, averaged within components and then by the weights of the components.

    A component is a list of models of one kind, such as "forest". Components of weight 0 are left out. The importances
    add up to 1, or are all 0 if no model uses a feature.
    """
    total = np.zeros(n_features)
    for name, models in components.items():
        for model in models if weights.get(name, 0.0) > 0 else ():
            total += weights[name] / len(models) * model.feature_importances_
    return total / total.sum() if total.sum() > 0 else total
