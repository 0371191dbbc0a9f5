//! The measurements behind the posteriors, embedded in the library.

/// Features by rows, and the outcome of each row.
pub(super) struct Table {
    pub(super) features: Vec<f64>,
    pub(super) outcomes: Vec<bool>,
}

/// 569 tumours: 30 features, and whether it is benign.
pub(super) fn breast_cancer() -> Table {
    read(include_str!("../../../data/posterior/breast-cancer.csv"))
}

/// 208 echoes: 60 features, and whether they come from a mine.
pub(super) fn sonar() -> Table {
    read(include_str!("../../../data/posterior/sonar.csv"))
}

/// 351 radar returns: 34 features, and whether they show structure.
pub(super) fn ionosphere() -> Table {
    read(include_str!("../../../data/posterior/ionosphere.csv"))
}

/// The twenty observations of the random walk: its step, from 0, and the value seen there.
pub(super) fn brownian() -> Vec<(usize, f64)> {
    let rows = numbers(include_str!("../../../data/posterior/brownian.csv"));
    rows.map(|row| (row[0] as usize, row[1])).collect()
}

fn read(text: &str) -> Table {
    let mut table = Table { features: Vec::new(), outcomes: Vec::new() };
    for mut row in numbers(text) {
        table.outcomes.push(row.pop() == Some(1.0));
        table.features.extend(row);
    }
    table
}

/// The rows of a table, without its headings.
fn numbers(text: &str) -> impl Iterator<Item = Vec<f64>> {
    let cell = |cell: &str| cell.parse().expect("an embedded table has numbers only, as its test shows");
    text.lines().skip(1).map(move |line| line.split(',').map(cell).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_whole() {
        for (table, rows, columns, ones) in
            [(breast_cancer(), 569, 30, 357), (sonar(), 208, 60, 111), (ionosphere(), 351, 34, 225)]
        {
            assert_eq!(table.outcomes.len(), rows);
            assert_eq!(table.features.len(), rows * columns);
            assert_eq!(table.outcomes.iter().filter(|outcome| **outcome).count(), ones);
            assert!(table.features.iter().all(|value| value.is_finite()));
        }
        assert_eq!(breast_cancer().features[..3], [17.99, 10.38, 122.8]);
        let steps: Vec<usize> = brownian().into_iter().map(|(step, _)| step).collect();
        assert_eq!(steps, (0..10).chain(20..30).collect::<Vec<_>>());
    }
}
