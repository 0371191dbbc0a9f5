//! Histograms.

/// Densities of values in equal cells: (from, to, height), the area under all of them being the share of values in sight.
pub fn density(
    values: &[f64],
    weights: Option<&[f64]>,
    (low, high): (f64, f64),
    cells: usize,
) -> Vec<(f64, f64, f64)> {
    let width = (high - low) / cells as f64;
    let mut sums = vec![0.0; cells];
    let mut total = 0.0;
    for (i, &value) in values.iter().enumerate() {
        let weight = weights.map_or(1.0, |weights| weights[i]);
        total += weight;
        let place = (value - low) / width;
        if place >= 0.0 && place < cells as f64 {
            sums[place as usize] += weight;
        }
    }
    let scale = if total > 0.0 { 1.0 / (total * width) } else { 0.0 };
    let bar = |(i, sum): (usize, f64)| (low + i as f64 * width, low + (i + 1) as f64 * width, sum * scale);
    sums.into_iter().enumerate().map(bar).collect()
}

/// Weights of log weights, relative to the largest.
pub fn relative(log_weights: &[f64]) -> Vec<f64> {
    let most = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    log_weights.iter().map(|weight| if most.is_finite() { (weight - most).exp() } else { 1.0 }).collect()
}

/// The largest of the heights.
pub fn highest(bars: &[(f64, f64, f64)]) -> f64 {
    bars.iter().map(|bar| bar.2).fold(0.0, f64::max)
}

/// The value below which a share of the values is; NaN of none.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        n => sorted[((n - 1) as f64 * share).round() as usize],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_area_is_what_is_in_sight() {
        let values = [0.1, 0.2, 0.6, 5.0];
        let bars = density(&values, None, (0.0, 1.0), 2);
        assert_eq!(bars, [(0.0, 0.5, 1.0), (0.5, 1.0, 0.5)]);
        let bars = density(&values, Some(&[1.0, 1.0, 2.0, 0.0]), (0.0, 1.0), 2);
        assert_eq!(bars, [(0.0, 0.5, 1.0), (0.5, 1.0, 1.0)]);
        assert_eq!(density(&[], None, (0.0, 1.0), 1), [(0.0, 1.0, 0.0)]);
    }

    #[test]
    fn weights_are_relative_to_the_largest() {
        assert_eq!(relative(&[700.0, 700.0, f64::NEG_INFINITY]), [1.0, 1.0, 0.0]);
        assert_eq!(relative(&[f64::NEG_INFINITY; 2]), [1.0, 1.0]);
    }
}
