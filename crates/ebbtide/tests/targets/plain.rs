//! The targets as the paper prints them, written without regard to speed and without the library.

use std::f64::consts::TAU;

use ebbtide::target::NamedTarget;

/// A target as the paper prints it.
pub enum Plain {
    /// Means and covariances (by rows) of components of equal weight.
    Mixture(Vec<(Vec<f64>, Vec<f64>)>),
    /// The variance of x₀.
    Funnel(f64),
    /// a of each well.
    Manywell(Vec<[f64; 4]>),
}

impl Plain {
    pub fn of(target: NamedTarget) -> Self {
        match target {
            NamedTarget::Gmm25 => Self::Mixture(distorted_components(0.0)),
            NamedTarget::SlightlyDistortedGmm25 => Self::Mixture(distorted_components(0.05)),
            NamedTarget::DistortedGmm25 => Self::Mixture(distorted_components(0.1)),
            NamedTarget::Gmm125 => Self::Mixture(cube_components()),
            NamedTarget::Gmm40 => Self::Mixture(scattered_components()),
            NamedTarget::EasyFunnel => Self::Funnel(1.0),
            NamedTarget::HardFunnel => Self::Funnel(9.0),
            NamedTarget::Manywell => Self::Manywell(vec![[1.0; 4]; 16]),
            NamedTarget::DistortedManywell => Self::Manywell(distorted_wells()),
            posterior => panic!("{posterior} is not the paper's; it is held against NumPy elsewhere"),
        }
    }

    pub fn log_density(&self, x: &[f64]) -> f64 {
        match self {
            Self::Mixture(components) => {
                let log_weight = -(components.len() as f64).ln();
                let terms: Vec<f64> =
                    components.iter().map(|(mean, c)| log_weight + log_gaussian(x, mean, c)).collect();
                let largest = terms.iter().copied().fold(f64::MIN, f64::max);
                largest + terms.iter().map(|term| (term - largest).exp()).sum::<f64>().ln()
            }
            Self::Funnel(variance) => {
                let others: f64 = x[1..].iter().map(|&x_i| log_normal(x_i, 0.0, x[0].exp())).sum();
                log_normal(x[0], 0.0, *variance) + others
            }
            Self::Manywell(wells) => wells
                .iter()
                .zip(x.chunks(2))
                .map(|(a, pair)| log_well(a, pair[0]) - 0.5 * a[3] * pair[1].powi(2))
                .sum(),
        }
    }

    /// Central differences of the log density.
    pub fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let step = 1e-6;
        let mut moved = x.to_vec();
        (0..x.len())
            .map(|j| {
                moved[j] = x[j] + step;
                let above = self.log_density(&moved);
                moved[j] = x[j] - step;
                let below = self.log_density(&moved);
                moved[j] = x[j];
                (above - below) / (2.0 * step)
            })
            .collect()
    }
}

pub fn log_normal(x: f64, mean: f64, variance: f64) -> f64 {
    -0.5 * ((x - mean).powi(2) / variance + (TAU * variance).ln())
}

/// log N(x; μ, C) for a general C in two dimensions, and C = c I in three.
pub fn log_gaussian(x: &[f64], mean: &[f64], c: &[f64]) -> f64 {
    if x.len() != 2 {
        return x.iter().zip(mean).map(|(&x, &mean)| log_normal(x, mean, c[0])).sum();
    }
    let (u, v) = (x[0] - mean[0], x[1] - mean[1]);
    let determinant = c[0] * c[3] - c[1] * c[2];
    let square = (c[3] * u * u - (c[1] + c[2]) * u * v + c[0] * v * v) / determinant;
    -0.5 * square - TAU.ln() - 0.5 * determinant.ln()
}

/// The double-well half of log μ.
pub fn log_well(a: &[f64; 4], x: f64) -> f64 {
    -a[0] * x.powi(4) + 6.0 * a[1] * x.powi(2) + 0.5 * a[2] * x
}

pub fn table(text: &str) -> Vec<Vec<f64>> {
    text.lines().skip(1).map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect()
}

pub const GRID: [f64; 5] = [-10.0, -5.0, 0.0, 5.0, 10.0];

pub fn distorted_components(d: f64) -> Vec<(Vec<f64>, Vec<f64>)> {
    let rows = table(include_str!("../../data/gmm25-distortion-seed42.csv"));
    let means = GRID.iter().flat_map(|&x| GRID.iter().map(move |&y| vec![x, y]));
    let root = 0.3f64.sqrt();
    let covariances = rows.iter().map(|row| {
        let a = [[root + d * row[1], d * row[2]], [d * row[3], root + d * row[4]]];
        let entry = |i: usize, j: usize| (0..2).map(|m| a[m][i] * a[m][j]).sum::<f64>();
        vec![entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)]
    });
    means.zip(covariances).collect()
}

pub fn cube_components() -> Vec<(Vec<f64>, Vec<f64>)> {
    let mut components = Vec::new();
    for x in GRID {
        for y in GRID {
            for z in GRID {
                components.push((vec![x, y, z], vec![0.3, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 0.3]));
            }
        }
    }
    components
}

pub fn scattered_components() -> Vec<(Vec<f64>, Vec<f64>)> {
    let means = table(include_str!("../../data/gmm40-means.csv"));
    means.into_iter().map(|mean| (mean, vec![1.0, 0.0, 0.0, 1.0])).collect()
}

pub fn distorted_wells() -> Vec<[f64; 4]> {
    let rows = table(include_str!("../../data/manywell-distortion-seed42.csv"));
    rows.iter().map(|row| [row[1], row[2], row[3], row[4]]).collect()
}
