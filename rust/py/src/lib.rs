//! The extension module `bucketrank._core`: convert, detach from the interpreter, call the core, convert back. What all
//! bindings share for this is in `border`, the boundary between Python and Rust.

mod aggregate;
mod boost;
mod border;
mod comparisons;
mod cross_validation;
mod explanation;
mod forest;
mod latent;
mod leaderboard;
mod linear;
mod metrics;
mod mixture;
mod rankings;
mod saved;
mod shap;
mod tree;

use pyo3::prelude::*;

/// Kernels of bucketrank; the public, documented interface is the package `bucketrank`.
///
/// Works without the global interpreter lock: all classes are frozen, and `tests/test_threads.py` calls them from
/// several threads of a free-threaded Python.
#[pymodule(gil_used = false)]
mod _core {
    // The consensus of rankings, pair order matrices (per ordered pair of labels how often the first is before the
    // second, ties counting half) or tables of pair shares (per pair how often before, tied and after).
    #[pymodule_export]
    use crate::aggregate::{
        aggregate, aggregate_many, aggregate_pair_order, aggregate_pair_orders,
        aggregate_pair_shares, explain,
    };
    #[pymodule_export]
    use crate::boost::Booster;
    // Checks of the parameters of estimators.
    #[pymodule_export]
    use crate::border::params::{check_bounded_count, check_ranker_counts, resolve_tree_sizes};
    // Whether sets of rankings are arrays that need no further check.
    #[pymodule_export]
    use crate::border::sets::are_plain_sets;
    // Counts of pairs, and what is computed from them.
    #[pymodule_export]
    use crate::comparisons::{
        aggregate_counts, connected_components, count_comparisons, count_rankings, explain_counts,
        fit_davidson,
    };
    // A `Problem` is a dataset to cross-validate on.
    #[pymodule_export]
    use crate::cross_validation::{cross_validate, fold_of_rows, split_seeds, Problem};
    #[pymodule_export]
    use crate::forest::Forest;
    // Bucket orders and pair shares from the scores of a latent model: for each label a utility, which orders the
    // labels, and a tie term, its tendency to be tied.
    #[pymodule_export]
    use crate::latent::{aggregate_scores, latent_pair_shares};
    // Scores of resampled data, and the labels whose scores differ significantly.
    #[pymodule_export]
    use crate::leaderboard::{resample_scores, separate_labels};
    #[pymodule_export]
    use crate::linear::LinearModel;
    // `samples`: one value per row; `ranked`: on the labels that both rankings rank.
    #[pymodule_export]
    use crate::metrics::{
        bucket_count_differences, check_weights, kendall_tau_samples, pair_agreements,
        rank_biased_overlaps, tau_x, tau_x_ranked, tau_x_ranked_samples, tau_x_samples,
    };
    #[pymodule_export]
    use crate::mixture::{
        fit_mixture, mixture_consensus, mixture_pair_shares, mixture_shap_values,
    };
    #[pymodule_export]
    use crate::rankings::{
        drop_labels, order_categories, pair_order_matrix, parse_positions, to_dense_ranks,
    };
    #[pymodule_export]
    use crate::saved::{check_saved_header, pack, unpack};
    #[pymodule_export]
    use crate::shap::{label_scores, shap_base_values, shap_values};
    #[pymodule_export]
    use crate::tree::Tree;

    use super::border::params::{defaults, LIMITS};
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("LIMITS", LIMITS)?;
        module.add("DEFAULTS", defaults())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
