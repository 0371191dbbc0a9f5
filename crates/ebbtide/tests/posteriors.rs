//! The posteriors against an independent implementation, and what is known of their constants.

use ebbtide::target::NamedTarget;
use safetensors::SafeTensors;

fn numbers<const BYTES: usize, T>(data: &[u8], read: fn([u8; BYTES]) -> T) -> Vec<T> {
    let (values, rest) = data.as_chunks();
    assert!(rest.is_empty());
    values.iter().copied().map(read).collect()
}

/// Values agree to 1e-6 (1 + |value|), gradients to 1e-6 of 1 + their largest coordinate: products of a
/// regression are taken in single precision, over some hundreds of rows.
#[test]
fn densities_and_gradients_agree_with_numpy() {
    let file = SafeTensors::deserialize(include_bytes!("fixtures/posterior/points.safetensors")).unwrap();
    for name in NamedTarget::POSTERIORS {
        let tensor = |what| file.tensor(&format!("{name}.{what}")).unwrap();
        let points = numbers(tensor("points").data(), f32::from_le_bytes);
        let expected = numbers(tensor("log_density").data(), f64::from_le_bytes);
        let expected_gradient = numbers(tensor("gradient").data(), f64::from_le_bytes);
        let target = name.build();
        assert_eq!(tensor("points").shape(), [expected.len(), target.dim()], "{name}");
        let (mut values, mut gradient) = (vec![0.0; expected.len()], vec![0.0; points.len()]);
        let differentiable = target.differentiable().expect("a gradient");
        differentiable.log_density_and_gradient(&points, &mut values, &mut gradient).unwrap();
        for (value, exact) in values.iter().zip(&expected) {
            assert!((value - exact).abs() < 1e-6 * (1.0 + exact.abs()), "{name}: {value} for {exact}");
        }
        let rows = gradient.chunks(target.dim()).zip(expected_gradient.chunks(target.dim()));
        for (row, (slopes, exact)) in rows.enumerate() {
            let largest = exact.iter().fold(0.0, |most: f64, slope| most.max(slope.abs()));
            for (slope, exact) in slopes.iter().zip(exact) {
                let error = (f64::from(*slope) - exact).abs();
                assert!(error < 1e-6 * (1.0 + largest), "{name}, row {row}: {slope} for {exact}");
            }
        }
    }
}

/// log Z is exact, or there is an estimate that is good to 0.05; never both.
#[test]
fn every_log_z_is_known_or_estimated() {
    for name in NamedTarget::ALL {
        let exact = name.build().log_z();
        match name.reference() {
            Some(reference) => {
                assert!(exact.is_none(), "{name}");
                assert!(reference.error > 0.0 && reference.error <= 0.05, "{name}: {reference:?}");
                assert!(!reference.source.is_empty());
            }
            None => assert!(exact.is_some(), "{name}"),
        }
    }
}

/// The literature has −111.6, to the digit that it prints.
#[test]
fn the_estimate_of_ionosphere_is_that_of_the_literature() {
    let reference = NamedTarget::Ionosphere.reference().expect("an estimate");
    assert!((reference.log_z + 111.6).abs() < 0.05 + 3.0 * reference.error, "{reference:?}");
}
