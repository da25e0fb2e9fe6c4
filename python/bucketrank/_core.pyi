"""Types of the compiled kernels. Arrays are native 64-bit; 0 marks a missing label in returned positions."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypedDict, final

import numpy as np
from numpy.typing import NDArray

_Positions: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
_Weights: TypeAlias = NDArray[np.float64] | None

__version__: str

class _Limits(TypedDict):
    count: int
    booster_depth: int
    pair_labels: int

class _BoosterDefaults(TypedDict):
    rounds: int
    learning_rate: float
    max_depth: int
    min_samples_leaf: int
    ridge: float
    row_share: float
    max_bins: int

class _LinearDefaults(TypedDict):
    ridge: float
    intercept_ridge: float
    tolerance: float
    max_steps: int

class _Defaults(TypedDict):
    booster: _BoosterDefaults
    linear: _LinearDefaults
    shrinkage: dict[str, float]

LIMITS: _Limits
DEFAULTS: _Defaults

def tau_x(y_true: _Positions, y_pred: _Positions, weights: _Weights) -> float: ...
def tau_x_samples(y_true: _Positions, y_pred: _Positions) -> NDArray[np.float64]: ...
def tau_x_ranked(y_true: _Positions, y_pred: _Positions, weights: _Weights) -> float: ...
def tau_x_ranked_samples(y_true: _Positions, y_pred: _Positions) -> NDArray[np.float64]: ...
def pair_agreements(
    y_true: _Positions, y_pred: _Positions, require_complete: bool
) -> NDArray[np.int64]: ...
def rank_biased_overlaps(
    y_true: _Positions, y_pred: _Positions, require_complete: bool, p: float, ties: str
) -> NDArray[np.float64]: ...
def kendall_tau_samples(y_true: _Positions, y_pred: _Positions) -> NDArray[np.float64]: ...
def bucket_count_differences(y_true: _Positions, y_pred: _Positions) -> NDArray[np.int64]: ...
def check_weights(weights: NDArray[np.float64], rows: int) -> NDArray[np.float64]: ...
def parse_positions(y: _Positions) -> NDArray[np.int64]: ...
def to_dense_ranks(values: _Positions) -> NDArray[np.int64]: ...
def drop_labels(y: _Positions, fraction: float, seed: int) -> NDArray[np.int64]: ...
def order_categories(
    codes: NDArray[np.int64], categories: int, y: _Positions, weights: _Weights
) -> NDArray[np.int64]: ...
def pair_order_matrix(y: _Positions, weights: _Weights) -> NDArray[np.float64]: ...

class _SearchOptions(TypedDict):
    search: str
    order: tuple[str, float] | None
    penalty: float
    ties: bool
    n_buckets: tuple[int, int] | None
    time_limit: float | None
    label_weights: list[float] | None

_Spec: TypeAlias = tuple[str, float] | tuple[str, _SearchOptions] | tuple[str, bool, Any]

def aggregate(spec: _Spec, y: _Positions, weights: _Weights) -> NDArray[np.int64]: ...
def explain(spec: _Spec, y: _Positions, weights: _Weights) -> dict[str, Any]: ...
def are_plain_sets(sets: list[Any]) -> bool: ...
def aggregate_many(
    spec: _Spec, sets: _Positions | list[_Positions], n_jobs: int
) -> NDArray[np.int64]: ...
def aggregate_pair_order(spec: _Spec, matrix: NDArray[np.float64]) -> NDArray[np.int64]: ...
def aggregate_pair_orders(
    spec: _Spec, matrices: NDArray[np.float64], n_jobs: int
) -> NDArray[np.int64]: ...
def aggregate_pair_shares(
    spec: _Spec, tables: NDArray[np.float64], n_jobs: int
) -> NDArray[np.int64]: ...

_Counts: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]

def count_comparisons(comparisons: dict[str, Any]) -> _Counts: ...
def count_rankings(y: _Positions, weights: _Weights) -> tuple[_Counts, int]: ...
def aggregate_counts(spec: _Spec, counts: dict[str, Any]) -> NDArray[np.int64]: ...
def explain_counts(spec: _Spec, counts: dict[str, Any]) -> dict[str, Any]: ...
def connected_components(counts: dict[str, Any]) -> NDArray[np.int64]: ...
def fit_davidson(spec: _Spec, data: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]: ...
def resample_scores(
    spec: _Spec,
    data: dict[str, Any],
    options: dict[str, Any],
    progress: Callable[[int], object] | None,
) -> dict[str, Any]: ...
def separate_labels(
    scores: NDArray[np.float64],
    resampled: NDArray[np.float64],
    components: list[int],
    options: dict[str, Any],
) -> dict[str, Any]: ...
def latent_pair_shares(
    scores: NDArray[np.float64], compared: NDArray[np.bool_]
) -> NDArray[np.float64]: ...
def aggregate_scores(
    spec: _Spec, scores: NDArray[np.float64], compared: NDArray[np.bool_], n_jobs: int
) -> NDArray[np.int64]: ...

_FittedModel: TypeAlias = tuple[Forest, float] | tuple[Booster, int] | tuple[LinearModel]
_Components: TypeAlias = list[tuple[float, list[_FittedModel]]]
_Indices: TypeAlias = NDArray[np.int64]
_HeldOut: TypeAlias = tuple[_Indices, _Indices, list[_Indices]]

class _MixtureOptions(TypedDict):
    tree: _TreeOptions
    variant: str
    trees: int
    shrinkage_strength: float
    boosters: list[_BoostOptions]
    linear: _LinearOptions
    categorical: list[tuple[int, int]]
    held_out: _HeldOut | None
    n_jobs: int

_Pool: TypeAlias = tuple[list[float], list[float], float, float]

class _MixtureFit(TypedDict):
    forest: Forest | None
    boosters: list[Booster]
    linears: list[LinearModel]
    weights: list[float]
    pool: _Pool | None
    rounds: int
    failed: list[tuple[str, str]]

def fit_mixture(
    x: NDArray[np.float64],
    y: _Positions,
    weights: _Weights,
    options: _MixtureOptions,
) -> _MixtureFit: ...
def mixture_pair_shares(
    components: _Components, pool: _Pool | None, x: NDArray[np.float64], n_jobs: int
) -> tuple[NDArray[np.float64], list[int]]: ...
def mixture_consensus(
    spec: _Spec, components: _Components, pool: _Pool | None, x: NDArray[np.float64], n_jobs: int
) -> tuple[NDArray[np.int64], list[int]]: ...
def mixture_shap_values(
    components: _Components,
    pool: _Pool | None,
    x: NDArray[np.float64],
    background: NDArray[np.float64],
    orders: tuple[int, int],
    n_jobs: int,
) -> tuple[NDArray[np.float64], list[int]]: ...

_ExplainedModel: TypeAlias = (
    tuple[Tree, _Smoothing] | tuple[Forest, float] | tuple[Booster] | tuple[LinearModel]
)

def shap_values(
    model: _ExplainedModel, x: NDArray[np.float64], n_jobs: int
) -> NDArray[np.float64]: ...
def shap_base_values(model: _ExplainedModel, n_jobs: int) -> NDArray[np.float64]: ...
def label_scores(
    model: _ExplainedModel, x: NDArray[np.float64], n_jobs: int
) -> NDArray[np.float64]: ...

class _BoostOptions(TypedDict):
    rounds: int
    learning_rate: float
    max_depth: int
    min_samples_leaf: int
    ridge: float
    row_share: float
    feature_share: float | None
    max_bins: int
    validation_share: float | None
    patience: int
    seed: int
    n_jobs: int

@final
class Booster:
    @staticmethod
    def fit(
        x: NDArray[np.float64],
        y: _Positions,
        weights: _Weights,
        options: _BoostOptions,
        on_round: Callable[[int, float | None], None] | None,
    ) -> Booster: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def rounds(self) -> int: ...
    def staged_scores(
        self, x: NDArray[np.float64], rounds: list[int], n_jobs: int
    ) -> list[NDArray[np.float64]]: ...
    def compared_labels(self) -> NDArray[np.bool_]: ...
    def feature_importances(self) -> NDArray[np.float64]: ...
    def validation_scores(self) -> NDArray[np.float64]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> Booster: ...
    def __reduce__(self) -> tuple[Any, tuple[bytes]]: ...

class _LinearOptions(TypedDict):
    ridge: float
    intercept_ridge: float
    tolerance: float
    max_steps: int
    n_jobs: int

@final
class LinearModel:
    @staticmethod
    def fit(
        x: NDArray[np.float64],
        y: _Positions,
        weights: _Weights,
        options: _LinearOptions,
        categorical: list[tuple[int, int]],
    ) -> LinearModel: ...
    def information(
        self,
        x: NDArray[np.float64],
        y: _Positions,
        weights: _Weights,
        options: _LinearOptions,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def steps(self) -> int: ...
    @property
    def converged(self) -> bool: ...
    def scores(self, x: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def coefficients(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def indicators(self) -> NDArray[np.int64]: ...
    def categorical(self) -> list[tuple[int, int]]: ...
    def scale(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def compared_labels(self) -> NDArray[np.bool_]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> LinearModel: ...
    def __reduce__(self) -> tuple[Any, tuple[bytes]]: ...

class _TreeSizes(TypedDict):
    max_splits: int
    max_depth: int | None
    min_samples_split: int
    min_samples_leaf: int
    max_features: int | None

def check_bounded_count(name: str, value: int) -> int: ...
def check_ranker_counts(counts: dict[str, int]) -> None: ...
def resolve_tree_sizes(
    sizes: dict[str, Any], n_samples: int, n_features: int, n_labels: int
) -> _TreeSizes: ...

class _TreeOptions(_TreeSizes):
    criterion: str
    splitter: str
    seed: int
    n_jobs: int
    soft: bool

_Smoothing: TypeAlias = tuple[str, float]

class _CrossValidationMethods(TypedDict):
    trees: list[_TreeOptions]
    tree_aggregator: _Spec
    aggregators: list[list[_Spec]]

@final
class Problem:
    def __new__(
        cls,
        x: NDArray[np.float64],
        y: _Positions,
        weights: _Weights,
        seed: int,
    ) -> Problem: ...

def fold_of_rows(rows: int, n_folds: int, seed: int, repeat: int) -> NDArray[np.int64]: ...
def split_seeds(seed: int, missing: float, repeat: int, fold: int) -> tuple[int, int]: ...
def cross_validate(
    problems: list[Problem],
    tasks: list[tuple[int, float, int, int, int, int]],
    methods: _CrossValidationMethods,
    n_folds: int,
    n_jobs: int,
    finished: Callable[
        [int, tuple[int, int, float, float, list[tuple[float, float, float]]]], None
    ],
) -> tuple[int, str] | None: ...

class _Nodes(TypedDict):
    parent: NDArray[np.int64]
    depth: NDArray[np.int64]
    feature: NDArray[np.int64]
    first_child: NDArray[np.int64]
    children: NDArray[np.int64]
    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    impurity: NDArray[np.float64]
    missing_left: NDArray[np.int64]
    thresholds: list[list[float]]

@final
class Tree:
    @staticmethod
    def fit(
        x: NDArray[np.float64],
        y: _Positions,
        weights: _Weights,
        spec: _Spec,
        options: _TreeOptions,
    ) -> Tree: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def is_soft(self) -> bool: ...
    @property
    def learnt_missing(self) -> bool: ...
    @property
    def depth(self) -> int: ...
    @property
    def n_leaves(self) -> int: ...
    def apply(self, x: NDArray[np.float64]) -> NDArray[np.int64]: ...
    def consensus(
        self,
        spec: _Spec,
        leaves: NDArray[np.int64],
        n_jobs: int,
        smoothing: _Smoothing | None = None,
    ) -> NDArray[np.int64]: ...
    def predict(self, spec: _Spec, x: NDArray[np.float64], n_jobs: int) -> NDArray[np.int64]: ...
    def pair_shares(
        self, smoothing: _Smoothing, leaves: NDArray[np.int64]
    ) -> NDArray[np.float64]: ...
    def soft_consensus(
        self, spec: _Spec, x: NDArray[np.float64], n_jobs: int, smoothing: _Smoothing
    ) -> NDArray[np.int64]: ...
    def soft_pair_shares(
        self, smoothing: _Smoothing, x: NDArray[np.float64], n_jobs: int
    ) -> NDArray[np.float64]: ...
    def pair_orders(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]: ...
    def node_rows(self, node: int) -> NDArray[np.int64]: ...
    def node_rankings(self, node: int) -> NDArray[np.int64]: ...
    def paths(self, leaves: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
    def nodes(self) -> _Nodes: ...
    def feature_importances(self) -> NDArray[np.float64]: ...
    def leaves(self) -> NDArray[np.int64]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> Tree: ...
    def __reduce__(self) -> tuple[Any, tuple[bytes]]: ...

@final
class Forest:
    def __new__(cls, y: _Positions, weights: _Weights, n_features: int) -> Forest: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def n_rows(self) -> int: ...
    @property
    def n_trees(self) -> int: ...
    def grown(
        self, x: NDArray[np.float64], options: _TreeOptions, kind: str, trees: int
    ) -> Forest: ...
    def consensus(
        self,
        spec: _Spec,
        x: NDArray[np.float64],
        strength: float,
        out_of_bag: bool,
        n_jobs: int,
    ) -> NDArray[np.int64]: ...
    def pair_shares(
        self, x: NDArray[np.float64], strength: float, out_of_bag: bool, n_jobs: int
    ) -> NDArray[np.float64]: ...
    def out_of_bag_counts(self) -> NDArray[np.int64]: ...
    def apply(self, x: NDArray[np.float64]) -> NDArray[np.int64]: ...
    def feature_importances(self) -> NDArray[np.float64]: ...
    def sizes(self) -> list[tuple[int, int]]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> Forest: ...
    def __reduce__(self) -> tuple[Any, tuple[bytes]]: ...

def pack(description: str, parts: list[Any]) -> bytes: ...
def unpack(data: bytes, what: str) -> tuple[str, list[Any]]: ...
def check_saved_header(header: bytes, length: int, what: str) -> None: ...
