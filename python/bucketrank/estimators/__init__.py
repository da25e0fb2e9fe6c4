"""Partial label rankers: scikit-learn estimators that predict bucket orders (rankings with ties)."""
