//! Binomial draws whose cost does not depend on the number of trials.

use crate::random::Generator;

/// Below this expected number of successes, inversion is cheaper than rejection.
const REJECTION_FROM: f64 = 10.0;

/// Binomial distributions with one probability of success and any number of trials.
#[derive(Debug, Clone)]
pub(super) struct Binomial {
    /// Probability of a success, or of a failure if that is smaller.
    p: f64,
    /// Whether failures are drawn.
    is_mirrored: bool,
    odds: f64,
    /// ln(1 − p).
    log_complement: f64,
}

impl Binomial {
    pub(super) fn new(p: f64) -> Self {
        let is_mirrored = p > 0.5;
        let p = if is_mirrored { 1.0 - p } else { p };
        Self {
            p,
            is_mirrored,
            odds: p / (1.0 - p),
            log_complement: (-p).ln_1p(),
        }
    }

    /// Number of successes.
    pub(super) fn draw(&self, generator: &mut Generator, trials: u64) -> u64 {
        let drawn = if trials == 0 || self.p <= 0.0 {
            0
        } else if trials as f64 * self.p < REJECTION_FROM {
            self.invert(generator, trials)
        } else {
            Rejection::new(self, trials as f64).draw(generator)
        };
        if self.is_mirrored {
            trials - drawn
        } else {
            drawn
        }
    }

    /// Draw by inversion: subtracts the probabilities of 0, 1, 2, … successes from a uniform number until it is used up.
    fn invert(&self, generator: &mut Generator, trials: u64) -> u64 {
        let n = trials as f64;
        let mut probability = (n * self.log_complement).exp();
        let mut rest = generator.unit();
        let mut successes = 0;
        while rest > probability && successes < trials {
            rest -= probability;
            successes += 1;
            let k = successes as f64;
            probability *= self.odds * (n - k + 1.0) / k;
            // All further probabilities underflow to zero.
            if probability < f64::MIN_POSITIVE {
                break;
            }
        }
        successes
    }
}

/// Rejection from a transformed uniform distribution, with the constants of the algorithm BTRS.
///
/// Reference: W. Hörmann, *The generation of binomial random variates*, Journal of Statistical Computation and
/// Simulation 46, 1993.
struct Rejection {
    n: f64,
    odds: f64,
    a: f64,
    b: f64,
    centre: f64,
    accept_below: f64,
    alpha: f64,
    mode: f64,
}

impl Rejection {
    /// For an expected number of successes of 10 or more.
    fn new(binomial: &Binomial, n: f64) -> Self {
        let p = binomial.p;
        let deviation = (n * p * (1.0 - p)).sqrt();
        let b = 1.15 + 2.53 * deviation;
        Self {
            n,
            odds: binomial.odds,
            a: -0.0873 + 0.0248 * b + 0.01 * p,
            b,
            centre: n * p + 0.5,
            accept_below: 0.92 - 4.2 / b,
            alpha: (2.83 + 5.1 / b) * deviation,
            mode: ((n + 1.0) * p).floor(),
        }
    }

    fn draw(&self, generator: &mut Generator) -> u64 {
        loop {
            let v = generator.unit();
            let u = generator.unit() - 0.5;
            let side = 0.5 - u.abs();
            let k = ((2.0 * self.a / side + self.b) * u + self.centre).floor();
            if side >= 0.07 && v <= self.accept_below {
                return k as u64;
            }
            let height = v * self.alpha / (self.a / (side * side) + self.b);
            if (0.0..=self.n).contains(&k) && height.ln() <= self.log_ratio(k) {
                return k as u64;
            }
        }
    }

    /// Logarithm of the probability of k relative to that of the mode.
    fn log_ratio(&self, k: f64) -> f64 {
        let (n, odds, mode) = (self.n, self.odds, self.mode);
        (mode + 0.5) * ((mode + 1.0) / (odds * (n - mode + 1.0))).ln()
            + (n + 1.0) * ((n - mode + 1.0) / (n - k + 1.0)).ln()
            + (k + 0.5) * (odds * (n - k + 1.0) / (k + 1.0)).ln()
            + stirling_error(mode)
            + stirling_error(n - mode)
            - stirling_error(k)
            - stirling_error(n - k)
    }
}

