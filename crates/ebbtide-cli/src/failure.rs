//! What the command says when it cannot do what is asked, and what the shell gets.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use ebbtide::metric::EvaluationError;
use ebbtide::target::TargetError;
use ebbtide::train::{ConfigError, TrainError};
use ebbtide::trajectory::{SamplerError, ThreadsError};
use ebbtide_paper::FindingError;
use ebbtide_paper::keep::KeepError;
use ebbtide_report::keep::ReportError;
use ebbtide_report::portrait::PortraitError;
use ebbtide_report::watch::WatchError;
use ebbtide_run::checkpoint::CheckpointError;
use ebbtide_run::draws::Weightless;
use ebbtide_run::durable::FileError;
use ebbtide_run::export::ExportError;
use ebbtide_run::folder::FolderError;
use ebbtide_run::job::JobError;
use ebbtide_run::run::RunError;
use ebbtide_run::settings::{Place, Problem, Problems};
use miette::{Diagnostic, GraphicalReportHandler, LabeledSpan, NamedSource, Severity, SourceCode};

/// The exit code of wrong usage, configuration included.
const USAGE: u8 = 2;

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Problems(#[from] Problems),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Run(RunError),
    #[error(transparent)]
    Job(JobError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Finding(#[from] FindingError),
    #[error(transparent)]
    Keep(#[from] KeepError),
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error(transparent)]
    Sampler(#[from] SamplerError),
    #[error(transparent)]
    Train(#[from] TrainError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    #[error(transparent)]
    Weightless(#[from] Weightless),
    #[error(transparent)]
    Report(#[from] ReportError),
    #[error(transparent)]
    Watch(WatchError),
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    #[error("could not listen for Ctrl-C: {0}")]
    Interrupt(#[from] ctrlc::Error),
    #[error("could not write the result: {0}")]
    Write(#[from] io::Error),
    /// Anything else that is asked for and cannot be.
    #[error("{0}")]
    Usage(String),
    /// Some runs could not be read; each has said why.
    #[error("{0} of the runs could not be read")]
    Unreadable(usize),
    /// Some of several jobs failed; each has said why.
    #[error("{failed} of {all} runs failed")]
    Several { failed: usize, all: usize },
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Problems(problems) => Failure::Problems(problems),
            RunError::Config(error) => Failure::Config(error),
            error => Failure::Run(error),
        }
    }
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Run(error) => error.into(),
            error => Failure::Job(error),
        }
    }
}

impl From<PortraitError> for Failure {
    fn from(error: PortraitError) -> Self {
        match error {
            PortraitError::Run(error) => error.into(),
            error => Failure::Report(error.into()),
        }
    }
}

impl From<WatchError> for Failure {
    fn from(error: WatchError) -> Self {
        match error {
            WatchError::Portrait(error) => error.into(),
            error => Failure::Watch(error),
        }
    }
}

impl Failure {
    /// Tells a person, on standard error. A reader who closed the pipe has seen enough, and gets nothing.
    pub fn tell(&self) {
        // There is nobody to tell that standard error is closed.
        let _ = match self {
            Failure::Problems(problems) => write!(io::stderr(), "{}", Picture(problems)),
            other if other.is_closed_pipe() => Ok(()),
            other => writeln!(io::stderr(), "error: {other}"),
        };
    }

    /// Whether a reader went away who had seen enough.
    pub fn is_closed_pipe(&self) -> bool {
        match self {
            Failure::Write(error) => error.kind() == io::ErrorKind::BrokenPipe,
            Failure::Export(ExportError::Closed) => true,
            _ => false,
        }
    }

    /// What the shell gets.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Problems(_) | Failure::Config(_) | Failure::Usage(_) => ExitCode::from(USAGE),
            other if other.is_closed_pipe() => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        }
    }
}

/// Tells a person something, on standard error. There is nobody to tell that it is closed or full.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// The code of work that is done, whether or not its figures could be printed. A reader who went away changes nothing.
pub fn settle(code: ExitCode, printed: Result<(), Failure>) -> Result<ExitCode, Failure> {
    match printed {
        Err(failure) if failure.is_closed_pipe() => Ok(code),
        Err(failure) if code == ExitCode::SUCCESS => Err(failure),
        Err(failure) => {
            failure.tell();
            Ok(code)
        }
        Ok(()) => Ok(code),
    }
}

/// Lines longer than this are not drawn: nobody could read them.
const FARTHEST: usize = 2000;

/// Problems drawn into the text that has them.
pub struct Picture<'a>(pub &'a Problems);

impl Picture<'_> {
    /// Whether a line at a place or beside it is too long to be drawn.
    fn has_long_lines(&self, place: &Place) -> bool {
        let (line, _) = self.0.line_and_column(place);
        let lines = self.0.sources[place.source].text.lines().skip(line.saturating_sub(2)).take(3);
        lines.into_iter().any(|line| line.len() > FARTHEST)
    }
}

