//! Numbers as people write them.

/// A true minus sign, thousands apart, large ones by powers of ten.
///
/// ```
/// use ebbtide_run::number::number;
///
/// assert_eq!(number(-0.41857, 3), "−0.419");
/// assert_eq!(number(38_528_000.0, 0), "3.9·10⁷");
/// ```
pub fn number(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "not a number".to_owned() } else { format!("{}∞", sign(value)) };
    }
    let size = value.abs();
    if size >= 1e7 {
        let text = format!("{size:.1e}");
        let (lead, exponent) = text.split_once('e').expect("that is how it is written");
        let raised = superscript(exponent.parse().expect("an exponent is a whole number"));
        return format!("{}{}·10{raised}", sign(value), lead.trim_end_matches(".0"));
    }
    let text = format!("{size:.decimals$}");
    let minus = if text.bytes().any(|digit| (b'1'..=b'9').contains(&digit)) { sign(value) } else { "" };
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let whole = if whole.len() < 5 { whole.to_owned() } else { apart(whole, '\u{202f}') };
    format!("{minus}{whole}{rest}")
}

/// A value and its error, with as many decimals as the error gives reason for.
///
/// ```
/// use ebbtide_run::number::estimate;
///
/// assert_eq!(estimate(-0.41857, 0.0286), ("−0.419".to_owned(), "0.029".to_owned()));
/// assert_eq!(estimate(2298.909, 1254.687), ("2299".to_owned(), "1255".to_owned()));
/// ```
pub fn estimate(value: f64, error: f64) -> (String, String) {
    let decimals = match error.abs() {
        error if error >= 100.0 => 0,
        error if error >= 10.0 => 1,
        error if error >= 1.0 => 2,
        _ => 3,
    };
    (number(value, decimals), number(error, decimals))
}

/// A text whose numbers were written by a machine, to be read by people.
pub(crate) fn readable(text: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_end_matches(['.', ',', ';', ')']);
        let decimals = bare.split_once('.').map_or(0, |(_, decimals)| decimals.len().min(4));
        match bare.parse::<f64>() {
            Ok(value) => number(value, decimals) + &word[bare.len()..],
            Err(_) => word.to_owned(),
        }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// A whole number as an exponent.
///
/// ```
/// use ebbtide_run::number::superscript;
///
/// assert_eq!(format!("10{}", superscript(-12)), "10⁻¹²");
/// ```
pub fn superscript(exponent: i32) -> String {
    let raised = |digit: char| match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32('⁰' as u32 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
    };
    exponent.to_string().chars().map(raised).collect()
}

fn sign(value: f64) -> &'static str {
    if value < 0.0 { "−" } else { "" }
}

/// A count with commas between thousands.
///
/// ```
/// assert_eq!(ebbtide_run::number::thousands(25_000), "25,000");
/// ```
pub fn thousands(count: u64) -> String {
    apart(&count.to_string(), ',')
}

/// Digits in groups of three.
fn apart(digits: &str, between: char) -> String {
    let mut apart = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            apart.push(between);
        }
        apart.push(digit);
    }
    apart
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_separators() {
        for (value, text) in
            [(0, "0"), (999, "999"), (1000, "1,000"), (25_000, "25,000"), (1_234_567, "1,234,567")]
        {
            assert_eq!(thousands(value), text);
        }
    }

    #[test]
    fn numbers_are_written_as_people_do() {
        assert_eq!(number(-0.41857, 4), "−0.4186");
        assert_eq!(number(-0.00001, 2), "0.00");
        assert_eq!(number(12_345.6, 1), "12\u{202f}345.6");
        assert_eq!(number(99_960_000.0, 0), "1·10⁸");
        assert_eq!(number(-5.2e300, 0), "−5.2·10³⁰⁰");
        assert_eq!(number(f64::NEG_INFINITY, 2), "−∞");
        assert_eq!(number(1234.5, 1), "1234.5");
    }

    #[test]
    fn reasons_become_readable() {
        let text = "the ELBO is -5.205003476553366e8, and was -6.053557815932436 before (row 3).";
        assert_eq!(readable(text), "the ELBO is −5.2·10⁸, and was −6.0536 before (row 3).");
        assert_eq!(readable("the generation loss is NaN"), "the generation loss is not a number");
    }
}
