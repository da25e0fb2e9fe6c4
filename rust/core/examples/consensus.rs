//! The consensus of three ballots with ties, by two methods.

use bucketrank_core::aggregate::{Aggregator, Copeland, Evidence, TauX, Workspace};
use bucketrank_core::error::Error;
use bucketrank_core::rankings::Rankings;
use bucketrank_core::run::Interrupt;
use ndarray::array;

fn main() -> Result<(), Error> {
    let ballots = array![[1_i64, 2, 2], [1, 3, 2], [2, 1, 3]];
    let rankings = Rankings::new(ballots.view(), None, &Interrupt::never())?;
    for method in [
        Aggregator::TauX(TauX::default()),
        Aggregator::Copeland(Copeland::default()),
    ] {
        let evidence = Evidence::from_rankings(&rankings, method.needs(), &Interrupt::never())?;
        let order = method.aggregate(&evidence, &mut Workspace::default())?;
        println!("{method:?}: {:?}", order.positions());
    }
    Ok(())
}
