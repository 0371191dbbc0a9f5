//! Numbers, spans of time and names as people read them.

use std::time::Duration;

use console::measure_text_width;
use ebbtide_run::number::thousands;

/// No number of [`number`] is wider than this.
pub const NUMBER_WIDTH: usize = 7;

/// What stands where there is no value.
pub const NOTHING: &str = "–";

/// A span of time in its two largest units: `45 s`, `4 m 12 s`, `3 h 5 m`, `2 d 7 h`.
pub fn duration(span: Duration) -> String {
    let seconds = span.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{minutes} m {} s", seconds % 60),
        3600..86_400 => format!("{hours} h {} m", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// A count to three digits and a unit: `950`, `51.2 k`, `38.5 M`.
pub fn amount(value: u64) -> String {
    if value < 1000 {
        return value.to_string();
    }
    let mut scaled = value as f64;
    for unit in ["k", "M", "G", "T", "P"] {
        scaled /= 1000.0;
        // What rounds to 1000 belongs to the next unit.
        if scaled < 999.5 {
            return format!("{} {unit}", three_digits(scaled));
        }
    }
    format!("{:.3e}", value as f64)
}

/// A number of bytes to three digits: `512 B`, `14.2 MB`.
pub fn bytes(value: u64) -> String {
    let text = amount(value);
    match text.split_once(' ') {
        Some((digits, unit)) => format!("{digits} {unit}B"),
        None => format!("{text} B"),
    }
}

/// Iterations per second, with as many decimals as mean something: `0.031`, `98.2`, `2,340`.
pub fn rate(per_second: f64) -> String {
    if !per_second.is_finite() || per_second < 0.0 {
        NOTHING.to_owned()
    } else if per_second >= 999.5 {
        thousands(per_second.round() as u64)
    } else if per_second >= 1.0 {
        three_digits(per_second)
    } else {
        format!("{per_second:.3}")
    }
}

/// A share as a percentage: `71.2 %`, `100 %`.
pub fn percentage(share: f64) -> String {
    let percent = 100.0 * share;
    if !percent.is_finite() {
        number(percent)
    } else if percent >= 99.95 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// A number in at most [`NUMBER_WIDTH`] characters, with three decimals where they fit.
pub fn number(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "-∞" }.to_owned();
    }
    // Three decimals would say nothing of a number as small as this.
    let tiny = value != 0.0 && value.abs() < 0.001;
    let plain = (0..=3).rev().filter(|_| !tiny).map(|decimals| format!("{value:.decimals$}"));
    let scientific = (1..=2).rev().map(|decimals| format!("{value:.decimals$e}"));
    let found = plain.chain(scientific).find(|text| text.len() <= NUMBER_WIDTH);
    // One digit always fits: the widest are like -2e-308.
    found.unwrap_or_else(|| format!("{value:.0e}"))
}

/// The text in at most `width` columns, its middle left out if there are more: names differ at their ends.
pub fn shorten(text: &str, width: usize) -> String {
    if measure_text_width(text) <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let ending = take(text.chars().rev(), room / 2);
    let beginning = take(text.chars(), room - room / 2);
    let ellipsis = if width == 0 { "" } else { "…" };
    format!("{beginning}{ellipsis}{}", ending.chars().rev().collect::<String>())
}

/// The text without control characters, which could move a terminal's cursor or break a log's lines.
pub fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// As many letters as fit.
fn take(letters: impl Iterator<Item = char>, width: usize) -> String {
    let mut text = String::new();
    for letter in letters {
        text.push(letter);
        if measure_text_width(&text) > width {
            text.pop();
            break;
        }
    }
    text
}

/// Three significant digits of a number from 1 to 1000.
fn three_digits(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units() {
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 m 0 s"),
            (252, "4 m 12 s"),
            (3599, "59 m 59 s"),
            (3600, "1 h 0 m"),
            (86_399, "23 h 59 m"),
            (86_400, "1 d 0 h"),
            (200_000, "2 d 7 h"),
        ] {
            assert_eq!(duration(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn amounts_have_three_digits() {
        for (value, text) in [
            (999, "999"),
            (1000, "1.00 k"),
            (51_200, "51.2 k"),
            (999_499, "999 k"),
            (999_500, "1.00 M"),
            (38_512_345, "38.5 M"),
            (7_000_000_000, "7.00 G"),
        ] {
            assert_eq!(amount(value), text);
        }
        assert!(amount(u64::MAX).len() <= 8);
    }

    #[test]
    fn rates_say_what_means_something() {
        for (value, text) in
            [(0.0314, "0.031"), (1.0, "1.00"), (98.24, "98.2"), (999.4, "999"), (2340.0, "2,340")]
        {
            assert_eq!(rate(value), text);
        }
        assert_eq!(rate(f64::INFINITY), NOTHING);
    }

    #[test]
    fn percentages_keep_to_six_characters() {
        for (share, text) in [(0.712, "71.2 %"), (1.0, "100 %"), (0.9996, "100 %"), (0.0001, "0.0 %")] {
            assert_eq!(percentage(share), text);
        }
        assert_eq!(percentage(f64::NAN), "NaN");
    }

    #[test]
    fn numbers_read_well() {
        for (value, text) in [
            (0.0, "0.000"),
            (-0.4314, "-0.431"),
            (164.6957, "164.696"),
            (-164.6957, "-164.70"),
            (-99.9996, "-100.00"),
            (1_234_567.0, "1234567"),
            (-1_234_567.0, "-1.23e6"),
            (-1e30, "-1.0e30"),
            (0.000_031_4, "3.14e-5"),
            (-3.14e-12, "-3e-12"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-∞"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn no_number_is_too_wide() {
        for exponent in -320..=308 {
            for mantissa in [1.0, 9.9999, 9.5, -1.0, -9.9999, -9.5] {
                let text = number(mantissa * 10f64.powi(exponent));
                assert!(measure_text_width(&text) <= NUMBER_WIDTH, "{text}");
            }
        }
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(shorten("25gmm tb-tb T5 s0", 17), "25gmm tb-tb T5 s0");
        assert_eq!(shorten("25gmm tb-tb T5 s0", 12), "25gmm …T5 s0");
        assert_eq!(shorten("abc", 1), "…");
        assert_eq!(shorten("abc", 0), "");
        for width in 0..20 {
            assert!(measure_text_width(&shorten("バーバーバー and more", width)) <= width);
        }
    }

    #[test]
    fn control_characters_are_blanks() {
        assert_eq!(printable("a\x1b[2Jb\nc"), "a [2Jb c");
    }
}
