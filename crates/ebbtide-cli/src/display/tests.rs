//! What the table and the lines look like.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use console::{measure_text_width, strip_ansi_codes};
use ebbtide::train::Report;
use ebbtide_run::{Event, Figures};

use super::board::Board;
use super::column::Column;
use super::row::{Alarms, Phase, Row, View};
use super::table::{Room, table};
use super::{Display, Manner, lines};

const WIDTHS: [usize; 5] = [60, 80, 100, 120, 200];

fn view(name: &str) -> View {
    View {
        name: name.into(),
        folder: Some(Arc::new(PathBuf::from("runs/25gmm"))),
        phase: Phase::Training,
        reason: None,
        iteration: 12_300,
        iterations: 25_000,
        generation_loss: Some(0.5123),
        destruction_loss: Some(0.4981),
        log_z: Some(-0.03),
        evaluations: 38_512_345,
        figures: Some(Figures {
            elbo: -0.4312,
            elbo_error: 0.01,
            eubo: Some(0.2123),
            eubo_error: Some(0.01),
            log_z: 0.0,
            log_z_error: 0.01,
            ess: 0.7123,
            pareto_k: None,
        }),
        rate: Some(98.2),
        elapsed: Some(Duration::from_secs(125)),
        left: Some(Duration::from_secs(129)),
        alarms: Alarms::default(),
    }
}

fn three() -> Vec<View> {
    let mut diverged = view("25gmm tb-tlm T5 s0");
    diverged.phase = Phase::Diverged;
    (diverged.iteration, diverged.generation_loss, diverged.figures) = (171, Some(f64::INFINITY), None);
    let waiting = View { name: "40gmm tb-tb T5 s0".into(), ..View::default() };
    vec![view("25gmm tb-tb T5 s0"), diverged, waiting]
}

fn plain(views: &[View], columns: usize) -> String {
    table(views, Room { columns, lines: Some(24) }, false).join("\n")
}

#[test]
fn a_single_run_has_a_heading() {
    assert_eq!(
        plain(&[view("25gmm tb-tb T5 s0")], 80),
        "
25gmm tb-tb T5 s0  in runs/25gmm
    iteration          loss →   loss ←     ELBO     EUBO     ESS         left
12,300/25,000   49 %    0.512    0.498   -0.431    0.212  71.2 %      2 m 9 s"
            .trim_start()
    );
}

#[test]
fn several_runs_have_names() {
    assert_eq!(
        plain(&three(), 60),
        "
run                         loss →     ELBO         left
25gmm tb-tb T5 s0    49 %    0.512   -0.431      2 m 9 s
25gmm tb-tlm T5 s0    0 %        ∞        –     diverged
40gmm tb-tb T5 s0                                waiting"
            .trim_start()
    );
    assert_eq!(
        plain(&three(), 120),
        "
run                     iteration          loss →   loss ←     ELBO     EUBO    log Ẑ     ESS   it/s         left
25gmm tb-tb T5 s0   12,300/25,000   49 %    0.512    0.498   -0.431    0.212   -0.030  71.2 %   98.2      2 m 9 s
25gmm tb-tlm T5 s0     171/25,000    0 %        ∞    0.498        –        –   -0.030       –   98.2     diverged
40gmm tb-tb T5 s0                                                                                         waiting"
            .trim_start()
    );
}

#[test]
fn a_wide_terminal_shows_everything() {
    let wide = plain(&three(), 200);
    for column in Column::ALL {
        assert!(wide.contains(column.header()), "{}", column.header());
    }
    assert!(wide.contains("━━━━━───────") && wide.contains("38.5 M") && wide.contains("2 m 5 s"));
}

#[test]
fn no_line_is_as_wide_as_the_terminal() {
    let mut extreme = view(&"a very long name ".repeat(20));
    extreme.generation_loss = Some(-1e300);
    extreme.phase = Phase::Interrupted;
    (extreme.iteration, extreme.iterations, extreme.evaluations) = (u64::MAX, u64::MAX, u64::MAX);
    let with_extreme: Vec<View> = three().into_iter().chain([extreme.clone()]).collect();
    for views in [vec![], vec![view("a")], three(), vec![extreme], with_extreme] {
        for columns in (0..260).chain(WIDTHS) {
            for colour in [false, true] {
                for line in table(&views, Room { columns, lines: Some(24) }, colour) {
                    assert!(measure_text_width(&line) <= columns.saturating_sub(1), "{columns}: {line:?}");
                    assert!(!line.ends_with(' ') && !line.contains('\n'), "{line:?}");
                }
            }
        }
    }
}

#[test]
fn a_wider_terminal_never_shows_less() {
    let headers =
        |columns| plain(&three(), columns).lines().next().map_or(0, |line| line.split_whitespace().count());
    for columns in 1..260 {
        assert!(headers(columns) <= headers(columns + 1), "{columns}");
    }
    for pair in WIDTHS.windows(2) {
        assert!(headers(pair[0]) < headers(pair[1]), "{pair:?}");
    }
}

#[test]
fn right_edges_are_aligned() {
    for columns in WIDTHS {
        let text = plain(&three(), columns);
        let edges: Vec<usize> = text.lines().map(measure_text_width).collect();
        assert!(edges.iter().all(|&edge| edge == edges[0]), "{text}");
    }
}

