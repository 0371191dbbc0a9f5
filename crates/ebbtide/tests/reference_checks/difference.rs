//! The error function and the differences against values known in closed form.

use crate::reference::Parameters;
use crate::reference::difference::{derivative, directional, gradient};
use crate::reference::error_function::{erf, gelu};
use crate::{assert_close, inner};

#[test]
fn erf_has_its_known_values() {
    let known = [
        (0.0, 0.0),
        (1e-8, 1.128_379_167_095_512_6e-8),
        (0.01, 0.011_283_415_555_849_616),
        (0.1, 0.112_462_916_018_284_9),
        (0.5, 0.520_499_877_813_046_5),
        (1.0, 0.842_700_792_949_714_9),
        (1.5, 0.966_105_146_475_310_8),
        (2.0, 0.995_322_265_018_952_7),
        (2.5, 0.999_593_047_982_555),
        (2.999, 0.999_977_769_831_400_2),
        (3.0, 0.999_977_909_503_001_4),
        (3.001, 0.999_978_048_339_082_2),
        (4.0, 0.999_999_984_582_742_1),
        (5.5, 0.999_999_999_999_992_7),
        (40.0, 1.0),
    ];
    for (x, value) in known {
        assert!((erf(x) - value).abs() <= 1e-14 * value, "erf({x})");
        assert_eq!(erf(-x), -erf(x), "erf is odd at {x}");
    }
    assert!(erf(f64::NAN).is_nan());
}

#[test]
fn gelu_of_x_less_gelu_of_minus_x_is_x() {
    for x in [-30.0, -2.0, -0.3, 0.0, 1e-5, 0.7, 4.0, 4.3, 12.0] {
        assert_close(gelu(x) - gelu(-x), x, 1e-15, "gelu");
    }
    assert_close(gelu(1.0), 0.841_344_746_068_542_9, 1e-15, "Φ(1)");
}

#[test]
fn differences_reach_known_derivatives() {
    let f = |x: f64| (3.0 * x).sin() * x.exp();
    let at = 0.4_f64;
    let slope = (3.0 * (3.0 * at).cos() + (3.0 * at).sin()) * at.exp();
    let estimate = derivative(&f, at);
    assert_close(estimate.value, slope, 1e-11, "derivative");
    assert!(estimate.error < 1e-9);
}

#[test]
fn directional_difference_is_gradient_times_direction() {
    let at = Parameters::from([("p".into(), vec![0.3, -0.2]), ("q".into(), vec![1.1])]);
    let along = Parameters::from([("p".into(), vec![0.5, 0.7]), ("q".into(), vec![-0.4])]);
    let f = |x: &Parameters| x["p"][0].sin() * x["p"][1].exp() + x["q"][0].powi(3) * x["p"][1];
    let by_gradient = inner(&gradient(&f, &at), &along);
    let by_hand = 0.5 * 0.3_f64.cos() * (-0.2_f64).exp()
        + 0.7 * (0.3_f64.sin() * (-0.2_f64).exp() + 1.1_f64.powi(3))
        - 0.4 * 3.0 * 1.21 * -0.2;
    assert_close(by_gradient, by_hand, 1e-11, "gradient");
    let by_direction = directional(&f, &at, &along).value;
    assert_close(by_direction, by_hand, 1e-11, "direction");
}
