"""Input: equivalent arrays of all types give equal results, and invalid input raises specific errors."""

from __future__ import annotations

import contextlib
import math
import sysconfig
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bucketrank as br

NAN = math.nan
TRUTH = [[1, 2, 3], [1, 1, 2], [2, 1, 2]]
PREDICTED = np.array([[1, 2, 2], [2, 1, 3], [1, 1, 1]])
EXPECTED = br.tau_x(TRUTH, PREDICTED)


def _read_only(array: Any) -> Any:
    array.setflags(write=False)
    return array


BASE = np.array(TRUTH)
SAME: dict[str, Any] = {
    "list": TRUTH,
    "tuples": tuple(map(tuple, TRUTH)),
    "fortran": np.asfortranarray(BASE),
    "strided": np.repeat(np.repeat(BASE, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": BASE[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": _read_only(BASE.copy()),
    "big-endian": BASE.astype(">i4"),
    "big-endian floats": BASE.astype(">f8"),
    "frame": pd.DataFrame(TRUTH),
    "nullable frame": pd.DataFrame(TRUTH).astype("Int64"),
    "mixed frame": pd.DataFrame(TRUTH).astype({0: "int8", 1: "float32", 2: "uint16"}),
    "masked, nothing masked": np.ma.MaskedArray(BASE, mask=False),
    **{
        t: BASE.astype(t) for t in ["int8", "uint8", "int16", "uint16", "int32", "uint32", "uint64"]
    },
    **{t: BASE.astype(t) for t in ["float16", "float32", "float64", "longdouble"]},
}


@pytest.mark.parametrize("kind", SAME)
def test_every_kind_of_array_means_the_same(kind: str) -> None:
    assert br.tau_x(SAME[kind], PREDICTED) == EXPECTED
    matrix = np.asarray(br.pair_order_matrix(SAME[kind]))
    np.testing.assert_array_equal(matrix, br.pair_order_matrix(TRUTH))


def test_missing_values_of_every_kind_are_nan() -> None:
    expected = br.pair_order_matrix([[1, NAN], [2, 1]])
    frame = pd.DataFrame({"a": [1, 2], "b": [None, 1]}, dtype="Int64")
    masked = np.ma.MaskedArray([[1, 5], [2, 1]], mask=[[False, True], [False, False]])
    for Y in (frame, masked):
        np.testing.assert_array_equal(np.asarray(br.pair_order_matrix(Y)), expected)


def test_outputs_are_int64_arrays() -> None:
    assert br.to_dense_ranks(np.array([[3.5, 1.0]])).dtype == np.int64
    assert br.from_text("a > b").positions.dtype == np.int64


def test_frames_come_back_as_frames() -> None:
    frame = pd.DataFrame([[1, 3], [5, 5]], columns=["a", "b"], index=["x", "y"])
    ranks = br.to_dense_ranks(frame)
    assert ranks.columns.tolist() == ["a", "b"]
    assert ranks.index.tolist() == ["x", "y"]
    assert ranks.to_numpy().tolist() == [[1, 2], [1, 1]]
    matrix = br.pair_order_matrix(ranks)
    assert matrix.loc["a", "b"] == 0.75
    assert br.drop_labels(ranks, 1, seed=0).isna().all(axis=None)


BAD: list[tuple[Any, type[Exception], str]] = [
    (np.empty((0, 3)), ValueError, r"found 0 rows; expected at least one"),
    ([], ValueError, r"expected 2-D: one row per ranking"),
    ([[]], ValueError, r"found 0 label"),
    ([[1], [1]], ValueError, r"found 1 label; expected at least 2"),
    ([1, 2, 3], ValueError, r"has 1 dimension, shape \(3,\); expected 2.*pass \[y\]"),
    (np.ones((2, 2, 2)), ValueError, r"has 3 dimensions"),
    (5, ValueError, r"has 0 dimensions"),
    (None, TypeError, r"^Y\w* is None; expected numbers in an array, a list or a DataFrame"),
    ({"a": [1], "b": [2]}, TypeError, r"^Y\w* is of type dict; expected numbers"),
    ({1, 2}, TypeError, r"^Y\w* is of type set; expected numbers"),
    (iter([[1, 2]]), TypeError, r"^Y\w* is of type list_iterator; expected numbers"),
    ("a > b", TypeError, r"^Y\w* is 'a > b'; expected numbers"),
    ([["a", "b"]], TypeError, r"dtype <U1; expected integers or floats \(row 0, label 0: 'a'\)"),
    ([[1, None]], TypeError, r"dtype object.*row 0, label 1: None\); NaN marks"),
    ([[1, 2], [1, {}]], TypeError, r"row 1, label 1: \{\}"),
    ([[True, False]], TypeError, r"dtype bool"),
    ([[1j, 2]], TypeError, r"dtype complex128"),
    ([[1, 2], [1]], ValueError, r"row 1: 1 entry, but row 0 has 2"),
    (pd.DataFrame({"a": [1], "b": ["x"]}), TypeError, r"column 'b': dtype"),
    (pd.DataFrame(index=[0]), ValueError, r"found 0 labels; expected at least 2"),
    ([[1, 2, 3], [0, 1, 2]], ValueError, r"row 1, label 0: position 0; positions start at 1"),
    ([[1, 2, -3]], ValueError, r"row 0, label 2: position -3; positions start at 1"),
    ([[1, 2, -math.inf]], ValueError, r"row 0, label 2: position -inf"),
    (
        np.array([[1, 2**63]], dtype=np.uint64),
        ValueError,
        r"row 0, label 1: the position is too large; expected up to 2\*\*63 - 1",
    ),
    ([[1, 2], [1, 10**30]], ValueError, r"row 1, label 1: the position is too large"),
    ([[1, -(10**30)]], ValueError, r"row 0, label 1: the position is too small"),
    ([[1, 2], [1, "x"]], TypeError, r"\(row 1, label 1: 'x'\); NaN marks a missing label"),
    (
        [[0, 1, 2]],
        ValueError,
        r"use NaN for a label that is not ranked, or add 1 to positions that",
    ),
    (np.ones((1, 70_000)), ValueError, r"found 70000 labels; expected at most 65535"),
]


@pytest.mark.parametrize(("Y", "error", "message"), BAD, ids=range(len(BAD)))
@pytest.mark.parametrize(
    "function",
    [br.pair_order_matrix, lambda Y: br.tau_x(Y, Y), lambda Y: br.drop_labels(Y, 0.5, 1)],
    ids=["pair_order_matrix", "tau_x", "drop_labels"],
)
def test_bad_rankings(
    function: Callable[[Any], Any], Y: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        function(Y)


def test_sixty_thousand_labels_work_for_tau_x_and_are_rejected_for_pairs() -> None:
    Y = np.arange(1, 60_001).reshape(1, -1)
    assert br.tau_x(Y, Y[:, ::-1]) == -1.0
    with pytest.raises(ValueError, match=r"found 60000 labels; expected at most 8192"):
        br.pair_order_matrix(Y)


METRICS = [br.tau_x, br.kendall_tau, br.bucket_count_difference]


@pytest.mark.parametrize("metric", [*METRICS, br.tau_x_samples])
def test_metrics_need_complete_rankings_of_one_shape(metric: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"Y_true, row 1, label 0: position missing \(NaN\)"):
        metric([[1, 2], [NAN, 1]], [[1, 2], [1, 2]])
    with pytest.raises(ValueError, match=r"Y_pred, row 0, label 1: position missing"):
        metric([[1, 2]], [[1, NAN]])
    with pytest.raises(
        ValueError, match=r"Y_true has shape \(1, 2\) but Y_pred has shape \(1, 3\)"
    ):
        metric([[1, 2]], [[1, 2, 3]])
    with pytest.raises(ValueError, match=r"\(2, 2\) but Y_pred has shape \(1, 2\)"):
        metric([[1, 2], [1, 2]], [[1, 2]])
    left, right = (
        pd.DataFrame([[1, 2]], columns=["a", "b"]),
        pd.DataFrame([[1, 2]], columns=["b", "a"]),
    )
    with pytest.raises(ValueError, match=r"expected the same labels in the same order"):
        metric(left, right)


def test_kendall_tau_needs_total_orders() -> None:
    with pytest.raises(ValueError, match=r"Y_true, row 1: labels 0 and 2 are tied"):
        br.kendall_tau([[1, 2, 3], [1, 2, 1]], [[1, 2, 3], [1, 2, 3]])


WEIGHTED = [
    *[lambda w, m=m: m([[1, 2], [2, 1]], [[1, 2], [1, 2]], sample_weight=w) for m in METRICS],
    lambda w: br.pair_order_matrix([[1, 2], [2, 1]], w),
]


@pytest.mark.parametrize("function", WEIGHTED)
@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ([1, -1], ValueError, r"row 1: weight -1; expected a finite number that is not negative"),
        ([NAN, 1], ValueError, r"row 0: weight NaN"),
        ([1, math.inf], ValueError, r"row 1: weight inf"),
        ([0, 0], ValueError, r"all 2 weights are zero"),
        ([1], ValueError, r"found 1 weight for 2 rows"),
        ([1e308, 1e308], ValueError, r"add up to infinity"),
        ([[1, 1]], ValueError, r"sample_weight has 2 dimensions"),
        (["a", "b"], TypeError, r"sample_weight has dtype <U1.* \(row 0: 'a'\)$"),
        ([1, "b"], TypeError, r"expected integers or floats \(row 1: 'b'\)$"),
        ([1, None], TypeError, r"dtype object; expected integers or floats \(row 1: None\)$"),
        ([True, False], TypeError, r"dtype bool; expected integers or floats \(row 0: True\)$"),
        ([1, 10**30], ValueError, r"sample_weight, row 1: the weight is too large"),
        (3.0, ValueError, r"sample_weight has 0 dimensions"),
    ],
)
def test_bad_weights(
    function: Callable[[Any], Any], weights: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        function(weights)


@pytest.mark.parametrize("fraction", [-0.1, 1.1, NAN, math.inf])
def test_bad_fractions(fraction: float) -> None:
    with pytest.raises(ValueError, match=r"fraction is .*; expected a number from 0 to 1"):
        br.drop_labels([[1, 2]], fraction, seed=0)


@pytest.mark.parametrize(
    ("seed", "error"), [(-1, ValueError), (2**64, ValueError), (1.0, TypeError), (None, TypeError)]
)
def test_bad_seeds(seed: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"seed is .*; expected a whole number"):
        br.drop_labels([[1, 2]], 0.5, seed=seed)
    with pytest.raises(TypeError, match=r"fraction is '0.5'; expected a number"):
        br.drop_labels([[1, 2]], "0.5", seed=0)  # type: ignore[arg-type]


def test_dense_ranks_reject_minus_infinity_and_wrong_shapes() -> None:
    with pytest.raises(ValueError, match=r"row 0, label 1: -inf cannot be ranked"):
        br.to_dense_ranks([[1.0, -math.inf]])
    with pytest.raises(ValueError, match=r"has 1 dimension"):
        br.to_dense_ranks([1.0, 2.0])


@pytest.mark.skipif(
    sysconfig.get_config_var("Py_GIL_DISABLED") == 1,
    reason="a free-threaded Python has no global lock to release",
)
def test_other_threads_run_during_a_long_call() -> None:
    Y = np.tile(np.arange(1, 101), (200_000, 1))
    ticks = 0
    done = threading.Event()

    def work() -> None:
        br.tau_x(Y, Y)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.wait(0.0005):
        ticks += 1
    thread.join()
    # If the call did not release the GIL, this thread would run at most once.
    assert ticks > 5


def test_arrays_with_odd_strides() -> None:
    packed = np.zeros(4, [("weight", "f8"), ("other", "i4"), ("row", "f8", (3,))])
    Y = [[1, 2, 3], [2, 1, 3], [1, 2, 3], [1, 3, 2]]
    packed["weight"], packed["row"] = [1, 2, 3, 4], Y
    expected = br.pair_order_matrix(Y, [1, 2, 3, 4])
    np.testing.assert_array_equal(br.pair_order_matrix(packed["row"], packed["weight"]), expected)
    np.testing.assert_array_equal(br.to_dense_ranks(packed["row"]), Y)
    misaligned = np.frombuffer(b"\0" + np.array(Y).tobytes(), dtype=np.int64, offset=1)
    np.testing.assert_array_equal(br.to_dense_ranks(misaligned.reshape(4, 3)), Y)


def test_large_integers_survive_nullable_and_masked_containers() -> None:
    large = [[2**53, 2**53 + 1]]
    for values in (pd.DataFrame(large, dtype="Int64"), np.ma.MaskedArray(large)):
        assert np.asarray(br.to_dense_ranks(values)).tolist() == [[1, 2]]
    with pytest.raises(TypeError, match=r"dtype <U1"):
        br.pair_order_matrix(np.ma.MaskedArray([["a", "b"]]))


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e300, 8e307])
def test_extreme_weights_do_not_vanish_or_overflow(scale: float) -> None:
    Y, Z = [[1, 2, 3], [1, 1, 2]], [[1, 2, 2], [1, 2, 3]]
    weights = [scale, scale]
    assert br.tau_x(Y, Z, weights) == pytest.approx(br.tau_x(Y, Z))
    assert br.bucket_count_difference(Y, Z, weights) == 0.0
    np.testing.assert_allclose(br.pair_order_matrix(Y, weights), br.pair_order_matrix(Y))


