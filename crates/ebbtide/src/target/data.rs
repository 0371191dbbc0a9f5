//! The figures that define three targets, embedded in the library.

/// The means of 40GMM: 40 rows of (x₀, x₁).
pub(super) fn gmm40_means() -> Vec<[f64; 2]> {
    columns(include_str!("../../data/gmm40-means.csv"), ["x0", "x1"], 40)
}

/// ξ of the distorted 25GMMs: 25 rows of (ξ₁, ξ₂, ξ₃, ξ₄).
pub(super) fn gmm25_distortion() -> Vec<[f64; 4]> {
    columns(
        include_str!("../../data/gmm25-distortion-seed42.csv"),
        ["block_xi1", "block_xi2", "block_xi3", "block_xi4"],
        25,
    )
}

/// The coefficients of the Distorted Manywell: 16 rows of (a₁, a₂, a₃, a₄).
pub(super) fn manywell_distortion() -> Vec<[f64; 4]> {
    columns(
        include_str!("../../data/manywell-distortion-seed42.csv"),
        ["a1", "a2", "a3", "a4"],
        MANYWELL_ROWS,
    )
}

/// The number of wells that [`manywell_distortion`] has coefficients for.
pub(super) const MANYWELL_ROWS: usize = 16;

/// The named columns of an embedded table that is known to have `rows` rows.
fn columns<const N: usize>(text: &str, names: [&str; N], rows: usize) -> Vec<[f64; N]> {
    let table = parse(text, names).expect("an embedded table parses, as its test shows");
    assert_eq!(table.len(), rows, "an embedded table is whole");
    table
}

/// Picks columns by name out of comma-separated text with one line of headings.
fn parse<const N: usize>(text: &str, names: [&str; N]) -> Result<Vec<[f64; N]>, String> {
    let mut lines = text.lines();
    let headings: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let mut places = [0; N];
    for (place, name) in places.iter_mut().zip(names) {
        *place = (headings.iter().position(|heading| *heading == name))
            .ok_or_else(|| format!("there is no column {name}"))?;
    }
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            if cells.len() != headings.len() {
                return Err(format!("{line:?} has {} cells", cells.len()));
            }
            let mut row = [0.0; N];
            for (value, &place) in row.iter_mut().zip(&places) {
                *value = (cells[place].parse::<f64>().ok())
                    .filter(|number| number.is_finite())
                    .ok_or_else(|| format!("{:?} is not a finite number", cells[place]))?;
            }
            Ok(row)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_whole_and_in_range() {
        let inside = |value: &f64, low, high| (low..=high).contains(value);
        assert!(gmm40_means().as_flattened().iter().all(|v| inside(v, -40.0, 40.0)));
        assert!(manywell_distortion().as_flattened().iter().all(|v| inside(v, 0.75, 1.25)));
        assert!(gmm25_distortion().as_flattened().iter().all(|v| inside(v, -5.0, 5.0)));
        assert_eq!(gmm25_distortion()[0], [1.926915, 1.487284, 0.9007172, -2.105521]);
    }

    #[test]
    fn a_broken_table_is_refused() {
        assert!(parse("a,b\n1,2\n", ["c"]).is_err());
        assert!(parse("a,b\n1\n", ["a"]).is_err());
        assert!(parse("a,b\n1,two\n", ["b"]).is_err());
        assert!(parse("a,b\n1,inf\n", ["b"]).is_err());
        assert_eq!(parse("a,b\n1,2\n3,4\n", ["b"]), Ok(vec![[2.0], [4.0]]));
    }
}
