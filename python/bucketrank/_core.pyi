"""Types of the compiled kernels. Arrays of numbers are native 64-bit; 0 marks a missing label in returned positions."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypedDict, final

import numpy as np
from numpy.typing import NDArray

_Floats: TypeAlias = NDArray[np.float64]
_Integers: TypeAlias = NDArray[np.int64]
_Positions: TypeAlias = _Integers | _Floats
_Weights: TypeAlias = _Floats | None

__version__: str

# Largest value of a parameter that is a count, and largest number of labels of which all pairs are counted.
class _Limits(TypedDict):
    count: int
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
def tau_x_samples(y_true: _Positions, y_pred: _Positions) -> _Floats: ...

# The functions `tau_x_ranked...` compare the two rankings of a row on the labels that both rank.
def tau_x_ranked(y_true: _Positions, y_pred: _Positions, weights: _Weights) -> float: ...
def tau_x_ranked_samples(y_true: _Positions, y_pred: _Positions) -> _Floats: ...
def pair_agreements(
    y_true: _Positions, y_pred: _Positions, require_complete: bool
) -> _Integers: ...
def rank_biased_overlaps(
    y_true: _Positions, y_pred: _Positions, require_complete: bool, p: float, ties: str
) -> _Floats: ...
def kendall_tau_samples(y_true: _Positions, y_pred: _Positions) -> _Floats: ...
def bucket_count_differences(y_true: _Positions, y_pred: _Positions) -> _Integers: ...
def check_weights(weights: _Floats, rows: int) -> _Floats: ...
def parse_positions(y: _Positions) -> _Integers: ...
def to_dense_ranks(values: _Positions) -> _Integers: ...
def drop_labels(y: _Positions, fraction: float, seed: int) -> _Integers: ...

# The position of each category of a feature in an order computed from the rankings of the rows.
def order_categories(
    codes: _Integers, categories: int, y: _Positions, weights: _Weights
) -> _Integers: ...
def pair_order_matrix(y: _Positions, weights: _Weights) -> _Floats: ...

class _SearchOptions(TypedDict):
    search: str
    order: tuple[str, float] | None
    penalty: float
    ties: bool
    n_buckets: tuple[int, int] | None
    time_limit: float | None
    label_weights: list[float] | None

# An aggregator: its name with a parameter or options; or name, whether it reads pair order matrices, and Python object.
_Spec: TypeAlias = tuple[str, float] | tuple[str, _SearchOptions] | tuple[str, bool, Any]

def aggregate(spec: _Spec, y: _Positions, weights: _Weights) -> _Integers: ...
def explain(spec: _Spec, y: _Positions, weights: _Weights) -> dict[str, Any]: ...

# Whether all sets of rankings are NumPy arrays that own their memory and have equally many labels.
def are_plain_sets(sets: list[Any]) -> bool: ...
def aggregate_many(spec: _Spec, sets: _Positions | list[_Positions], n_jobs: int) -> _Integers: ...
def aggregate_pair_order(spec: _Spec, matrix: _Floats) -> _Integers: ...
def aggregate_pair_orders(spec: _Spec, matrices: _Floats, n_jobs: int) -> _Integers: ...
def aggregate_pair_shares(spec: _Spec, tables: _Floats, n_jobs: int) -> _Integers: ...

# Weights of before, tied and after per pair of labels, and the weight of the rows with each label.
_Counts: TypeAlias = tuple[_Floats, _Floats]

def count_comparisons(comparisons: dict[str, Any]) -> _Counts: ...
def count_rankings(y: _Positions, weights: _Weights) -> tuple[_Counts, int]: ...
def aggregate_counts(spec: _Spec, counts: dict[str, Any]) -> _Integers: ...
def explain_counts(spec: _Spec, counts: dict[str, Any]) -> dict[str, Any]: ...
def connected_components(counts: dict[str, Any]) -> _Integers: ...
def fit_davidson(spec: _Spec, data: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]: ...
def resample_scores(
    spec: _Spec,
    data: dict[str, Any],
    options: dict[str, Any],
    progress: Callable[[int], object] | None,
) -> dict[str, Any]: ...

# Whether each label is ahead of each other label, and the ranks, rank intervals and tiers that follow.
def separate_labels(
    scores: _Floats, resampled: _Floats, components: list[int], options: dict[str, Any]
) -> dict[str, Any]: ...

# A row of scores has the n utilities of the labels and their n tie terms; `compared` masks the labels with comparisons.
def latent_pair_shares(scores: _Floats, compared: NDArray[np.bool_]) -> _Floats: ...
def aggregate_scores(
    spec: _Spec, scores: _Floats, compared: NDArray[np.bool_], n_jobs: int
) -> _Integers: ...

# A forest with the strength of its shrinkage, a booster with its number of rounds, or a linear model.
_FittedModel: TypeAlias = tuple[Forest, float] | tuple[Booster, int] | tuple[LinearModel]
# The weight and the models of each component of a mixture.
_Components: TypeAlias = list[tuple[float, list[_FittedModel]]]
# The part that holds out each row, the rows that weights are chosen on, and per part the rows of its linear model.
_HeldOut: TypeAlias = tuple[_Integers, _Integers, list[_Integers]]

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

# The log-linear pool (a weighted geometric mean of shares): order weights, tie weights, tie offset and its share.
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
    x: _Floats, y: _Positions, weights: _Weights, options: _MixtureOptions
) -> _MixtureFit: ...
def mixture_pair_shares(
    components: _Components, pool: _Pool | None, x: _Floats, n_jobs: int
) -> tuple[_Floats, list[int]]: ...
def mixture_consensus(
    spec: _Spec, components: _Components, pool: _Pool | None, x: _Floats, n_jobs: int
) -> tuple[_Integers, list[int]]: ...
def mixture_shap_values(
    components: _Components,
    pool: _Pool | None,
    x: _Floats,
    background: _Floats,
    orders: tuple[int, int],  # number of random orders of the features, and their seed
    n_jobs: int,
) -> tuple[_Floats, list[int]]: ...

_ExplainedModel: TypeAlias = (
    tuple[Tree, _Smoothing] | tuple[Forest, float] | tuple[Booster] | tuple[LinearModel]
)

def shap_values(model: _ExplainedModel, x: _Floats, n_jobs: int) -> _Floats: ...
def shap_base_values(model: _ExplainedModel, n_jobs: int) -> _Floats: ...
def label_scores(model: _ExplainedModel, x: _Floats, n_jobs: int) -> _Floats: ...

class _BoostOptions(TypedDict):
    rounds: int
    learning_rate: float
    max_depth: int
    min_samples_leaf: int
    ridge: float
    row_share: float
    feature_share: float | None
    max_bins: int
    thresholds: str
    validation_share: float | None
    patience: int
    seed: int
    n_jobs: int

@final
class Booster:
    @staticmethod
    def fit(
        x: _Floats,
        y: _Positions,
        weights: _Weights,
        options: _BoostOptions,
        on_round: Callable[[int, float | None], None] | None,
    ) -> Booster: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def rounds(self) -> int: ...
    def staged_scores(self, x: _Floats, rounds: list[int], n_jobs: int) -> list[_Floats]: ...
    def compared_labels(self) -> NDArray[np.bool_]: ...
    def feature_importances(self) -> _Floats: ...
    def validation_scores(self) -> _Floats: ...
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
        x: _Floats,
        y: _Positions,
        weights: _Weights,
        options: _LinearOptions,
        categorical: list[tuple[int, int]],
    ) -> LinearModel: ...
    def information(
        self, x: _Floats, y: _Positions, weights: _Weights, options: _LinearOptions
    ) -> tuple[_Floats, _Floats | None]: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def steps(self) -> int: ...
    @property
    def converged(self) -> bool: ...
    def scores(self, x: _Floats) -> _Floats: ...
    def coefficients(self) -> tuple[_Floats, _Floats]: ...
    def indicators(self) -> _Integers: ...
    def categorical(self) -> list[tuple[int, int]]: ...
    def scale(self) -> tuple[_Floats, _Floats]: ...
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

# A kind of shrinkage of the pair shares of leaves, and its strength.
_Smoothing: TypeAlias = tuple[str, float]

class _CrossValidationMethods(TypedDict):
    trees: list[_TreeOptions]
    tree_aggregator: _Spec
    aggregators: list[list[_Spec]]

# A dataset for `cross_validate`, with the seed of its folds.
@final
class Problem:
    def __new__(cls, x: _Floats, y: _Positions, weights: _Weights, seed: int) -> Problem: ...

def fold_of_rows(rows: int, n_folds: int, seed: int, repeat: int) -> _Integers: ...

# Seeds of one fold: for dropping labels, and for the random draws of a learner.
def split_seeds(seed: int, missing: float, repeat: int, fold: int) -> tuple[int, int]: ...

# A task is the index of a problem, the share of missing labels, repeat, fold, and the indices of tree and aggregators.
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
    parent: _Integers
    depth: _Integers
    feature: _Integers
    first_child: _Integers
    children: _Integers
    rows: _Integers
    weight: _Floats
    impurity: _Floats
    missing_left: _Integers
    thresholds: list[list[float]]

@final
class Tree:
    @staticmethod
    def fit(
        x: _Floats, y: _Positions, weights: _Weights, spec: _Spec, options: _TreeOptions
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
    def apply(self, x: _Floats) -> _Integers: ...
    def consensus(
        self, spec: _Spec, leaves: _Integers, n_jobs: int, smoothing: _Smoothing | None = None
    ) -> _Integers: ...
    def predict(self, spec: _Spec, x: _Floats, n_jobs: int) -> _Integers: ...
    def pair_shares(self, smoothing: _Smoothing, leaves: _Integers) -> _Floats: ...
    def soft_consensus(
        self, spec: _Spec, x: _Floats, n_jobs: int, smoothing: _Smoothing
    ) -> _Integers: ...
    def soft_pair_shares(self, smoothing: _Smoothing, x: _Floats, n_jobs: int) -> _Floats: ...
    def pair_orders(self, nodes: _Integers) -> _Floats: ...
    def node_rows(self, node: int) -> _Integers: ...
    def node_rankings(self, node: int) -> _Integers: ...
    def paths(self, leaves: _Integers) -> tuple[_Integers, _Integers]: ...
    def nodes(self) -> _Nodes: ...
    def feature_importances(self) -> _Floats: ...
    def leaves(self) -> _Integers: ...
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
    def grown(self, x: _Floats, options: _TreeOptions, variant: str, trees: int) -> Forest: ...
    def consensus(
        self, spec: _Spec, x: _Floats, strength: float, out_of_bag: bool, n_jobs: int
    ) -> _Integers: ...
    def pair_shares(
        self, x: _Floats, strength: float, out_of_bag: bool, n_jobs: int
    ) -> _Floats: ...
    def out_of_bag_counts(self) -> _Integers: ...
    def apply(self, x: _Floats) -> _Integers: ...
    def feature_importances(self) -> _Floats: ...
    def sizes(self) -> list[tuple[int, int]]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> Forest: ...
    def __reduce__(self) -> tuple[Any, tuple[bytes]]: ...

# A container, the format of saved models: a description, and parts that are arrays or models.
def pack(description: str, parts: list[Any]) -> bytes: ...
def unpack(data: bytes, what: str) -> tuple[str, list[Any]]: ...
def check_saved_header(header: bytes, length: int, what: str) -> None: ...
