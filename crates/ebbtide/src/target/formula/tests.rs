use super::*;

/// The value of a formula at a point.
fn value(text: &str, point: &[f32]) -> f64 {
    with_parameters(text, point, &[])
}

fn with_parameters(text: &str, point: &[f32], parameters: &[(&str, f64)]) -> f64 {
    let formula = Formula::new(text, point.len(), parameters).unwrap_or_else(|error| panic!("{error}"));
    let mut out = [f64::NAN];
    formula.log_density(point, &mut out).expect("a value");
    out[0]
}

fn problem(text: &str, dim: usize) -> String {
    Formula::new(text, dim, &[]).expect_err(text).to_string()
}

#[test]
fn signs_and_powers_are_read_as_on_paper() {
    let cases: [(&str, f64); 14] = [
        ("-x0^2", -9.0),
        ("-(x0 - 4)^2", -1.0),
        ("2^x0^2", 512.0),
        ("2^-x0", 0.125),
        ("x0 - 2 - 1", 0.0),
        ("12/x0/2", 2.0),
        ("12/x0*2", 8.0),
        ("1 + 2*x0", 7.0),
        ("--x0", 3.0),
        ("-+-x0", 3.0),
        ("2*-x0", -6.0),
        ("x0**2 · 2 − 1", 17.0),
        ("1.5e1 - x0", 12.0),
        (".5*x0", 1.5),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text, &[3.0]), expected, "{text}");
    }
}

#[test]
fn functions_are_what_they_are_called() {
    let x = 0.7_f32;
    let exact = f64::from(x);
    let cases: [(&str, f64); 15] = [
        ("sin(x0)", exact.sin()),
        ("cos(x0)", exact.cos()),
        ("tan(x0)", exact.tan()),
        ("exp(x0)", exact.exp()),
        ("log(x0)", exact.ln()),
        ("ln(x0)", exact.ln()),
        ("sqrt(x0)", exact.sqrt()),
        ("abs(-x0)", exact),
        ("tanh(x0)", exact.tanh()),
        ("log1p(x0)", exact.ln_1p()),
        ("expm1(x0)", exact.exp_m1()),
        ("softplus(x0)", exact.exp().ln_1p()),
        ("pow(x0, 1.5)", exact.powf(1.5)),
        ("min(x0, 1, 0.5)", 0.5),
        ("logsumexp(x0, 0.1, -1)", (exact.exp() + 0.1f64.exp() + (-1f64).exp()).ln()),
    ];
    for (text, expected) in cases {
        assert!((value(text, &[x]) - expected).abs() < 1e-12, "{text}: {} {expected}", value(text, &[x]));
    }
    assert!((value("pi*x0/π*e", &[1.0]) - std::f64::consts::E).abs() < 1e-12);
}

#[test]
fn sums_go_over_coordinates_or_indices() {
    let point = [1.0, 2.0, 4.0];
    assert_eq!(value("sum(x^2)", &point), 21.0);
    assert_eq!(value("sum((i+1)*x)", &point), 17.0);
    assert_eq!(value("sum(i, 1, dim-1, (x[i] - x[i-1])^2) + x[0]", &point), 6.0);
    assert_eq!(value("sum(i, 0, 2, sum(j, 0, i, x[i]*x[j]))", &point), 1.0 + 2.0 + 4.0 + 4.0 + 8.0 + 16.0);
    assert_eq!(value("sum(k, -1, 1, k*x[k+1])", &[1.0, 0.0, 4.0]), 3.0);
    assert_eq!(value("-x^2", &[3.0]), -9.0, "the only coordinate needs no number");
}

