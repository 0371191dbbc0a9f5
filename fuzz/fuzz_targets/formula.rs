//! A formula, of one to eight coordinates: a density with a gradient, or an error that can be shown.
#![no_main]

use ebbtide::target::{Formula, Target};
use ebbtide_fuzz::Allowance;
use libfuzzer_sys::fuzz_target;

/// Sums are written out: up to some 65,000 operations, and four more for each byte and coordinate.
const ALLOWED: Allowance = Allowance { always: 24 << 20, for_each_byte: 1024 };

fuzz_target!(|input: (u8, &str)| {
    let (dim, text) = (usize::from(input.0 % 8) + 1, input.1);
    let read = || Formula::new(text, dim, &[]).or_else(|_| Formula::new(text, dim, &[("k", 2.5)]));
    match ALLOWED.hold(text.len() * dim, read) {
        Ok(formula) => {
            let points: Vec<f32> = (0..dim * 3).map(|place| (place as f32).mul_add(0.7, -2.0)).collect();
            let (mut values, mut gradient) = ([0.0; 3], vec![0.0; points.len()]);
            let density = formula.differentiable().expect("formulas have gradients");
            if density.log_density_and_gradient(&points, &mut values, &mut gradient).is_ok() {
                let mut alone = [0.0; 3];
                formula.log_density(&points, &mut alone).expect("what had a gradient has a value");
                assert_eq!(values, alone);
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
