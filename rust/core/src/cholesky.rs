//! [`Cholesky`]: solves symmetric positive definite systems of linear equations.

/// Cholesky factor: the lower triangle L with L·Lᵀ = matrix.
pub(crate) struct Cholesky {
    lower: Vec<f64>,
    size: usize,
}

impl Cholesky {
    /// Factorises a row-major matrix; only its lower triangle is read. `None` unless it is positive definite.
    pub(crate) fn new(mut matrix: Vec<f64>, size: usize) -> Option<Self> {
        for j in 0..size {
            for i in j..size {
                let (head, tail) = matrix.split_at(i * size);
                let row_j = if i == j {
                    &tail[..j]
                } else {
                    &head[j * size..j * size + j]
                };
                let dot: f64 = tail[..j].iter().zip(row_j).map(|(a, b)| a * b).sum();
                let remainder = tail[j] - dot;
                let value = if i > j {
                    remainder / matrix[j * size + j]
                } else if remainder > 0.0 {
                    remainder.sqrt()
                } else {
                    return None;
                };
                matrix[i * size + j] = value;
            }
        }
        Some(Self {
            lower: matrix,
            size,
        })
    }

    /// Replaces b by L⁻¹ b.
    fn substitute_forward(&self, b: &mut [f64]) {
        for i in 0..self.size {
            let row = &self.lower[i * self.size..i * self.size + i];
            let dot: f64 = row.iter().zip(&*b).map(|(a, b)| a * b).sum();
            b[i] = (b[i] - dot) / self.lower[i * self.size + i];
        }
    }

    /// Replaces b by the solution of matrix · x = b.
    pub(crate) fn solve(&self, b: &mut [f64]) {
        self.substitute_forward(b);
        for i in (0..self.size).rev() {
            let row = &self.lower[i * self.size..i * self.size + i];
            b[i] /= self.lower[i * self.size + i];
            let solved = b[i];
            for (b, l) in b.iter_mut().zip(row) {
                *b -= l * solved;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solve_inverts_the_product() {
        let matrix = vec![4.0, 2.0, -1.0, 2.0, 5.0, 0.5, -1.0, 0.5, 3.0];
        let factor = Cholesky::new(matrix.clone(), 3).unwrap();
        let expected = [1.0, -2.0, 3.0];
        let mut b: Vec<f64> = matrix
            .chunks(3)
            .map(|row| row.iter().zip(expected).map(|(a, x)| a * x).sum())
            .collect();
        factor.solve(&mut b);
        assert!(b.iter().zip(expected).all(|(x, y)| (x - y).abs() < 1e-14));
    }

    #[test]
    fn indefinite_matrices_have_no_factor() {
        assert!(Cholesky::new(vec![1.0, 2.0, 2.0, 1.0], 2).is_none());
        assert!(Cholesky::new(vec![f64::NAN], 1).is_none());
    }
}
