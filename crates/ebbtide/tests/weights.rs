//! Importance weights: the shape of their tail, and draws that are chosen by them.

use ebbtide::metric::pareto_shape;
use ebbtide::stream::{Address, Purpose};
use ebbtide::weighted::{independence_chain, resample};
use safetensors::SafeTensors;

fn numbers(data: &[u8]) -> Vec<f64> {
    data.as_chunks().0.iter().copied().map(f64::from_le_bytes).collect()
}

#[test]
fn shapes_agree_with_arviz() {
    let file = SafeTensors::deserialize(include_bytes!("fixtures/pareto.safetensors")).unwrap();
    let cases = file.len() / 2;
    assert!(cases >= 19);
    for case in 0..cases {
        let tensor = |name| numbers(file.tensor(&format!("{case}.{name}")).unwrap().data());
        let (log_weights, expected) = (tensor("log_weights"), tensor("shape")[0]);
        let shape = pareto_shape(&log_weights).expect("a shape");
        assert!((shape - expected).abs() < 1e-6, "case {case}: {shape} for {expected}");
    }
}

/// Proposals from N(1, 2²) for a target N(0, 1), with their log weights up to a constant.
fn proposals(seed: u64, count: usize) -> (Vec<f64>, Vec<f64>) {
    let mut stream = Address::new(seed, Purpose::Sample, 0).stream(0);
    let points: Vec<f64> = (0..count).map(|_| 1.0 + 2.0 * stream.normal_f64()).collect();
    let weight = |x: &f64| -0.5 * x * x + 0.125 * (x - 1.0) * (x - 1.0);
    let weights = points.iter().map(weight).collect();
    (points, weights)
}

fn moments(points: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = points.clone().count() as f64;
    let mean = points.clone().sum::<f64>() / n;
    (mean, points.map(|x| (x - mean).powi(2)).sum::<f64>() / n)
}

#[test]
fn a_poor_sampler_is_put_right_by_either_way() {
    let (points, weights) = proposals(3, 200_000);
    let (mean, variance) = moments(points.iter().copied());
    assert!((mean - 1.0).abs() < 0.02 && (variance - 4.0).abs() < 0.05, "it is a poor one");
    let address = Address::new(3, Purpose::Resample, 0);
    let chosen = resample(&weights, 100_000, address).unwrap();
    let (mean, variance) = moments(chosen.iter().map(|place| points[*place]));
    assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
    let chain = independence_chain(&weights, address).unwrap();
    let (mean, variance) = moments(chain.states.iter().map(|place| points[*place]));
    assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    let share = chain.accepted as f64 / 200_000.0;
    assert!((0.4..0.6).contains(&share), "{share}");
}

#[test]
fn resampling_takes_each_as_often_as_its_weight_says() {
    let (_, weights) = proposals(5, 500);
    let total: f64 = weights.iter().map(|weight| weight.exp()).sum();
    let mut counts = vec![0.0; 500];
    for seed in 0..200 {
        for place in resample(&weights, 500, Address::new(seed, Purpose::Resample, 0)).unwrap() {
            counts[place] += 1.0 / 200.0;
        }
    }
    for (count, weight) in counts.iter().zip(&weights) {
        let expected = 500.0 * weight.exp() / total;
        // By slices, a count is never more than one off on either side.
        assert!((count - expected).abs() < 0.25, "{count} {expected}");
    }
}

#[test]
fn weights_that_say_nothing_choose_nothing() {
    let address = Address::new(0, Purpose::Resample, 0);
    for weights in [&[f64::NEG_INFINITY; 3][..], &[0.0, f64::NAN], &[f64::INFINITY, 0.0], &[]] {
        assert_eq!(resample(weights, 4, address), None, "{weights:?}");
        assert_eq!(independence_chain(weights, address), None, "{weights:?}");
    }
    assert_eq!(resample(&[5.0, -5.0], 0, address), Some(Vec::new()));
    assert_eq!(resample(&[-1e300, f64::NEG_INFINITY], 3, address), Some(vec![0; 3]));
}
