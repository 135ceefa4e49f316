//! The looks spend small errors: the test must hold them with few pairs and heavy tails.

use steady_model::Layout;
use steady_stats::{Pair, Paired};

use crate::simulated::{Machine, NOISES, most};

#[test]
fn small_alphas_hold() {
    let alphas = [0.001, 0.01, 0.05];
    let mut table = String::new();
    let mut worst = vec![];
    for (count, experiments) in [(12, 40_000), (21, 30_000), (50, 20_000), (200, 8_000)] {
        let mut rejected = [0; 3];
        for experiment in 0..experiments {
            let noise = NOISES[experiment % NOISES.len()];
            let mut machine = Machine::new(noise, experiment as u64 * 1000 + count as u64);
            let pairs: Vec<Pair> = (0..count).map(|_| machine.pair(Layout::Turns, 0.0)).collect();
            let p = Paired::new(&pairs, 0.0).test(0.0).p;
            for (rejected, alpha) in rejected.iter_mut().zip(alphas) {
                *rejected += usize::from(p <= alpha);
            }
        }
        for (rejected, alpha) in rejected.into_iter().zip(alphas) {
            table += &format!("n {count:4} alpha {alpha}: {:.5}\n", rejected as f64 / experiments as f64);
            if rejected > most(experiments, alpha) {
                worst.push((count, alpha, rejected));
            }
        }
    }
    assert!(worst.is_empty(), "{worst:?}\n{table}");
}
