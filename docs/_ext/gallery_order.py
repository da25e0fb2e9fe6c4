"""Order of the examples in the gallery: votes, leaderboards, learning, studies."""

from __future__ import annotations

TOPICS = {
    "votes": ["ballots", "pair_order", "agreement_of_methods", "number_of_ballots"],
    "leaderboards": ["tied_players", "leaderboard"],
    "learning": [
        "tree_drawn",
        "regions",
        "shares",
        "coefficients",
        "importances",
        "label_effects",
        "early_stopping",
    ],
    "studies": ["missing_labels", "beta_study", "bucket_counts", "critical_difference"],
}
"""Per topic, the names of its examples without ``plot_``. A new example has to be added here."""


class TopicOrder:
    """Sort key of sphinx-gallery: the place of an example in `TOPICS`."""

    def __init__(self, folder: str) -> None:  # noqa: ARG002 (the signature of sort keys)
        self.order = [f"plot_{name}.py" for names in TOPICS.values() for name in names]

    def __call__(self, file_name: str) -> int:
        """Return the place of an example; an unknown one is an error."""
        return self.order.index(file_name)

    def __repr__(self) -> str:
        return "TopicOrder"
