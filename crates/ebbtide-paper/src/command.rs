//! The command that gives a run again, to the bit.

use ebbtide_run::settings::Settings;

/// How closely a run is watched: it comes to the same.
const WATCHING: [&str; 3] = ["evaluation.every", "metrics.every", "checkpoint.seconds"];

/// Settings that have an argument of their own.
const ARGUMENTS: [(&str, &str); 3] =
    [("seed", "--seed"), ("iterations", "--iterations"), ("batch", "--batch")];

/// The command of a run with these settings.
pub fn of(settings: &Settings) -> String {
    let seed = settings.config.seed;
    let preset = settings.preset;
    let mut command = format!("ebbtide train {} --preset {}", settings.target, preset.name());
    let Some(method) = settings.method else {
        // No table has one; its settings are in the finding.
        return command;
    };
    command += &format!(" --method {method} --steps {} --seed {seed} --threads 1", settings.steps());
    let usual = preset.settings(settings.target.clone(), Some(method), settings.steps());
    for change in settings.differences(&usual, &WATCHING).filter(|change| change.key != "seed") {
        let value = change.ours.trim_matches('"');
        match ARGUMENTS.iter().find(|(key, _)| *key == change.key) {
            Some((_, argument)) => command += &format!(" {argument} {value}"),
            None => command += &format!(" --set {}={value}", change.key),
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Paper;

    #[test]
    fn a_row_is_one_command() {
        let paper = Paper::new();
        let command = |name: &str| {
            let row = paper.rows().find(|row| row.slug() == name).expect("a row");
            of(&paper.settings(row, 2))
        };
        assert_eq!(
            command("easy-funnel-tb-tlm-T10"),
            "ebbtide train easy-funnel --preset paper --method tb-tlm --steps 10 --seed 2 --threads 1"
        );
        assert_eq!(
            command("40gmm-no-target-network-T5"),
            "ebbtide train 40gmm --preset paper --method tb-tb --steps 5 --seed 2 --threads 1 --set target-network=off"
        );
        let row = paper.rows().next().expect("a row");
        let mut short = paper.settings(row, 0);
        short.config.iterations = 20;
        assert!(of(&short).ends_with("--threads 1 --iterations 20"), "{}", of(&short));
    }
}
