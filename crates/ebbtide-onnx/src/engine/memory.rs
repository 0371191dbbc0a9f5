//! How much memory tract takes for a network, worked out before it takes it.

use std::collections::{BTreeSet, HashMap};

use tract_hir::infer::{Factoid, InferenceFact, InferenceModel};
use tract_hir::tract_core::ops::cnn::{Conv, Deconv, PoolSpec};
use tract_onnx::prelude::{OutletId, Tensor, TractResult, TypedFact, TypedModel};

use crate::bounds::Bounds;

/// Something of a network that would not fit.
pub struct Excess {
    /// Which part.
    pub what: String,
    /// Bytes that it would take with all that is there at the same time; none if nobody can tell before it is computed.
    pub size: Option<u128>,
}

impl Bounds {
    /// Works out the shape of everything that is computed, as tract does. It computes what follows from constants alone on the way, so each
    /// of these is looked at first: one that asks for too much is never computed.
    pub fn analyse(self, model: &mut InferenceModel) -> TractResult<Option<Excess>> {
        let mut constants: HashMap<usize, u128> = HashMap::new();
        let mut together: u128 = 0;
        let mut waiting: BTreeSet<usize> = model.nodes().iter().map(|node| node.id).collect();
        while let Some(node) = waiting.pop_first() {
            let size = constant(model, node)?;
            let known = constants.insert(node, size).unwrap_or(0);
            together = (together - known).saturating_add(size);
            if together > self.most {
                let what = format!("what `{}` computes from constants", model.nodes()[node].name);
                return Ok(Some(Excess { what, size: Some(together) }));
            }
            for edge in learn(model, node)? {
                let readers = model.nodes()[edge.node].outputs[edge.slot].successors.iter();
                waiting.extend(readers.map(|reader| reader.node).filter(|reader| *reader != edge.node));
                if edge.node != node {
                    waiting.insert(edge.node);
                }
            }
        }
        Ok(None)
    }

    /// Looks at what is there at the same time while a network is evaluated, from one layer to the next.
    pub fn evaluation(self, model: &TypedModel) -> TractResult<Option<Excess>> {
        let order = model.eval_order()?;
        let mut last_read = HashMap::new();
        for node in &order {
            last_read.extend(model.nodes()[*node].inputs.iter().map(|input| (*input, *node)));
        }
        let mut there: u128 = 0;
        for id in order {
            let node = &model.nodes()[id];
            let excess =
                |size| Excess { what: format!("what is there while `{}` is computed", node.name), size };
            for output in &node.outputs {
                match bytes(&output.fact) {
                    Some(size) => there = there.saturating_add(size),
                    None => return Ok(Some(excess(None))),
                }
            }
            let meanwhile = there.saturating_add(patches(model, id)?);
            if meanwhile > self.most {
                return Ok(Some(excess(Some(meanwhile))));
            }
            let done: BTreeSet<_> = node.inputs.iter().filter(|input| last_read[input] == id).collect();
            for input in done {
                there -= bytes(model.outlet_fact(*input)?).unwrap_or(0);
            }
        }
        Ok(None)
    }
}

/// Lets a node say what it knows of its inputs and outputs. Answers with those of which more is known now.
fn learn(model: &mut InferenceModel, node: usize) -> TractResult<Vec<OutletId>> {
    let (inputs, outputs) = model.node_facts(node)?;
    let mut operator = model.nodes()[node].op.clone();
    let (inputs, outputs, _) = operator.infer(inputs, outputs, Default::default())?;
    let edges = model.nodes()[node].inputs.iter().copied();
    let edges: Vec<OutletId> =
        edges.chain((0..outputs.len()).map(|slot| OutletId::new(node, slot))).collect();
    model.node_mut(node).op = operator;
    let mut changed = Vec::new();
    for (edge, learned) in edges.into_iter().zip(inputs.into_iter().chain(outputs)) {
        let known = model.outlet_fact(edge)?;
        let together = known.unify(&learned)?;
        if together != *known {
            model.set_outlet_fact(edge, together)?;
            changed.push(edge);
        }
    }
    Ok(changed)
}