/// Error of Stirling's formula: ln k! − ((k + ½) ln(k + 1) − (k + 1) + ½ ln 2π).
fn stirling_error(k: f64) -> f64 {
    const TABLE: [f64; 10] = [
        0.081_061_466_795_327_26,
        0.041_340_695_955_409_29,
        0.027_677_925_684_998_34,
        0.020_790_672_103_765_09,
        0.016_644_691_189_821_19,
        0.013_876_128_823_070_75,
        0.011_896_709_945_891_77,
        0.010_411_265_261_972_09,
        0.009_255_462_182_712_733,
        0.008_330_563_433_362_87,
    ];
    if k < 10.0 {
        return TABLE[k as usize];
    }
    let next = 1.0 / (k + 1.0);
    let square = next * next;
    (1.0 / 12.0 - (1.0 / 360.0 - square / 1260.0) * square) * next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binomial(generator: &mut Generator, trials: u64, p: f64) -> u64 {
        Binomial::new(p).draw(generator, trials)
    }

    /// Exact probabilities by the recursion from 0, in logarithms.
    fn probabilities(trials: u64, p: f64) -> Vec<f64> {
        let n = trials as f64;
        let mut log = n * (-p).ln_1p();
        let mut all = vec![log.exp()];
        for k in 1..=trials {
            log += (p / (1.0 - p)).ln() + ((n - k as f64 + 1.0) / k as f64).ln();
            all.push(log.exp());
        }
        all
    }

    #[test]
    fn draws_follow_the_binomial_distribution() {
        for (seed, (trials, p)) in [(7, 0.3), (40, 0.02), (100, 0.5), (300, 0.11), (500, 0.93)]
            .into_iter()
            .enumerate()
        {
            let mut generator = Generator::new(seed as u64);
            let binomial = Binomial::new(p);
            let draws = 40_000;
            let mut seen = vec![0.0; trials as usize + 1];
            for _ in 0..draws {
                seen[binomial.draw(&mut generator, trials) as usize] += 1.0;
            }
            let (mut statistic, mut cells) = (0.0, 0.0);
            for (seen, probability) in seen.iter().zip(probabilities(trials, p)) {
                let expected = probability * f64::from(draws);
                if expected >= 5.0 {
                    statistic += (seen - expected) * (seen - expected) / expected;
                    cells += 1.0;
                }
            }
            // About four standard deviations of a χ² distribution.
            let limit = cells + 4.0 * (2.0_f64 * cells).sqrt();
            assert!(statistic < limit, "{trials} {p}: {statistic} > {limit}");
        }
    }

    #[test]
    fn extremes_are_exact() {
        let mut generator = Generator::new(1);
        assert_eq!(binomial(&mut generator, 0, 0.5), 0);
        assert_eq!(binomial(&mut generator, 9, 0.0), 0);
        assert_eq!(binomial(&mut generator, 9, 1.0), 9);
        let huge = 1_u64 << 52;
        let half = binomial(&mut generator, huge, 0.5) as f64;
        // Six standard deviations.
        assert!((half - huge as f64 / 2.0).abs() < 6.0 * (huge as f64).sqrt() / 2.0);
    }

    #[test]
    fn stirling_errors_match_their_definition() {
        let log_factorial = |k: u32| (1..=k).map(|i| f64::from(i).ln()).sum::<f64>();
        for k in 0..30 {
            let x = f64::from(k);
            let formula =
                (x + 0.5) * (x + 1.0).ln() - (x + 1.0) + 0.5 * (2.0 * std::f64::consts::PI).ln();
            assert!(
                (stirling_error(x) - (log_factorial(k) - formula)).abs() < 1e-10,
                "{k}"
            );
        }
    }

    #[test]
    fn log_ratios_are_those_of_the_exact_probabilities() {
        for (trials, p) in [(40_u64, 0.3), (100, 0.5), (600, 0.02)] {
            let exact = probabilities(trials, p);
            let rejection = Rejection::new(&Binomial::new(p), trials as f64);
            let mode = exact[rejection.mode as usize];
            assert!(exact.iter().all(|&other| other <= mode * (1.0 + 1e-9)));
            // Some smaller probabilities underflow, so they have no exact logarithm to compare with.
            for (k, probability) in exact.iter().enumerate().filter(|(_, &p)| p > 1e-100) {
                let (found, expected) = (rejection.log_ratio(k as f64), (probability / mode).ln());
                assert!(
                    (found - expected).abs() < 1e-8,
                    "{trials} {p} {k}: {found} {expected}"
                );
            }
        }
    }
}
