//! Fits the Universal Scalability Law to throughput.
//!
//! Gunther, Guerrilla Capacity Planning, 2007: `X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))`. The time that
//! a unit of work takes one of N processes, `N / X(N)`, is linear in `1/lambda`, `sigma/lambda` and `kappa/lambda`,
//! none of which is negative. Errors are assumed to be relative. An interval contains the values whose best fit is not
//! significantly worse than the best of all (profile likelihood, with Student's t). Such intervals respect the bounds.
//! With one parameter of the law fixed, the fit of the others is linear again.

use statrs::distribution::{ContinuousCDF, StudentsT};
use steady_model::{Absent, Interval, Reading};

use super::least::{solve_nonnegative, sum_at};
use super::{Fitted, ScalabilityLaw, ScalingPoint};

/// The minimum number of points for a fit: twice the number of parameters.
const FEWEST: usize = 6;
/// The confidence level of the intervals.
const CONFIDENCE: f64 = 0.95;
/// The number of Gauss-Newton steps; the weights depend on the previous fit.
const STEPS: usize = 6;
/// An end of an interval is infinite if it is beyond this factor of the estimate. So is a peak beyond this number of
/// processes.
const FAR: f64 = 1e6;
/// Why there is no peak if kappa is zero up to rounding.
const NO_PEAK: &str = "in the fitted law throughput never falls";

/// Fits the law to points with distinct numbers of processes.
pub(super) fn law(points: &[ScalingPoint]) -> Reading<ScalabilityLaw> {
    if points.len() < FEWEST {
        return Err(Absent::because(format!("a fit needs at least {FEWEST} different numbers of processes")));
    }
    let data = Data::of(points);
    let best = data.fit(&data.columns(|n| vec![1.0, n - 1.0, n * (n - 1.0)]), 0.0);
    let best = best.ok_or_else(|| Absent::because("no such law fits the points"))?;
    let [first, linear, square] = best.coefficients[..] else { unreachable!("three columns") };
    let (lambda, sigma, kappa) = (1.0 / first, linear / first, square / first);
    let limit = data.limit(best.squares);
    let interval = |value, profile: &dyn Fn(f64) -> f64| Fitted { value, interval: within(value, limit, profile) };
    Ok(ScalabilityLaw {
        lambda: interval(lambda, &|lambda| data.holding_lambda(lambda)),
        sigma: interval(sigma, &|sigma| data.squares(|n| vec![1.0 + sigma * (n - 1.0), n * (n - 1.0)])),
        kappa: interval(kappa, &|kappa| data.squares(|n| vec![1.0 + kappa * n * (n - 1.0), n - 1.0])),
        peak: peak(&data, sigma, kappa, limit),
        residual_ratio: (best.squares / points.len() as f64).sqrt(),
    })
}

/// Returns the number of processes with the highest throughput: `sqrt((1 - sigma) / kappa)`.
fn peak(data: &Data, sigma: f64, kappa: f64, limit: f64) -> Reading<Fitted> {
    if kappa <= 0.0 {
        return Err(Absent::because(NO_PEAK));
    }
    let value = ((1.0 - sigma) / kappa).sqrt();
    if value > FAR {
        return Err(Absent::because(NO_PEAK));
    }
    if value.is_nan() || value < 1.0 {
        return Err(Absent::because("in the fitted law throughput falls from the first process on"));
    }
    // With the peak fixed at m, the time is a (1 + N (N - 1) / m^2) + b N, where b / (a + b) is sigma.
    let holding = |m: f64| data.squares(|n| vec![1.0 + n * (n - 1.0) / (m * m), n]);
    Ok(Fitted { value, interval: within(value, limit, &holding) })
}

/// The data of the fit: the time that a unit of work takes at N processes.
struct Data {
    procs: Vec<f64>,
    times: Vec<f64>,
}

/// A fit with its residual sum of squares, of relative errors.
struct Fit {
    coefficients: Vec<f64>,
    squares: f64,
}

impl Data {
    fn of(points: &[ScalingPoint]) -> Data {
        let procs = points.iter().map(|point| f64::from(point.procs)).collect();
        Data { procs, times: points.iter().map(|point| point.work_per_wall_second.recip()).collect() }
    }

    /// Returns a column for each entry of `terms`.
    fn columns(&self, terms: impl Fn(f64) -> Vec<f64>) -> Vec<Vec<f64>> {
        let rows: Vec<Vec<f64>> = self.procs.iter().map(|&n| terms(n)).collect();
        (0..rows[0].len()).map(|column| rows.iter().map(|row| row[column]).collect()).collect()
    }