/// The bytes of what a node computes, if all of its inputs are constants; nothing otherwise.
fn constant(model: &InferenceModel, node: usize) -> TractResult<u128> {
    let (inputs, outputs) = model.node_facts(node)?;
    let values: Option<Vec<_>> = inputs.iter().map(|input| input.value.concretize()).collect();
    let Some(values) = values.filter(|values| !values.is_empty()) else { return Ok(0) };
    let mut operator = model.nodes()[node].op.clone();
    let (_, outputs, _) = operator.infer_facts(inputs, outputs, Default::default())?;
    let unknown = || values.iter().fold(1, |size: u128, value| size.saturating_mul(growth(value)));
    let size = |output: &InferenceFact| {
        let width = output.datum_type.concretize().map_or(8, |kind| kind.size_of()) as u128;
        lengths(output).unwrap_or_else(unknown).saturating_mul(width)
    };
    Ok(outputs.iter().fold(0, |sum: u128, output| sum.saturating_add(size(output))))
}

/// The numbers of something, if its shape is known.
fn lengths(fact: &InferenceFact) -> Option<u128> {
    let shape = fact.shape.concretize()?;
    let mut lengths =
        shape.iter().map(|length| length.to_i64().ok().and_then(|length| u128::try_from(length).ok()));
    lengths.try_fold(1, |size: u128, length| Some(size.saturating_mul(length?)))
}

/// How many numbers a constant can make of one, by its own size or by what it says, at most.
fn growth(constant: &Tensor) -> u128 {
    const LONGEST_SHAPE: usize = 64;
    let said = constant.cast_to::<f64>().ok().filter(|said| said.len() <= LONGEST_SHAPE);
    let numbers = said.as_ref().and_then(|said| said.try_as_plain_ram().ok()?.as_slice::<f64>().ok());
    // Steps that are small make as many numbers as large ends. The largest of all ends, "as far as it goes", is none.
    let by_numbers = numbers.into_iter().flatten().fold(1.0, |size: f64, number| {
        let number = number.abs();
        let says_a_size = number > 0.0 && number < i64::MAX as f64;
        size * if says_a_size { number.max(1.0 / number).ceil() } else { 1.0 }
    });
    (constant.len().max(1) as u128).saturating_mul(by_numbers as u128)
}

/// The bytes of an intermediate result, none if its shape is known only when it is computed. Constants are counted before.
fn bytes(fact: &TypedFact) -> Option<u128> {
    if fact.konst.is_some() {
        return Some(0);
    }
    let lengths = fact.shape.as_concrete()?;
    let numbers = lengths.iter().fold(1, |size: u128, length| size.saturating_mul(*length as u128));
    Some(numbers.saturating_mul(fact.datum_type.size_of() as u128))
}

/// What a convolution writes out besides its answer: for each place the patch of all channels that it sees there.
fn patches(model: &TypedModel, node: usize) -> TractResult<u128> {
    let answer = || bytes(&model.nodes()[node].outputs[0].fact).unwrap_or(0);
    let places = |bytes: u128, channels: usize| bytes / (channels as u128).max(1);
    let patch = |spec: &PoolSpec, channels: usize| {
        spec.kernel_shape.iter().fold(channels as u128, |size, length| size.saturating_mul(*length as u128))
    };
    if let Some(Conv { pool_spec, .. }) = model.nodes()[node].op_as() {
        let places = places(answer(), pool_spec.output_channels);
        return Ok(places.saturating_mul(patch(pool_spec, pool_spec.input_channels)));
    }
    if let Some(Deconv { pool_spec, .. }) = model.nodes()[node].op_as() {
        let seen = bytes(model.node_input_facts(node)?[0]).unwrap_or(0);
        let places = places(seen, pool_spec.input_channels);
        return Ok(places.saturating_mul(patch(pool_spec, pool_spec.output_channels)));
    }
    Ok(0)
}
