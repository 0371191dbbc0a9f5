//! The recommended settings, beside the best that the paper has.

use ebbtide::objective::Method;
use ebbtide::target::NamedTarget;
use ebbtide_run::settings::{Preset, Settings};

use crate::published::{Printed, Published};
use crate::row::Layout;
use crate::table::Table;
use crate::{Metric, Row};

/// The table's name.
const NAME: &str = "recommended";

const STEPS: usize = 5;

const BESTS: &str = "What is published beside ours is the best figure of any method, each metric's for itself; = is no further from it than two published deviations or 0.05, on either side.";

const TARGETS: [NamedTarget; 4] =
    [NamedTarget::Gmm25, NamedTarget::Gmm40, NamedTarget::EasyFunnel, NamedTarget::HardFunnel];

/// The method that is recommended for each target.
const ROWS: [(NamedTarget, Method); 4] = [
    (NamedTarget::Gmm25, Method::TbTlm),
    (NamedTarget::Gmm40, Method::TbTlm),
    (NamedTarget::EasyFunnel, Method::TbTb),
    (NamedTarget::HardFunnel, Method::TbTb),
];

/// The recommended settings in five steps. What is published beside them are the best figures of any method, each metric for itself.
pub fn table(printed: &[Printed]) -> Table {
    let row = |&(target, method): &(NamedTarget, Method)| {
        let [Some(elbo), Some(eubo), Some(w2)] = Metric::ALL.map(|metric| best(printed, target, metric))
        else {
            return None;
        };
        Some(Row {
            table: NAME,
            label: method.name(),
            target,
            method,
            steps: STEPS,
            published: [elbo, eubo, w2],
            change: recommend,
            layout: Layout::List,
        })
    };
    Table {
        name: NAME,
        number: None,
        about: "Our own settings in five steps, beside the best figure of any method in the paper",
        targets: &TARGETS,
        rows: ROWS.iter().filter_map(row).collect(),
        floors: Vec::new(),
        remark: Some(BESTS),
    }
}

fn recommend(settings: &mut Settings) {
    *settings = Preset::Recommended.settings(settings.target.clone(), settings.method, settings.steps());
}

/// The best that any method of the paper came to.
fn best(printed: &[Printed], target: NamedTarget, metric: Metric) -> Option<Published> {
    let of_five = |line: &&Printed| {
        line.target == target && line.metric == metric && line.by.is_some_and(|(_, steps)| steps == STEPS)
    };
    let figures = printed.iter().filter(of_five).filter_map(|line| line.published.figure());
    let better = |a: f64, b: f64| if metric.is_better_higher() { a.total_cmp(&b) } else { b.total_cmp(&a) };
    figures.max_by(|a, b| better(a.mean, b.mean)).map(Published::Figure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{RESULTS, results};

    #[test]
    fn the_best_of_the_paper_is_the_measure() {
        let printed = results(RESULTS).expect("whole figures");
        let mean = |target: NamedTarget, metric: Metric| {
            best(&printed, target, metric).and_then(Published::figure).map(|figure| figure.mean)
        };
        assert_eq!(mean(NamedTarget::Gmm40, Metric::Elbo), Some(-1.74));
        assert_eq!(mean(NamedTarget::Gmm40, Metric::Eubo), Some(5.34));
        assert_eq!(mean(NamedTarget::HardFunnel, Metric::Elbo), Some(-0.63));
        assert_eq!(mean(NamedTarget::HardFunnel, Metric::Eubo), Some(95.36));
        assert_eq!(table(&printed).rows.len(), ROWS.len());
    }
}
