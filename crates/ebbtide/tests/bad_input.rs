//! Whatever a user can get wrong has an error of its own that names it; nothing panics.

mod user;

#[path = "bad_input/anything.rs"]
mod anything;
#[path = "bad_input/densities.rs"]
mod densities;
#[path = "bad_input/settings.rs"]
mod settings;

use ebbtide::objective::Method;
use ebbtide::target::NamedTarget;
use ebbtide::train::{Config, LocalSearch, NetworkOptions};
use user::Gaussian;

/// All settings in use, and small.
fn config(method: Method) -> Config {
    let mut config = Config::new(method, 3);
    (config.iterations, config.batch) = (10, 20);
    config.network = NetworkOptions { width: 6, depth: 1, ..config.network };
    config.replay.capacity = 64;
    if let Some(search) = &mut config.local_search {
        *search = LocalSearch { every: 2, steps: 6, burn_in: 2, capacity: 100, ..*search };
    }
    config
}

fn gaussian(dim: usize) -> Gaussian {
    Gaussian { dim, variance: 1.0, log_z: 0.0 }
}

#[test]
fn unknown_names_are_answered_with_all_names_and_the_nearest() {
    for (given, nearest) in [("tb_tlmm", "tb-tlm"), ("pisvargrad", "pis-vargrad"), ("", "tb-tb")] {
        let text = given.parse::<Method>().expect_err("no method").to_string();
        assert!(
            text.contains(&format!("`{given}`")) && text.contains(&format!("mean `{nearest}`")),
            "{text}"
        );
        assert!(Method::ALL.iter().all(|method| text.contains(method.name())), "{text}");
    }
    let pairs = [
        ("40gm", NamedTarget::Gmm40),
        ("manywel", NamedTarget::Manywell),
        ("hard funel", NamedTarget::HardFunnel),
    ];
    for (given, nearest) in pairs {
        let error = given.parse::<NamedTarget>().expect_err("no target");
        let text = error.to_string();
        assert_eq!(error.nearest, Some(nearest), "{text}");
        assert!(text.contains(&format!("{given:?}")) && text.contains(&format!("mean {nearest}?")), "{text}");
        assert!(NamedTarget::ALL.iter().all(|target| text.contains(target.name())), "{text}");
    }
    let text = "☃".parse::<NamedTarget>().expect_err("no target").to_string();
    assert!(text.contains('☃') && text.contains("manywell") && !text.contains("did you mean"), "{text}");
}