#[test]
fn gradients_are_those_of_differences() {
    let formulas = [
        "-(x0^2 - 4)^2 - 0.5*(x1 - x0)^2 + x2",
        "sin(x0*x1)/(2 + cos(x2)) - tan(0.3*x0)*tanh(x1) + x2^-3",
        "exp(-x0^2)*log(3 + x1) - sqrt(x2 + 4) + abs(x0 - 0.1)",
        "log1p(x0^2) + expm1(0.1*x1) - softplus(-3*x2)",
        "(x0^2 + 0.5)^(x1 - 0.2) + (2 + x2)^1.7 + x0^5",
        "min(x0, x1, x2) + 2*max(x0^2, x1*x2)",
        "logsumexp(-(x0 - 1)^2, -(x1 + 1)^2 - 0.3, -x2^2)",
        "-3*(x0 + 2*(x1 - 0.5*x2) + 1)/2 + exp(x0 + x1 - x2) - (x0 + x1 - x2 + x0^2)",
        "sum(i, 1, dim-1, -100*(x[i] - x[i-1]^2)^2 - (1 - x[i-1])^2)",
    ];
    let points = [[0.3f32, -0.7, 0.9], [1.4, 0.6, -0.35], [-0.8, 1.1, 0.55]];
    for text in formulas {
        let formula = Formula::new(text, 3, &[]).unwrap_or_else(|error| panic!("{error}"));
        let flat: Vec<f32> = points.concat();
        let (mut out, mut gradient) = ([0.0; 3], [0.0; 9]);
        formula.log_density_and_gradient(&flat, &mut out, &mut gradient).expect("values");
        for place in 0..9 {
            // Steps that single precision holds exactly.
            let at = |step: f32| {
                let mut moved = flat.clone();
                moved[place] += step;
                let mut out = [0.0; 3];
                formula.log_density(&moved, &mut out).expect("values");
                (f64::from(moved[place]), out[place / 3])
            };
            let ((high, above), (low, below)) = (at(1.0 / 1024.0), at(-1.0 / 1024.0));
            let (slope, exact) = ((above - below) / (high - low), f64::from(gradient[place]));
            let tolerance = 2e-4 * (1.0 + exact.abs());
            assert!((slope - exact).abs() < tolerance, "{text} {place}: {slope} {exact}");
        }
    }
}

#[test]
fn a_batch_of_any_length_is_the_same_points() {
    let formula = Formula::new("-sum(x^2) + sin(x0*x2)", 3, &[]).expect("a formula");
    let points: Vec<f32> = (0..3 * 37).map(|place| (place as f32 * 0.37).sin()).collect();
    let (mut out, mut gradient) = (vec![0.0; 37], vec![0.0; 111]);
    formula.log_density_and_gradient(&points, &mut out, &mut gradient).expect("values");
    for (row, point) in points.chunks_exact(3).enumerate() {
        let (mut alone, mut slope) = ([0.0], [0.0; 3]);
        formula.log_density_and_gradient(point, &mut alone, &mut slope).expect("values");
        assert_eq!((alone[0], &slope[..]), (out[row], &gradient[3 * row..][..3]));
    }
    assert!(formula.log_density(&points, &mut out[..36]).is_err(), "one point too many");
    formula.log_density(&[], &mut []).expect("no points, no values");
}

#[test]
fn what_is_said_twice_is_done_once() {
    let twice = Formula::new("(x0 - 1)^2*(x0 - 1)^2 + (x0 - 1)^2 + 0*3", 1, &[]).expect("a formula");
    // x0, x0 − 1, its square, the square's square, the sum.
    assert_eq!(twice.operations.len(), 5);
}

#[test]
fn sums_of_sums_are_one_operation() {
    let count = |text: &str| Formula::new(text, 2, &[]).expect("a formula").operations.len();
    // Coordinates, x0², x0⁴, x1², and the sum.
    assert_eq!(count("-x0^4 + 6*x0^2 + 0.5*x0 - 0.5*x1^2 + 3"), 6);
    assert_eq!(count("-((x0 - 1)^2 + (x1 - 2)^2)/0.6"), 7);
    // A sum that two others rest on is not done twice.
    assert_eq!(count("exp(x0 + x1) + (x0 + x1 + x0^2)"), 7);
}

#[test]
fn sums_are_added_in_the_order_that_they_are_written_in() {
    let point = [0.3f32, 1.1, 0.7];
    let [x0, x1, x2] = point.map(f64::from);
    assert_eq!(value("x0 + (1e16*x1 - 1e16*x1) + x2", &point), x0 + (1e16 * x1 - 1e16 * x1) + x2);
    assert_eq!(value("x0 + 1e16*x1 - 1e16*x1 + 0*x2", &point), x0 + 1e16 * x1 - 1e16 * x1);
    assert_eq!(value("(x0 + 1e16) - 1e16 + (x1 - x2)*3", &point), ((x0 + 1e16) - 1e16) + (x1 - x2) * 3.0);
    assert_eq!(value("((x0 - x1)*1e9 + 1)*x2", &point), ((x0 - x1) * 1e9 + 1.0) * x2);
}

