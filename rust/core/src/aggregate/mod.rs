//! Rank aggregation: one bucket order for many rankings.
//!
//! [`Aggregator`] names a method and its parameters, [`Evidence`] holds the statistics of the rankings, and
//! [`Workspace`] the scratch buffers shared by many calls.

mod borda;
mod bucket_pivot;
mod copeland;
mod davidson;
mod davidson_fit;
mod evidence;
mod external;
mod kemeny;
mod leximin;
mod lottery_lp;
mod many;
mod markov_chain;
mod maximal_lottery;
mod optimum;
mod ranked_pairs;
mod reciprocal_rank_fusion;
mod schulze;
mod scorer;
mod stationary;
mod symmetric_game;
mod tableau;
mod tau_x;
pub(crate) mod threshold;

pub use borda::Borda;
pub use bucket_pivot::BucketPivot;
pub use copeland::Copeland;
pub use davidson::Davidson;
pub(crate) use davidson::TIE_TOLERANCE as UTILITY_TOLERANCE;
pub use davidson_fit::{DavidsonFit, ErrorKind};
pub use evidence::{Evidence, Needs};
pub use external::{External, ExternalFailure, ExternalInput, ExternalMethod};
pub use kemeny::{Kemeny, KemenyParams, KemenySearch};
pub use many::{
    aggregate_each, aggregate_pair_orders, aggregate_pair_shares, estimate_cost, BatchOptions,
};
pub use markov_chain::MarkovChain;
pub use maximal_lottery::MaximalLottery;
pub use optimum::Buckets;
pub use ranked_pairs::RankedPairs;
pub use reciprocal_rank_fusion::ReciprocalRankFusion;
pub use schulze::Schulze;
pub use scorer::Scorer;
pub use tau_x::{TauX, TauXSearch};

use crate::bucket_order::BucketOrder;
use crate::error::{Error, Result};
use crate::rankings::{Rankings, MISSING};
use crate::run::Interrupt;

/// A rank aggregation method with valid parameters.
///
/// # Examples
/// ```
/// use bucketrank_core::aggregate::{Aggregator, Borda, Evidence, Workspace};
/// use bucketrank_core::rankings::Rankings;
/// use bucketrank_core::run::Interrupt;
/// use ndarray::array;
///
/// let y = Rankings::new(array![[1, 2, 3_i64], [2, 1, 3]].view(), None, &Interrupt::never())?;
/// let borda = Aggregator::Borda(Borda::default());
/// let evidence = Evidence::from_rankings(&y, borda.needs(), &Interrupt::never())?;
/// let order = borda.aggregate(&evidence, &mut Workspace::default())?;
/// assert_eq!(order.positions(), [1, 1, 2]);
/// # Ok::<(), bucketrank_core::error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Aggregator {
    /// Sum of the shares of won comparisons.
    Borda(Borda),
    /// Number of won comparisons.
    Copeland(Copeland),
    /// Quicksort-like partition around pivots.
    BucketPivot(BucketPivot),
    /// Stationary distribution of a Markov chain that moves to labels ranked higher.
    MarkovChain(MarkovChain),
    /// Probability in a lottery over the labels that no other lottery beats.
    MaximalLottery(MaximalLottery),
    /// Largest expected τ_X, a rank correlation, with a ranking that has the given pair shares.
    TauX(TauX),
    /// Smallest total distance to the rankings.
    Kemeny(Kemeny),
    /// Most probable utilities (log-strengths) and tie terms (tendencies to be tied) in Davidson's model.
    Davidson(Davidson),
    /// Sum of reciprocal ranks.
    ReciprocalRankFusion(ReciprocalRankFusion),
    /// Strongest paths of majorities.
    Schulze(Schulze),
    /// Majorities accepted in descending order of strength, unless they form a cycle.
    RankedPairs(RankedPairs),
    /// A method that the host (the program that calls this crate) implements.
    External(External),
}

impl Aggregator {
    /// Statistics that [`Evidence`] must hold for this method.
    #[must_use]
    pub fn needs(&self) -> Needs {
        self.method().needs()
    }

