//! Linear regression on a few columns.

/// A column with a smaller remainder, relative to itself, depends on the other columns; the remainder is rounding.
const COLLINEAR: f64 = 1e-9;

/// Solves the symmetric positive definite system `matrix x = right` by Cholesky decomposition; `None` if it is
/// singular.
pub(super) fn solve(matrix: &[Vec<f64>], right: &[f64]) -> Option<Vec<f64>> {
    let factor = factor(matrix)?;
    let mut found = right.to_vec();
    for row in 0..found.len() {
        let known: f64 = (0..row).map(|column| factor[row][column] * found[column]).sum();
        found[row] = (found[row] - known) / factor[row][row];
    }
    for row in (0..found.len()).rev() {
        let known: f64 = (row + 1..found.len()).map(|below| factor[below][row] * found[below]).sum();
        found[row] = (found[row] - known) / factor[row][row];
    }
    Some(found)
}

fn factor(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let mut factor = vec![vec![0.0; size]; size];
    for row in 0..size {
        for column in 0..=row {
            let known: f64 = (0..column).map(|k| factor[row][k] * factor[column][k]).sum();
            let left = matrix[row][column] - known;
            if row != column {
                factor[row][column] = left / factor[column][column];
            } else if left > COLLINEAR * matrix[row][row] {
                factor[row][row] = left.sqrt();
            } else {
                return None;
            }
        }
    }
    Some(factor)
}

/// Returns the coefficients of the weighted least-squares regression of `target` on `columns`. `None` if the columns
/// are collinear.
pub(super) fn regress(columns: &[Vec<f64>], target: &[f64], weights: &[f64]) -> Option<Vec<f64>> {
    let right: Vec<f64> = columns.iter().map(|column| product(column, target, weights)).collect();
    solve(&gram(columns, weights), &right)
}

/// Returns the leverage of each row: its weight in its own fitted value. Empty without columns, and zero if they are
/// collinear.
pub(super) fn leverages(columns: &[Vec<f64>]) -> Vec<f64> {
    let rows = columns.first().map_or(0, Vec::len);
    let squares = gram(columns, &vec![1.0; rows]);
    let leverage = |row: usize| {
        let own: Vec<f64> = columns.iter().map(|column| column[row]).collect();
        let solved = solve(&squares, &own)?;
        Some(own.iter().zip(solved).map(|(one, other)| one * other).sum())
    };
    (0..rows).map(|row| leverage(row).unwrap_or(0.0)).collect()
}

/// Returns the logarithm of the determinant of the Gram matrix; 0 without columns.
pub(super) fn log_determinant(columns: &[Vec<f64>]) -> Option<f64> {
    let ones = vec![1.0; columns.first().map_or(0, Vec::len)];
    let factor = factor(&gram(columns, &ones))?;
    Some((0..factor.len()).map(|row| 2.0 * factor[row][row].ln()).sum())
}

/// Returns the Gram matrix: the weighted products of all columns with each other.
pub(super) fn gram(columns: &[Vec<f64>], weights: &[f64]) -> Vec<Vec<f64>> {
    columns.iter().map(|one| columns.iter().map(|other| product(one, other, weights)).collect()).collect()
}

/// Returns the residuals of `target` after subtracting the columns with these coefficients.
pub(super) fn residuals(columns: &[Vec<f64>], coefficients: &[f64], target: &[f64]) -> Vec<f64> {
    let fitted = |row: usize| columns.iter().zip(coefficients).map(|(column, value)| column[row] * value).sum::<f64>();
    target.iter().enumerate().map(|(row, value)| value - fitted(row)).collect()
}

fn product(one: &[f64], other: &[f64], weights: &[f64]) -> f64 {
    one.iter().zip(other).zip(weights).map(|((one, other), weight)| one * other * weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leverages_sum_to_the_number_of_columns() {
        let columns = [vec![1.0; 5], vec![0.0, 1.0, 2.0, 3.0, 10.0]];
        let found = leverages(&columns);
        assert!((found.iter().sum::<f64>() - 2.0).abs() < 1e-9 && found[4] > 0.9, "{found:?}");
        assert!(leverages(&[]).is_empty());
    }

    #[test]
    fn regression_recovers_the_coefficients() {
        let n: Vec<f64> = (0..30).map(f64::from).collect();
        let columns = [vec![1.0; 30], n.clone(), n.iter().map(|n| (n * 0.7).sin()).collect()];
        let target: Vec<f64> = (0..30).map(|row| 3.0 - 0.5 * columns[1][row] + 2.0 * columns[2][row]).collect();
        let found = regress(&columns, &target, &n).unwrap();
        for (found, truth) in found.iter().zip([3.0, -0.5, 2.0]) {
            assert!((found - truth).abs() < 1e-9, "{found} {truth}");
        }
        assert!(residuals(&columns, &found, &target).iter().all(|left| left.abs() < 1e-9));
        assert_eq!(regress(&[n.clone(), n], &target, &[1.0; 30]), None, "equal columns");
    }
}
