//! A configuration as a file: every setting with its value and a comment, ready to edit.

use std::fmt::Write;

use super::{DECIDED, SETTINGS, Settings, Subject};

/// What each table is about.
const TABLES: &[(&str, &str)] = &[
    ("placement", "Coordinates of the density."),
    ("generation", "The way to a sample."),
    ("destruction", "The way back to the origin."),
    ("network", "The network that gives both their corrections."),
    ("optimisation", "Gradients to steps."),
    ("replay", "Trajectories worth another look."),
    ("exploration", "Noise added to training trajectories."),
    ("local-search", "Langevin chains that look for better end points."),
    ("evaluation", "How good the sampler is, and how often that is asked."),
    ("metrics", "The curves of metrics.jsonl."),
    ("checkpoint", "What a resumed run begins with."),
];

const COMMENT_WIDTH: usize = 100;

impl Settings {
    /// The whole configuration in TOML, with comments. Reading it gives the same settings; those that have no effect are
    /// commented out, and so are those that the method decides.
    ///
    /// ```
    /// use ebbtide_run::settings::{Draft, Problems, Settings, Strictness};
    ///
    /// fn read(text: &str) -> Result<Settings, Problems> {
    ///     let mut draft = Draft::new();
    ///     draft.document("run.toml", text);
    ///     draft.resolve(Strictness::Strict)
    /// }
    ///
    /// let settings = read("target = \"40gmm\"\nsteps = 3\nreplay.ratio = 0")?;
    /// let text = settings.to_toml();
    /// assert!(text.contains("(Left out: replay.ratio = 0.)\n# capacity = "));
    /// assert_eq!(read(&text)?, settings);
    /// # Ok::<(), Problems>(())
    /// ```
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let methods = ebbtide::objective::Method::ALL.map(ebbtide::objective::Method::name).join(", ");
        let about = match self.target {
            Subject::Named(_) => "What is sampled. `ebbtide targets` lists the names.",
            Subject::Formula(_) => "What is sampled: a log density in words.",
            Subject::Python(_) => {
                "What is sampled: a log density that a function in a Python file computes. A run has the digest of the file that it was begun with."
            }
            Subject::Onnx(_) => {
                "What is sampled: a log density that an ONNX network computes. A run has the digest of the file that it was begun with."
            }
            Subject::Latent(_) => {
                "What is sampled: latents z of a generator g, whose density is N(z; 0, I) · r(g(z))^beta. The reward's network answers with log r, of what is decoded and of the condition, if it has an input for one. The embedding is what diversity is measured by. A run has the digest of the files that it was begun with."
            }
            Subject::Given(_) => "What is sampled: a log density that a program brings along.",
        };
        comment(&mut text, about);
        for (key, value) in self.target.entries() {
            line(&mut text, "", key, &value);
        }
        comment(
            &mut text,
            "Whose settings fill in what is left out below: \"recommended\" ones, or the \"paper\"'s.",
        );
        line(&mut text, "", "preset", &format!("\"{}\"", self.preset.name()));
        let about = format!(
            "How the two processes learn: {methods}; or \"custom\", and then the settings below decide."
        );
        comment(&mut text, &about);
        line(&mut text, "", "method", &format!("\"{}\"", self.method_name()));
        comment(&mut text, "Steps from the origin to a sample.");
        line(&mut text, "", "steps", &self.steps().to_string());
        // What has no effect is not read again, so it stands as it usually would.
        let usual = self.preset.settings(self.target.clone(), self.method, self.steps());
        let mut table = "";
        for setting in SETTINGS {
            let (of, key) = setting.key.rsplit_once('.').unwrap_or(("", setting.key));
            if of != table {
                table = of;
                text.push('\n');
                let about = TABLES.iter().find(|(name, _)| *name == of).map_or("", |(_, about)| about);
                comment(&mut text, about);
                let _ = writeln!(text, "[{of}]");
            }
            comment(&mut text, setting.about);
            let decided = self.method.is_some() && DECIDED.contains(&setting.key);
            match (setting.idle)(self).or(decided.then_some("the method decides it")) {
                None => line(&mut text, "", key, &(setting.write)(self)),
                Some(reason) => {
                    comment(&mut text, &format!("(Left out: {reason}.)"));
                    line(&mut text, "# ", key, &(setting.write)(&usual));
                }
            }
        }
        text
    }
}

fn line(text: &mut String, prefix: &str, key: &str, value: &str) {
    let _ = writeln!(text, "{prefix}{key} = {value}");
}

/// A comment of as many lines as it takes.
fn comment(text: &mut String, about: &str) {
    for paragraph in about.lines() {
        let mut length = 0;
        for word in paragraph.split(' ') {
            let width = word.chars().count() + 1;
            if length > 0 && length + width > COMMENT_WIDTH {
                text.push('\n');
                length = 0;
            }
            if length == 0 {
                text.push('#');
                length = 1;
            }
            text.push(' ');
            text.push_str(word);
            length += width;
        }
        text.push('\n');
    }
}