#[test]
fn columns_that_no_run_fills_are_left_out() {
    let mut bare = view("a");
    bare.destruction_loss = None;
    bare.figures = bare.figures.map(|figures| Figures { eubo: None, ..figures });
    let text = plain(&[bare.clone()], 200);
    assert!(!text.contains("EUBO") && !text.contains("loss ←"), "{text}");
    (bare.figures, bare.generation_loss) = (None, None);
    let text = plain(&[bare], 200);
    assert!(text.contains("EUBO") && text.contains("loss ←"), "not known yet: {text}");
}

#[test]
fn only_alarms_are_coloured() {
    let colours = |view: View| {
        let lines = table(&[view], Room { columns: 200, lines: None }, true);
        lines[2].matches("\x1b[33m").count() + 100 * lines[2].matches("\x1b[31m").count()
    };
    assert_eq!(colours(view("a")), 0);
    let alarms = Alarms { generation_loss: true, destruction_loss: true, elbo: true, ess: true };
    assert_eq!(colours(View { alarms, ..view("a") }), 4);
    assert_eq!(colours(View { alarms: Alarms { ess: true, ..Alarms::default() }, ..view("a") }), 1);
    assert_eq!(colours(View { phase: Phase::Diverged, ..view("a") }), 100);
}

#[test]
fn colours_do_not_move_anything() {
    for columns in WIDTHS {
        let coloured = table(&three(), Room { columns, lines: None }, true).join("\n");
        assert!(coloured.contains('\x1b'));
        assert_eq!(strip_ansi_codes(&coloured), plain(&three(), columns));
    }
}

#[test]
fn runs_that_have_no_line_are_counted() {
    let mut views: Vec<View> = (0..20).map(|index| view(&format!("run {index}"))).collect();
    for (index, view) in views.iter_mut().enumerate() {
        view.phase = match index {
            0..3 => Phase::Done,
            3 => Phase::Diverged,
            4..6 => Phase::Training,
            _ => Phase::Waiting,
        };
    }
    let lines = table(&views, Room { columns: 80, lines: Some(10) }, false);
    assert_eq!(lines.len(), 4, "header, two that train, summary");
    assert_eq!(lines[3], "14 waiting, 3 done, 1 diverged");
    views.iter_mut().for_each(|view| view.phase = Phase::Training);
    let lines = table(&views, Room { columns: 80, lines: Some(10) }, false);
    assert_eq!((lines.len(), &*lines[8]), (9, "13 more training"));
    for height in 0..30 {
        assert!(table(&views, Room { columns: 80, lines: Some(height) }, false).len() < height.max(1));
    }
}

#[test]
fn lines_say_it_in_words() {
    let view = view("25gmm tb-tb T5 s0");
    assert_eq!(
        lines::progress(&view, true),
        "25gmm tb-tb T5 s0  12300/25000  loss 0.512 / 0.498  ELBO -0.431  EUBO 0.212  ESS 71.2 %  \
         log Ẑ -0.030  98.2 it/s  left 2 m 9 s"
    );
    assert!(lines::progress(&view, false).starts_with("12300/25000  loss"));
    assert_eq!(lines::begin(&view, false), "goes on after 12300 of 25000 iterations, kept in runs/25gmm");
    let done = View { phase: Phase::Done, ..view.clone() };
    assert!(lines::progress(&done, false).ends_with("98.2 it/s  done in 2 m 5 s"));
    let reason = Some("at iteration 7: the loss\nis NaN".into());
    let diverged = View { phase: Phase::Diverged, reason, ..view.clone() };
    assert!(lines::progress(&diverged, false).ends_with("diverged at iteration 7: the loss is NaN"));
    let alarms = Alarms { ess: true, ..Alarms::default() };
    assert!(lines::progress(&View { alarms, ..view }, false).ends_with("(the ESS fell below 1 %)"));
}

#[test]
fn a_line_is_due_every_ten_seconds() {
    let now = Instant::now();
    let row = Arc::new(Mutex::new(Row::new("a")));
    let board = Board::new(Manner::Lines);
    board.add(Arc::clone(&row));
    let at = |seconds: u64| board.due(now + Duration::from_secs(seconds)).len();
    assert_eq!(at(0), 0, "it waits");
    let begun = Event::Begun { folder: Path::new(""), iteration: 0, iterations: 10, seconds: 0.0 };
    row.lock().expect("no panic").notice(begun, now);
    let step = |iteration| {
        row.lock().expect("no panic").step(&Report { iteration, ..Report::default() });
    };
    assert_eq!(at(1), 0);
    step(1);
    assert_eq!((at(5), at(11), at(12), at(20)), (0, 1, 0, 0));
    assert_eq!(at(40), 0, "nothing has changed");
    step(2);
    assert_eq!((at(41), at(42)), (1, 0));
}

#[test]
fn silence_costs_nothing_and_says_nothing() {
    let display = Display::in_manner(Manner::Silent);
    let mut observer = display.observe("a");
    observer.notice(Event::Stepped(&Report::default()));
    display.remark("nobody hears this");
    display.finish();
}

#[test]
fn percentages_are_whole_and_rounded_down() {
    for (iteration, iterations, percent) in [(29, 100, 29), (24_999, 25_000, 99), (7, 7, 100), (0, 0, 0)] {
        let cell = Column::Percent.cell(&View { iteration, iterations, ..view("a") });
        assert_eq!(cell.text, format!("{percent} %"));
    }
}

#[test]
fn a_display_can_be_shared() {
    fn shared<T: Send + Sync>() {}
    shared::<Display>();
}
