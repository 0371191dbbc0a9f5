//! The machine's limit: a matrix product so large that nothing but arithmetic counts.

use super::Work;
use crate::Failure;

/// c ← a b in single precision, by the `gemm` crate.
pub struct Sgemm {
    size: usize,
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
    parallelism: gemm::Parallelism,
}

impl Sgemm {
    /// Rows and columns that are enough for it.
    pub const SIZE: usize = 2048;

    /// Matrices of so many rows and columns, ready to be multiplied by so many threads.
    pub fn new(size: usize, threads: usize) -> Self {
        let matrix = |value| vec![value; size * size];
        let parallelism = match threads {
            1 => gemm::Parallelism::None,
            _ => gemm::Parallelism::Rayon(threads),
        };
        Self { size, a: matrix(0.5), b: matrix(0.25), c: matrix(0.0), parallelism }
    }
}

impl Work for Sgemm {
    #[allow(unsafe_code)]
    fn call(&mut self) -> Result<(), Failure> {
        let (a, b, c) = (self.a.as_ptr(), self.b.as_ptr(), self.c.as_mut_ptr());
        let (n, across) = (self.size, self.size as isize);
        // SAFETY: all three vectors hold n × n numbers, by columns, and are different vectors.
        unsafe {
            gemm::gemm(
                n,
                n,
                n,
                c,
                across,
                1,
                false,
                a,
                across,
                1,
                b,
                across,
                1,
                0.0,
                1.0,
                false,
                false,
                false,
                self.parallelism,
            );
        }
        Ok(())
    }

    fn flops(&self) -> f64 {
        2.0 * (self.size as f64).powi(3)
    }

    fn value(&self) -> Option<f64> {
        self.c.last().copied().map(f64::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_product_is_the_product() {
        let size = 200;
        let mut sgemm = Sgemm::new(size, 1);
        sgemm.call().expect("a product cannot fail");
        assert!(sgemm.c.iter().all(|&value| value == 0.5 * 0.25 * size as f32));
    }
}
