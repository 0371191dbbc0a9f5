//! Amounts as the paper prints them.

use ebbtide_run::number::number;

/// A figure: two decimals, fewer for large ones.
pub fn figure(value: f64) -> String {
    number(value, decimals(value))
}

/// A figure and its deviation, which has as many decimals. Without one, the figure alone.
pub fn with_deviation(mean: f64, deviation: Option<f64>, between: &str) -> String {
    match deviation {
        None => figure(mean),
        Some(deviation) => {
            // Nobody reads the second decimal of a deviation of ten.
            let decimals = decimals(mean.abs().max(deviation)).min(if deviation >= 10.0 { 1 } else { 2 });
            format!("{}{between}{}", number(mean, decimals), number(deviation, decimals))
        }
    }
}

fn decimals(value: f64) -> usize {
    match value.abs() {
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_the_papers_digits() {
        assert_eq!(with_deviation(-0.441, Some(0.0312), " ± "), "−0.44 ± 0.03");
        assert_eq!(with_deviation(2800.63, Some(1351.92), "±"), "2801±1352");
        assert_eq!(with_deviation(90.0, Some(120.0), "±"), "90.0±120.0");
        assert_eq!(with_deviation(-12.95, Some(13.36), "±"), "−12.9±13.4");
        assert_eq!(with_deviation(1.5, None, "±"), "1.50");
    }
}