impl fmt::Display for Picture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let handler = handler();
        for (i, problem) in self.0.problems.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            if problem.places.iter().any(|(place, _)| self.has_long_lines(place)) {
                let alone = Problems { sources: self.0.sources.clone(), problems: vec![problem.clone()] };
                writeln!(f, "error: {alone}")?;
                continue;
            }
            handler.render_report(f, &Drawn::new(problem, self.0))?;
        }
        Ok(())
    }
}

/// With colours where standard error shows them.
fn handler() -> GraphicalReportHandler {
    let theme = match console::colors_enabled_stderr() {
        true => miette::GraphicalTheme::unicode(),
        false => miette::GraphicalTheme::unicode_nocolor(),
    };
    let width = usize::from(console::Term::stderr().size().1).clamp(60, 120);
    GraphicalReportHandler::new_themed(theme).with_width(width)
}

/// One problem, as miette wants it. It draws one text at a time: places in other texts are related drawings.
#[derive(Debug)]
struct Drawn {
    message: String,
    severity: Severity,
    help: Option<String>,
    source: Option<NamedSource<String>>,
    labels: Vec<LabeledSpan>,
    elsewhere: Vec<Drawn>,
}

impl Drawn {
    fn new(problem: &Problem, all: &Problems) -> Self {
        let mut drawings: Vec<(usize, Vec<LabeledSpan>)> = Vec::new();
        for (place, label) in &problem.places {
            let span = LabeledSpan::new_with_span(Some(label.clone()), place.span.clone());
            match drawings.iter_mut().find(|(source, _)| *source == place.source) {
                Some((_, labels)) => labels.push(span),
                None => drawings.push((place.source, vec![span])),
            }
        }
        let mut drawn = drawings.into_iter().map(|(source, labels)| {
            let source = &all.sources[source];
            let source = NamedSource::new(&source.name, source.text.clone());
            Drawn {
                message: "together with this".to_owned(),
                severity: Severity::Advice,
                help: None,
                source: Some(source),
                labels,
                elsewhere: Vec::new(),
            }
        });
        let first = drawn.next();
        let elsewhere = drawn.collect();
        let (source, labels) = first.map_or((None, Vec::new()), |first| (first.source, first.labels));
        Self {
            message: problem.message.clone(),
            severity: Severity::Error,
            help: problem.help.clone(),
            source,
            labels,
            elsewhere,
        }
    }
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Drawn {}

impl Diagnostic for Drawn {
    fn severity(&self) -> Option<Severity> {
        Some(self.severity)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|source| source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        (!self.labels.is_empty())
            .then(|| Box::new(self.labels.iter().cloned()) as Box<dyn Iterator<Item = LabeledSpan>>)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        let related = self.elsewhere.iter().map(|drawn| drawn as &dyn Diagnostic);
        (!self.elsewhere.is_empty()).then(|| Box::new(related) as Box<dyn Iterator<Item = &dyn Diagnostic>>)
    }
}
