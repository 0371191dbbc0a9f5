//! The Cholesky factor of a covariance matrix, and its inverse.

/// The lower Cholesky factor of a symmetric matrix, or `None` where it is not positive definite.
pub(super) fn factorise(dim: usize, matrix: &[f64]) -> Option<Vec<f64>> {
    let mut factor = vec![0.0; dim * dim];
    for i in 0..dim {
        for j in 0..=i {
            let (here, mirrored) = (matrix[i * dim + j], matrix[j * dim + i]);
            if (here - mirrored).abs() > 1e-9 * here.abs().max(mirrored.abs()) {
                return None;
            }
            let known: f64 = (0..j).map(|m| factor[i * dim + m] * factor[j * dim + m]).sum();
            let rest = here - known;
            factor[i * dim + j] = if i == j {
                Some(rest.sqrt()).filter(|root| root.is_finite() && *root > 0.0)?
            } else {
                rest / factor[j * dim + j]
            };
        }
    }
    Some(factor)
}

/// The inverse of a lower triangular matrix, by forward substitution.
pub(super) fn invert_lower(dim: usize, factor: &[f64]) -> Vec<f64> {
    let mut inverse = vec![0.0; dim * dim];
    for column in 0..dim {
        for i in column..dim {
            let unit = if i == column { 1.0 } else { 0.0 };
            let known: f64 = (column..i).map(|m| factor[i * dim + m] * inverse[m * dim + column]).sum();
            inverse[i * dim + column] = (unit - known) / factor[i * dim + i];
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_squares_to_the_matrix_and_its_inverse_undoes_it() {
        let matrix = [4.0, 2.0, -1.0, 2.0, 5.0, 0.5, -1.0, 0.5, 3.0];
        let factor = factorise(3, &matrix).unwrap();
        let inverse = invert_lower(3, &factor);
        for i in 0..3 {
            for j in 0..3 {
                let square: f64 = (0..3).map(|m| factor[i * 3 + m] * factor[j * 3 + m]).sum();
                assert!((square - matrix[i * 3 + j]).abs() < 1e-12);
                let unit: f64 = (0..3).map(|m| factor[i * 3 + m] * inverse[m * 3 + j]).sum();
                assert!((unit - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
    }
}
