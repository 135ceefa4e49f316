//! Small least-squares problems: a few columns, some with non-negative coefficients.

/// A column with a smaller remainder, relative to itself, depends on the other columns; the remainder is rounding.
const COLLINEAR: f64 = 1e-10;

/// Returns the coefficients with which the sum of `columns` is closest to `target`; `None` if the columns are
/// collinear.
///
/// It uses the Gram-Schmidt process column by column, which does not square the condition number of the problem.
pub(super) fn solve(columns: &[Vec<f64>], target: &[f64]) -> Option<Vec<f64>> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut above: Vec<Vec<f64>> = Vec::new();
    for column in columns {
        let (mut rest, mut shares) = (column.clone(), Vec::new());
        for one in &basis {
            let share = dot(one, &rest);
            rest.iter_mut().zip(one).for_each(|(rest, one)| *rest -= share * one);
            shares.push(share);
        }
        let (length, before) = (dot(&rest, &rest).sqrt(), dot(column, column).sqrt());
        if length.is_nan() || length <= COLLINEAR * before {
            return None;
        }
        shares.push(length);
        basis.push(rest.into_iter().map(|value| value / length).collect());
        above.push(shares);
    }
    let mut rest = target.to_vec();
    let mut right: Vec<f64> = Vec::new();
    for one in &basis {
        let share = dot(one, &rest);
        rest.iter_mut().zip(one).for_each(|(rest, one)| *rest -= share * one);
        right.push(share);
    }
    for column in (0..columns.len()).rev() {
        right[column] /= above[column][column];
        for row in 0..column {
            right[row] -= above[column][row] * right[column];
        }
    }
    Some(right)
}

/// Returns the same with a positive first coefficient and non-negative other coefficients. It tries all subsets of the
/// columns after the first, and returns the closest fit that satisfies the bounds.
pub(super) fn solve_nonnegative(columns: &[Vec<f64>], target: &[f64]) -> Option<Vec<f64>> {
    let optional = columns.len() - 1;
    let mut best: Option<(f64, Vec<f64>)> = None;
    for kept in 0..1_usize << optional {
        let used: Vec<usize> = (0..columns.len()).filter(|&at| at == 0 || kept >> (at - 1) & 1 == 1).collect();
        let chosen: Vec<Vec<f64>> = used.iter().map(|&at| columns[at].clone()).collect();
        let Some(found) = solve(&chosen, target) else { continue };
        if found[0] <= 0.0 || found.iter().any(|value| *value < 0.0) {
            continue;
        }
        let mut all = vec![0.0; columns.len()];
        used.iter().zip(&found).for_each(|(&at, value)| all[at] = *value);
        let left = squares(columns, &all, target);
        if best.as_ref().is_none_or(|(least, _)| left < *least) {
            best = Some((left, all));
        }
    }
    best.map(|(_, all)| all)
}

/// Returns the sum of the columns with these coefficients at one row.
pub(super) fn sum_at(columns: &[Vec<f64>], coefficients: &[f64], row: usize) -> f64 {
    columns.iter().zip(coefficients).map(|(column, value)| column[row] * value).sum()
}

fn squares(columns: &[Vec<f64>], coefficients: &[f64], target: &[f64]) -> f64 {
    target.iter().enumerate().map(|(row, value)| (value - sum_at(columns, coefficients, row)).powi(2)).sum()
}

fn dot(one: &[f64], two: &[f64]) -> f64 {
    one.iter().zip(two).map(|(one, two)| one * two).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_solution_recovers_a_parabola() {
        let n: Vec<f64> = (1..=40).map(f64::from).collect();
        let columns = [vec![1.0; 40], n.clone(), n.iter().map(|n| n * n).collect()];
        let target: Vec<f64> = n.iter().map(|n| 5.0 - 2.0 * n + 0.25 * n * n).collect();
        let found = solve(&columns, &target).unwrap();
        for (found, truth) in found.iter().zip([5.0, -2.0, 0.25]) {
            assert!((found - truth).abs() < 1e-8, "{found} {truth}");
        }
        assert_eq!(solve(&[n.clone(), n], &target), None, "equal columns");
    }

    #[test]
    fn coefficients_respect_their_bounds() {
        let n: Vec<f64> = (1..=20).map(f64::from).collect();
        let columns = [vec![1.0; 20], n.clone(), n.iter().map(|n| n * n).collect()];
        let falling: Vec<f64> = n.iter().map(|n| 5.0 - 0.1 * n).collect();
        let found = solve_nonnegative(&columns, &falling).unwrap();
        assert_eq!(found[1..], [0.0, 0.0], "neither may be negative");
        assert!((found[0] - (5.0 - 0.1 * 10.5)).abs() < 1e-9);
        let rising: Vec<f64> = n.iter().map(|n| 1.0 + 0.1 * n).collect();
        let found = solve_nonnegative(&columns, &rising).unwrap();
        assert!((found[1] - 0.1).abs() < 1e-6 && found[2] < 1e-6, "{found:?}");
    }
}
