"""Leaderboards: scores with intervals, and tiers of statistically tied labels."""

from __future__ import annotations

from bucketrank.boards.resampling import leaderboard
from bucketrank.boards.result import Leaderboard

__all__ = ["Leaderboard", "leaderboard"]
