//! The network: encoders of time and state, a backbone, and a linear head for each process.

use super::draw::Draw;
use super::error_function::gelu;
use super::{Backbone, Destruction, GenerationVariance, Parameters, Settings, View};

/// Which of the two outputs is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// f, then v if the generation variance is learned.
    Generation,
    /// a, then b.
    Destruction,
}

impl Head {
    fn name(self) -> &'static str {
        match self {
            Head::Generation => "generation",
            Head::Destruction => "destruction",
        }
    }

    fn trunk(self, backbone: Backbone) -> &'static str {
        match backbone {
            Backbone::Shared => "shared",
            Backbone::Separate => self.name(),
        }
    }

    fn outputs(self, settings: &Settings) -> usize {
        match (self, settings.generation_variance) {
            (Head::Generation, GenerationVariance::Fixed) => settings.dim,
            _ => 2 * settings.dim,
        }
    }
}

/// The raw output of `head` at state x and time t.
pub fn output(settings: &Settings, parameters: &Parameters, head: Head, x: &[f64], t: f64) -> Vec<f64> {
    let trunk = head.trunk(settings.backbone);
    let hidden = trunk_output(settings, parameters, trunk, x, t);
    let layer = format!("{}.head", head.name());
    linear(parameters, &layer, &hidden)
}

/// Name and length of every tensor that these settings call for.
pub fn tensors(settings: &Settings) -> Vec<(String, usize)> {
    let heads: &[Head] = match settings.destruction {
        Destruction::Fixed => &[Head::Generation],
        Destruction::Learned(_) => &[Head::Generation, Head::Destruction],
    };
    let mut trunks: Vec<&str> = heads.iter().map(|h| h.trunk(settings.backbone)).collect();
    trunks.dedup();
    let mut list = Vec::new();
    for trunk in trunks {
        list.extend(trunk_tensors(settings, trunk));
    }
    for head in heads {
        let outputs = head.outputs(settings);
        list.push((format!("{}.head.weight", head.name()), settings.width * outputs));
        list.push((format!("{}.head.bias", head.name()), outputs));
    }
    list
}

/// Parameters drawn from N(0, scale²), every tensor alike, the heads too.
pub fn random_parameters(settings: &Settings, scale: f64, draw: &mut Draw) -> Parameters {
    tensors(settings)
        .into_iter()
        .map(|(name, length)| (name, (0..length).map(|_| scale * draw.normal()).collect()))
        .collect()
}

fn trunk_tensors(settings: &Settings, trunk: &str) -> Vec<(String, usize)> {
    let (d, h) = (settings.dim, settings.width);
    let mut list = vec![
        (format!("{trunk}.time.phase"), h),
        (format!("{trunk}.time.0.weight"), 2 * h * h),
        (format!("{trunk}.time.0.bias"), h),
        (format!("{trunk}.time.1.weight"), h * h),
        (format!("{trunk}.time.1.bias"), h),
        (format!("{trunk}.state.weight"), d * h),
        (format!("{trunk}.state.bias"), h),
        (format!("{trunk}.backbone.0.state.weight"), h * h),
        (format!("{trunk}.backbone.0.time.weight"), h * h),
        (format!("{trunk}.backbone.0.bias"), h),
    ];
    for k in 1..settings.depth {
        list.push((format!("{trunk}.backbone.{k}.weight"), h * h));
        list.push((format!("{trunk}.backbone.{k}.bias"), h));
    }
    list
}

fn trunk_output(settings: &Settings, parameters: &Parameters, trunk: &str, x: &[f64], t: f64) -> Vec<f64> {
    let features = time_features(tensor(parameters, &format!("{trunk}.time.phase")), t);
    let te = gelu_of(&linear(parameters, &format!("{trunk}.time.0"), &features));
    let te = linear(parameters, &format!("{trunk}.time.1"), &te);
    let seen: Vec<f64> = match settings.view {
        View::Plain => x.to_vec(),
        View::Logarithmic => x.iter().map(|x| x.signum() * x.abs().ln_1p()).collect(),
    };
    let se = linear(parameters, &format!("{trunk}.state"), &seen);

    // The concatenation (se, te) times a [2h][h] matrix, which is stored as its two halves.
    let mut hidden = tensor(parameters, &format!("{trunk}.backbone.0.bias")).to_vec();
    let state_half = tensor(parameters, &format!("{trunk}.backbone.0.state.weight"));
    let time_half = tensor(parameters, &format!("{trunk}.backbone.0.time.weight"));
    add_product(&mut hidden, &gelu_of(&se), state_half);
    add_product(&mut hidden, &gelu_of(&te), time_half);
    hidden = gelu_of(&hidden);

    for k in 1..settings.depth {
        let layer = format!("{trunk}.backbone.{k}");
        hidden = gelu_of(&linear(parameters, &layer, &hidden));
    }
    hidden
}

/// sin(c_k t + φ_k) for every k, then cos(c_k t + φ_k), with c evenly spaced from 0.1 to 100.
fn time_features(phase: &[f64], t: f64) -> Vec<f64> {
    let h = phase.len();
    let mut features = vec![0.0; 2 * h];
    for k in 0..h {
        let position = if h == 1 { 0.0 } else { k as f64 / (h - 1) as f64 };
        let c = 0.1 + (100.0 - 0.1) * position;
        let angle = c * t + phase[k];
        features[k] = angle.sin();
        features[h + k] = angle.cos();
    }
    features
}

/// x·W + b of the layer with that name.
fn linear(parameters: &Parameters, layer: &str, x: &[f64]) -> Vec<f64> {
    let mut y = tensor(parameters, &format!("{layer}.bias")).to_vec();
    add_product(&mut y, x, tensor(parameters, &format!("{layer}.weight")));
    y
}

/// y ← y + x·W, W stored `[in][out]`.
fn add_product(y: &mut [f64], x: &[f64], weight: &[f64]) {
    let (inputs, outputs) = (x.len(), y.len());
    assert_eq!(weight.len(), inputs * outputs, "shape of a weight");
    for i in 0..inputs {
        for j in 0..outputs {
            y[j] += x[i] * weight[i * outputs + j];
        }
    }
}

fn gelu_of(x: &[f64]) -> Vec<f64> {
    x.iter().map(|&value| gelu(value)).collect()
}

fn tensor<'a>(parameters: &'a Parameters, name: &str) -> &'a [f64] {
    parameters.get(name).unwrap_or_else(|| panic!("no tensor named {name}"))
}