    /// The consensus of the rankings that the evidence describes.
    ///
    /// # Errors
    /// [`Error::TooLittleKnown`] when the evidence lacks a statistic that the method needs; [`Error::Unsolved`] when a
    /// maximal lottery or Davidson's model could not be computed accurately; [`Error::TooManyBuckets`] or
    /// [`Error::LabelWeightCount`] when the required buckets or the label weights do not fit the number of labels;
    /// [`Error::External`] when a method of the host fails; [`Error::Interrupted`].
    pub fn aggregate(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<BucketOrder> {
        self.method().aggregate(evidence, workspace)
    }

    /// The consensus of a subset of rows. `evidence` is a scratch buffer with the same number of labels and all
    /// statistics that the method needs.
    ///
    /// # Errors
    /// As [`Self::aggregate`] and [`Evidence::fill`].
    ///
    /// # Panics
    /// When a row does not exist.
    pub fn aggregate_rows(
        &self,
        rankings: &Rankings,
        rows: impl Iterator<Item = usize> + Clone,
        evidence: &mut Evidence,
        workspace: &mut Workspace,
    ) -> Result<BucketOrder> {
        let method = self.method();
        if method.preserves_unanimity() {
            let mut others = rows.clone();
            let first = others.next().map(|row| rankings.row(row));
            let mut is_unanimous = |first: &[u16]| others.all(|row| rankings.row(row) == first);
            if let Some(first) =
                first.filter(|&first| !first.contains(&MISSING) && is_unanimous(first))
            {
                return Ok(BucketOrder::from_dense(first.to_vec()));
            }
        }
        evidence.fill(rankings, rows, &workspace.interrupt)?;
        method.aggregate(evidence, workspace)
    }

    /// The consensus and the intermediate results of the method.
    ///
    /// # Errors
    /// As [`Self::aggregate`].
    pub fn explain(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Explanation> {
        self.method().explain(evidence, workspace)
    }

    /// Whether the method may read the pair order matrix when pair shares (before, tied and after) are available.
    /// Conservative: also true for methods that never read it, such as Kemeny.
    pub(crate) fn reads_pair_order(&self) -> bool {
        !matches!(self, Self::TauX(method) if method.orders_by_net_preference())
    }

    fn method(&self) -> &dyn Aggregate {
        match self {
            Self::Borda(method) => method,
            Self::Copeland(method) => method,
            Self::BucketPivot(method) => method,
            Self::MarkovChain(method) => method,
            Self::MaximalLottery(method) => method,
            Self::TauX(method) => method,
            Self::Kemeny(method) => method,
            Self::Davidson(method) => method,
            Self::ReciprocalRankFusion(method) => method,
            Self::Schulze(method) => method,
            Self::RankedPairs(method) => method,
            Self::External(method) => method,
        }
    }
}

/// Interface of all aggregation methods.
trait Aggregate {
    fn needs(&self) -> Needs {
        Needs::PairOrder
    }

    /// Whether the consensus of identical complete rankings is that ranking, so that no pairs need to be counted.
    fn preserves_unanimity(&self) -> bool {
        false
    }

    fn aggregate(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<BucketOrder>;

    fn explain(&self, evidence: &Evidence, workspace: &mut Workspace) -> Result<Explanation>;
}

/// Scratch buffers of one thread, reused by many calls; no results carry over between calls.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Scores of the labels.
    scores: Vec<f64>,
    /// The labels in a sorted order.
    order: Vec<usize>,
    /// Integer scores of the labels.
    levels: Vec<u32>,
    /// Per integer score: first whether it occurs, later its position.
    present: Vec<u16>,
    partition: bucket_pivot::Partition,
    chain: markov_chain::TransitionMatrix,
    game: symmetric_game::SymmetricGame,
    tableau: tableau::Tableau,
    cutter: tau_x::BucketCutter,
    interrupt: Interrupt,
}

impl Workspace {
    /// Empty buffers, which grow on first use. Calls return [`Error::Interrupted`] soon after `interrupt` is requested.
    #[must_use]
    pub fn new(interrupt: &Interrupt) -> Self {
        let mut workspace = Self {
            interrupt: interrupt.clone(),
            ..Self::default()
        };
        workspace.chain.set_interrupt(interrupt);
        workspace.tableau.set_interrupt(interrupt);
        workspace
    }
}

/// A consensus with the intermediate results of its method.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The consensus.
    pub order: BucketOrder,
    /// Intermediate results of the method.
    pub details: Details,
}

/// Intermediate results of a method.
#[derive(Debug, Clone, PartialEq)]
pub enum Details {
    /// Borda, Copeland, reciprocal rank fusion and Schulze.
    Scores {
        /// Score of each label.
        scores: Vec<f64>,
    },
    /// Bucket pivot.
    BucketPivot {
        /// Per label, the mean distance of its comparisons from the nearest of "before", "tied" and "after".
        indecision: Vec<f64>,
        /// Pivots in preorder: of the whole list, then of its left part, then of its right part.
        pivots: Vec<usize>,
        /// Σ |C(u,v) − B(u,v)| over ordered pairs, with the bucket matrix B of the result: 1 before, ½ tied, 0
        /// after.
        distance: f64,
    },
    /// Markov chains.
    MarkovChain {
        /// Limit of the chain's distribution from the uniform start.
        stationary: Vec<f64>,
        /// Largest change of a probability in one step of the chain.
        residual: f64,
    },
    /// Maximal lottery.
    MaximalLottery {
        /// Probability of each label.
        probabilities: Vec<f64>,
        /// Smallest expected margin against a label: at least 0, up to rounding.
        margin: f64,
        /// Whether this is the only maximal lottery.
        unique: bool,
    },
    /// Largest expected τ_X.
    TauX {
        /// Scores by which the labels were ordered: net preference, or the scores of another method.
        scores: Vec<f64>,
        /// Expected τ_X of the result.
        expected_tau_x: f64,
        /// Per boundary between adjacent buckets, the loss of expected τ_X if the buckets were merged.
        boundary_gains: Vec<f64>,
        /// Upper bound of the expected τ_X of all bucket orders.
        upper_bound: f64,
        /// Whether the result is proven optimal.
        optimal: bool,
        /// Whether no other bucket order has the same value, if the search knows it.
        unique: Option<bool>,
    },
    /// Kemeny's consensus.
    Kemeny {
        /// Scaled net preference of each label (before minus after, summed over the other labels); the search starts
        /// from the order by these scores.
        scores: Vec<f64>,
        /// Sum of the distances to the rankings.
        distance: f64,
        /// Lower bound of the sum for all permitted bucket orders.
        lower_bound: f64,
        /// Distance minus lower bound: 0 if the result is proven optimal.
        gap: f64,
        /// Whether the result is proven optimal.
        optimal: bool,
        /// Whether no other bucket order has the same distance, if the search knows it.
        unique: Option<bool>,
        /// Sizes of the sets of labels that could be ordered independently of each other, best labels first.
        components: Vec<usize>,
    },
    /// A method of the host, whose intermediate results are unknown.
    External,
    /// Ranked pairs.
    RankedPairs {
        /// Wins minus losses of each label along locked majorities.
        scores: Vec<f64>,
        /// Discarded majorities, as winner and loser, strongest first.
        discarded: Vec<(usize, usize)>,
    },
    /// Davidson's model.
    Davidson {
        /// Most probable utility (log-strength) of each label.
        utilities: Vec<f64>,
        /// Most probable tie term (tendency to be tied) of each label; empty if ties count half.
        tie_terms: Vec<f64>,
        /// Standard errors of the utilities.
        utility_errors: Vec<f64>,
        /// Standard errors of the tie terms.
        tie_term_errors: Vec<f64>,
    },
}

/// Checks that β is finite and not negative.
fn check_beta(beta: f64) -> Result<f64> {
    if beta.is_finite() && beta >= 0.0 {
        Ok(beta)
    } else {
        Err(Error::Parameter {
            name: "beta",
            found: beta,
            expected: "a finite number that is not negative",
        })
    }
}