@pytest.mark.parametrize("dtype", [float, object])
def test_gaps_and_fractions_are_ranked_densely(dtype: type) -> None:
    dense = np.array([[1, 2, 2, 3], [1, 2, 2, 3], [2, 1, NAN, 3]])
    written: Any = np.array([[1, 2, 2, 4], [1, 2.5, 2.5, 4], [0.5, 0.25, NAN, 1e300]]).astype(dtype)
    Y: Any = written if dtype is float else pd.DataFrame(written.astype(float))
    other = [[2, 1, 3, 4]] * 3
    np.testing.assert_array_equal(br.TauX().aggregate(Y), br.TauX().aggregate(dense))
    np.testing.assert_array_equal(br.pair_order_matrix(Y), br.pair_order_matrix(dense))
    np.testing.assert_array_equal(br.Borda().aggregate_many([Y])[0], br.Borda().aggregate(dense))
    expected = br.tau_x(dense, other, missing="ignore")
    assert br.tau_x(Y, other, missing="ignore") == expected
    assert br.tau_x(Y[:2] if dtype is float else Y.iloc[:2], other[:2]) == br.tau_x(
        dense[:2], other[:2]
    )
    X = np.arange(3.0).reshape(-1, 1)
    trees = [br.PartialLabelRankingTree().fit(X, y).predict(X) for y in (Y, dense)]
    np.testing.assert_array_equal(*trees)


