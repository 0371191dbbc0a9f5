//! The ablation table: 40GMM in five steps, with one thing changed at a time.

use ebbtide::network::Backbone;
use ebbtide::objective::Method;
use ebbtide::train::Arrangement;
use ebbtide_run::settings::Settings;

/// A row of the ablation table: its name, where the published table has it, and what is changed.
pub struct Ablation {
    /// A short name.
    pub slug: &'static str,
    /// The published group.
    pub group: &'static str,
    /// How the published setting begins.
    pub setting: &'static str,
    /// The method it starts from.
    pub method: Method,
    /// What is changed.
    pub change: fn(&mut Settings),
}

impl Ablation {
    const fn new(
        slug: &'static str,
        (group, setting): (&'static str, &'static str),
        change: fn(&mut Settings),
    ) -> Self {
        Self { slug, group, setting, method: Method::TbTb, change }
    }

    const fn of(mut self, method: Method) -> Self {
        self.method = method;
        self
    }
}

const ALONE: &str = "generation only";
const MODELS: &str = "models and optimisers";
const RATES: &str = "learning rates";
const REPLAY: &str = "replay ratio";

/// All rows, in the paper's order.
pub const ABLATIONS: [Ablation; 12] = [
    Ablation::new("optimal", ("optimal", "TBθ,φ shared backbone"), equal_rates),
    Ablation::new("tb-fixed", (ALONE, "TBθ fixed generation variance"), |_| ()).of(Method::TbFixed),
    Ablation::new("tb-variance", (ALONE, "TBθ learned generation variance"), |_| ()).of(Method::TbVariance),
    Ablation::new("separate-backbones", (MODELS, "separate backbones"), |settings| {
        equal_rates(settings);
        settings.config.network.backbone = Backbone::Separate;
    }),
    Ablation::new("single-optimiser", (MODELS, "single optimiser"), |settings| {
        equal_rates(settings);
        settings.config.optimisation.arrangement = Arrangement::Single;
    }),
    Ablation::new("rate-0.1", (RATES, "lrφ=0.10 lrθ"), |settings| slower(settings, 10.0)),
    Ablation::new("rate-0.01", (RATES, "lrφ=0.01 lrθ"), |settings| slower(settings, 100.0)),
    Ablation::new("replay-0", (REPLAY, "0"), |settings| replayed(settings, 0)),
    Ablation::new("replay-1", (REPLAY, "1"), |settings| replayed(settings, 1)),
    Ablation::new("replay-4", (REPLAY, "4"), |settings| replayed(settings, 4)),
    Ablation::new("replay-8", (REPLAY, "8"), |settings| replayed(settings, 8)),
    Ablation::new("no-target-network", ("target network", "none"), |settings| {
        equal_rates(settings);
        settings.config.target_network = None;
    }),
];

/// lrφ = lrθ, whatever is usual for the target.
fn equal_rates(settings: &mut Settings) {
    slower(settings, 1.0);
}

fn slower(settings: &mut Settings, times: f64) {
    let optimisation = &mut settings.config.optimisation;
    optimisation.destruction_rate = optimisation.generation_rate / times;
}

fn replayed(settings: &mut Settings, ratio: usize) {
    equal_rates(settings);
    settings.config.replay.ratio = ratio;
}
