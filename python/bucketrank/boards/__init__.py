"""Leaderboards: scores with intervals, and who is statistically tied."""

from __future__ import annotations

from bucketrank.boards.resampling import leaderboard
from bucketrank.boards.result import Leaderboard

__all__ = ["Leaderboard", "leaderboard"]