def test_metric_errors_name_the_argument() -> None:
    with pytest.raises(ValueError, match=r"^Y_pred, row 0, label 1: position 0"):
        br.tau_x([[1, 2]], [[1, 0]])
    with pytest.raises(ValueError, match=r"^Y_true, row 0, label 0: position 0"):
        br.kendall_tau([[0, 1]], [[1, 2]])


def test_numbers_too_large_for_floats() -> None:
    with pytest.raises(ValueError, match=r"beta is too large"):
        br.Borda(10**400)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_calls_never_panic_while_another_thread_writes_the_array(kind: Any) -> None:
    Y = np.tile(np.arange(1, 41, dtype=kind), (2000, 1))
    stop = threading.Event()

    def write() -> None:
        values = np.array([0, -7, 2**62, 5, 1], dtype=kind)
        while not stop.is_set():
            for value in values:
                Y[::3, ::7] = value
            Y[:] = np.arange(1, 41)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(40):
            for call in (
                lambda: br.to_dense_ranks(Y),
                lambda: br.tau_x(Y, Y),
                lambda: br.Borda().aggregate(Y),
                lambda: br.TauX().aggregate(Y),
            ):
                # Positions that are not positive are an error; a panic would be a BaseException.
                with contextlib.suppress(br.RankingError):
                    call()
    finally:
        stop.set()
        writer.join()
