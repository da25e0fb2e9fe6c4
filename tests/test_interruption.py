"""Ctrl-C stops a long aggregation within about a second."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time

import pytest

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals work differently on Windows")

# Each takes far longer than the test waits: rankings in pair counting, matrices in pivots and elimination.
LONG_CALLS = {
    "lottery": "br.MaximalLottery().aggregate(Y)",
    "lottery, explained": "br.MaximalLottery().explain(Y)",
    "lottery of a matrix": "br.MaximalLottery().aggregate_pair_order(C)",
    "lotteries": "br.MaximalLottery().aggregate_many([Y, Y], n_jobs=1)",
    "lotteries on two threads": "br.MaximalLottery().aggregate_many([Y, Y], n_jobs=2)",
    "lotteries of matrices": "br.MaximalLottery().aggregate_pair_order(np.stack([C, C]))",
    "chain": "br.MarkovChain(4).aggregate_pair_order(C)",
    "chain, explained": "br.MarkovChain(2).explain(Y)",
    "weighted rankings": "br.Borda().aggregate(Y, np.full(len(Y), 0.5))",
    "pairs": "br.pair_order_matrix(Y)",
}


@posix
@pytest.mark.parametrize("kind", LONG_CALLS)
def test_ctrl_c_stops_a_long_call(kind: str) -> None:
    code = f"""
    import time
    import numpy as np
    import bucketrank as br

    def matrix(n):
        upper = np.triu(rng.random((n, n)), 1)
        return upper + np.tril(1 - upper.T, -1) + 0.5 * np.eye(n)

    rng = np.random.default_rng(0)
    Y = np.tile(rng.permutation(1000) + 1, (15_000, 1))
    C = matrix({3000 if kind == "chain" else 1200})
    br.MaximalLottery().aggregate([[1, 2, 3]])
    print("ready", flush=True)
    try:
        {LONG_CALLS[kind]}
    except KeyboardInterrupt:
        print(time.time(), br.Borda().aggregate([[1, 2, 3]]).tolist() == [1, 2, 3])
    else:
        print("the call ended before the signal")
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == "ready\n"
            time.sleep(0.7)
            sent = time.time()
            child.send_signal(signal.SIGINT)
            words = child.stdout.readline().split()
        finally:
            child.kill()
    assert words[1:] == ["True"], words
    assert float(words[0]) - sent < 1.5