    /// Fits the columns to the times minus `offset`, by least squares of logarithms.
    fn fit(&self, columns: &[Vec<f64>], offset: f64) -> Option<Fit> {
        let mut expected = self.times.clone();
        let mut coefficients = Vec::new();
        for _ in 0..STEPS {
            let scaled: Vec<Vec<f64>> = columns
                .iter()
                .map(|column| column.iter().zip(&expected).map(|(value, at)| value / at).collect())
                .collect();
            let target: Vec<f64> =
                self.times.iter().zip(&expected).map(|(time, at)| (time / at).ln() + 1.0 - offset / at).collect();
            coefficients = solve_nonnegative(&scaled, &target)?;
            expected = (0..self.times.len()).map(|row| offset + sum_at(columns, &coefficients, row)).collect();
        }
        let squares = self.times.iter().zip(&expected).map(|(time, at)| (time / at).ln().powi(2)).sum();
        Some(Fit { coefficients, squares })
    }

    /// Returns the residual sum of squares of the best fit of these terms.
    fn squares(&self, terms: impl Fn(f64) -> Vec<f64>) -> f64 {
        self.fit(&self.columns(terms), 0.0).map_or(f64::INFINITY, |fit| fit.squares)
    }

    /// Returns the residual sum of squares of the best fit with a fixed throughput of one process. Each of the other
    /// two parameters may be zero. If both are, all times are equal.
    fn holding_lambda(&self, lambda: f64) -> f64 {
        let alone = lambda.recip();
        let constant: f64 = self.times.iter().map(|time| (time / alone).ln().powi(2)).sum();
        let columns = self.columns(|n| vec![n - 1.0, n * (n - 1.0)]);
        let fits = [columns.clone(), columns.into_iter().rev().collect()];
        let left = fits.iter().filter_map(|columns| self.fit(columns, alone)).map(|fit| fit.squares);
        left.fold(constant, f64::min)
    }

    /// Returns the largest residual sum of squares that is not significantly worse than `least`.
    fn limit(&self, least: f64) -> f64 {
        let freedom = (self.times.len() - 3) as f64;
        let student =
            StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |t| t.inverse_cdf((1.0 + CONFIDENCE) / 2.0));
        // The rounding error of an exact fit must not give an interval of width zero.
        least * (1.0 + student * student / freedom) + 1e-20 * self.times.len() as f64
    }
}

/// Returns the interval around `value`, at least zero, in which the residual sum of squares is at most `limit`.
fn within(value: f64, limit: f64, profile: &dyn Fn(f64) -> f64) -> Interval {
    let holds = |at: f64| profile(at) <= limit;
    let low = if holds(f64::MIN_POSITIVE) { 0.0 } else { edge(f64::MIN_POSITIVE, value, &holds) };
    // A parameter of zero has no scale, so start with a small step.
    let mut step = if value > 0.0 { value } else { 1e-9 };
    let mut inside = value;
    while step < FAR * value.max(1e-9) {
        if !holds(value + step) {
            return Interval { low, high: edge(value + step, inside, &holds) };
        }
        inside = value + step;
        step *= 2.0;
    }
    Interval { low, high: f64::INFINITY }
}

/// Returns the border between `outside` and `inside`, by bisection.
fn edge(mut outside: f64, mut inside: f64, holds: &dyn Fn(f64) -> bool) -> f64 {
    for _ in 0..50 {
        let middle = (outside + inside) / 2.0;
        if holds(middle) { inside = middle } else { outside = middle }
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(lambda: f64, sigma: f64, kappa: f64) -> Vec<ScalingPoint> {
        let rate = |n: f64| lambda / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
        (1..=12).map(|n| ScalingPoint::new(n, 1.0, rate(f64::from(n)))).collect()
    }

    fn close(fitted: &Fitted, truth: f64) {
        assert!((fitted.value / truth - 1.0).abs() < 1e-6, "{fitted:?} {truth}");
        assert!(fitted.interval.low <= truth * (1.0 + 1e-6) && truth * (1.0 - 1e-6) <= fitted.interval.high);
    }

    #[test]
    fn the_fit_recovers_the_parameters() {
        let law = law(&points(70.0, 0.04, 0.003)).unwrap();
        close(&law.lambda, 70.0);
        close(&law.sigma, 0.04);
        close(&law.kappa, 0.003);
        close(&law.peak.unwrap(), (0.96_f64 / 0.003).sqrt());
        assert!(law.residual_ratio < 1e-9);
    }

    #[test]
    fn laws_without_a_peak_have_a_reason() {
        let amdahl = law(&points(70.0, 0.1, 0.0)).unwrap();
        assert!(amdahl.kappa.value < 1e-9, "{:?}", amdahl.kappa);
        let falling = law(&points(70.0, 1.5, 0.2)).unwrap();
        assert!(falling.peak.unwrap_err().0.contains("from the first process on"));
        let free = law(&points(70.0, 0.0, 0.0)).unwrap();
        assert!(free.sigma.value < 1e-9 && free.kappa.value < 1e-9);
        assert!(free.peak.unwrap_err().0.contains("never falls"));
    }

    #[test]
    fn few_points_give_no_law() {
        assert!(
            law(&points(70.0, 0.1, 0.0)[..5]).unwrap_err().0.starts_with("a fit needs at least 6 different numbers")
        );
    }
}