#[test]
fn corners_and_ends_have_slopes_without_nan() {
    let formula = Formula::new("-abs(x0) - 0*sqrt(x1) - x1^2 + max(x0, -1e400)", 2, &[]).expect("a formula");
    let (mut out, mut gradient) = ([0.0], [1.0; 2]);
    formula.log_density_and_gradient(&[0.0, 0.0], &mut out, &mut gradient).expect("values");
    assert_eq!((out, gradient), ([0.0], [1.0, 0.0]));
    assert_eq!(value("logsumexp(x0, log(0), log(0))", &[2.0]), 2.0);
    assert_eq!(value("logsumexp(log(0*x0), log(0))", &[2.0]), f64::NEG_INFINITY);
    let swallowed =
        Formula::new("min(log(-1), x0)", 1, &[]).expect("a formula").log_density(&[2.0], &mut [0.0]);
    assert!(matches!(swallowed, Err(TargetError::Impossible { .. })), "NaN is not swallowed");
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let cases = [
        ("", 1, "the formula is empty; it gives the log density, as in `-0.5*(x0^2 + x1^2)`"),
        ("-x0^2 +", 1, "here a number, a name or a bracket is missing\n  -x0^2 +\n         ^"),
        ("2*(x0 + 1", 1, "this `(` is not closed\n  2*(x0 + 1\n    ^"),
        ("x0 + 1)", 1, "here an opening bracket before this is missing\n  x0 + 1)\n        ^"),
        ("2x0", 1, "an operator is missing before this; products are written `a*b`\n  2x0\n   ^^"),
        ("x0 ? 1", 1, "`?` is no part of a formula\n  x0 ? 1\n     ^"),
        ("1.2.3*x0", 1, "`1.2.3` is no number\n  1.2.3*x0\n  ^^^^^"),
        (
            "-x0^2 - x2^2",
            2,
            "there is no coordinate x2; coordinates are x0 and x1\n  -x0^2 - x2^2\n          ^^",
        ),
        (
            "-x0^2",
            2,
            "x1 does not occur in it, so that the density would not have a finite integral\n  -x0^2\n  ^^^^^",
        ),
        (
            "-x0^2 - y^2",
            2,
            "there is no `y`; coordinates are x0 and x1, and parameters need a value\n  -x0^2 - y^2\n          ^",
        ),
        ("sin x0", 1, "`sin` is a function: it needs parentheses, as in `sin(x0)`\n  sin x0\n  ^^^"),
        ("sin + x0", 1, "`sin` is a function: it needs parentheses, as in `sin(x0)`\n  sin + x0\n  ^^^"),
        ("pow(x0)", 1, "`pow` takes two arguments, not 1\n  pow(x0)\n  ^^^"),
        ("x[0.5]", 1, "this must be a whole number that does not depend on x\n  x[0.5]\n    ^^^"),
        ("x[x0]", 1, "this must be a whole number that does not depend on x\n  x[x0]\n    ^^"),
        (
            "sum(2, 0, 1, x0)",
            1,
            "this must be a name for the index, as in `sum(i, 0, 3, x[i]^2)`\n  sum(2, 0, 1, x0)\n      ^",
        ),
        (
            "-x0^2\n- βeta*x0",
            1,
            "there is no `βeta`; the only coordinate is x0, and parameters need a value\n  - βeta*x0\n    ^^^^",
        ),
    ];
    for (text, dim, message) in cases {
        assert_eq!(problem(text, dim), message, "{text}");
    }
    assert_eq!(problem("x0", 0), "points need at least one coordinate");
}

#[test]
fn parameters_are_named_and_needed() {
    assert_eq!(with_parameters("a*x0^2 + β_1", &[3.0], &[("a", 2.5), ("β_1", -1.0)]), 21.5);
    let message = |text: &str, parameters: &[(&str, f64)]| {
        Formula::new(text, 1, parameters).expect_err(text).to_string()
    };
    assert_eq!(
        message("-x0^2*widht", &[("width", 1.0)]),
        "there is no `widht`; did you mean `width`?\n  -x0^2*widht\n        ^^^^^"
    );
    assert_eq!(message("-x0^2", &[("a", 1.0)]), "the parameter `a` does not occur in it\n  -x0^2\n  ^^^^^");
    for name in ["x", "x3", "sin", "pi", "two words", ""] {
        assert!(message("-x0^2", &[(name, 1.0)]).starts_with("a parameter cannot be called"), "{name}");
    }
}

#[test]
fn what_would_never_end_is_refused() {
    let deep = format!("{}x0{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(problem(&deep, 1).starts_with("this is nested more than 200 deep"));
    assert!(problem(&"-".repeat(100_000), 1).starts_with("this is nested more than 200 deep"));
    let long = vec!["x0"; 50_000].join("+");
    assert_eq!(value(&long, &[1.0]), 50_000.0, "a long sum is not a deep one");
    assert!(problem("sum(i, 0, 1e8, x0)", 1).starts_with("written out, the formula has more than"));
    let nested = "sum(i, 0, 999, sum(j, 0, 999, sin(i*x0 + j)))";
    assert!(problem(nested, 1).starts_with("written out, the formula has more than"));
}
