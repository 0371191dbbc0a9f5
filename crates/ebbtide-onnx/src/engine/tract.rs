//! The engine that is part of this program.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use tract_onnx::Onnx;
use tract_onnx::prelude::{
    DatumExt, InferenceModelExt, IntoRunnable, IntoTValue, TValue, TVec, Tensor as Array, TractResult,
    TypedModel, TypedSimplePlan,
};

use super::{Engine, Prepared, Tensor};
use crate::inspect::LARGEST;
use crate::{Model, OnnxError};

/// A network, made ready for inputs of certain shapes.
pub struct Plan {
    file: PathBuf,
    plan: Arc<TypedSimplePlan>,
    wanted: Vec<usize>,
}

impl Plan {
    pub fn new(model: &Model, shapes: &[Vec<usize>], wanted: &[usize]) -> Result<Self, OnnxError> {
        let file = model.file().to_owned();
        let onnx = tract_onnx::onnx().with_ignore_value_info(true);
        unknown_operator(&onnx, model)?;
        let made = catch_unwind(AssertUnwindSafe(|| plan(&onnx, model, shapes)));
        let refused =
            |reason: String| OnnxError::Prepare { file: file.clone(), engine: Engine::Tract, reason };
        let plan = match made {
            Ok(Ok(Ok(plan))) => plan,
            Ok(Ok(Err(large))) => return Err(large),
            Ok(Err(error)) => return Err(refused(format!("{error:#}"))),
            Err(panic) => return Err(refused(words(&*panic))),
        };
        Ok(Self { file, plan, wanted: wanted.to_vec() })
    }
}

/// What somebody said who gave up.
fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let said =
        panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    said.unwrap_or("it gave up").to_owned()
}

fn unknown_operator(onnx: &Onnx, model: &Model) -> Result<(), OnnxError> {
    let nodes = model.proto.graph.iter().flat_map(|graph| &graph.node);
    let known = |node: &&tract_onnx::pb::NodeProto| onnx.op_register.0.contains_key(&node.op_type);
    match nodes.into_iter().find(|node| !known(node)) {
        None => Ok(()),
        Some(node) => {
            Err(OnnxError::Operator { file: model.file().to_owned(), operator: node.op_type.clone() })
        }
    }
}

type Made = Result<Arc<TypedSimplePlan>, OnnxError>;

fn plan(onnx: &Onnx, model: &Model, shapes: &[Vec<usize>]) -> TractResult<Made> {
    let folder = model.file().parent().and_then(|folder| folder.to_str());
    let mut inferred = onnx.parse(&model.proto, folder)?.model;
    for (input, shape) in shapes.iter().enumerate() {
        inferred.set_input_fact(input, f32::fact(shape.as_slice()).into())?;
    }
    let typed = inferred.into_typed()?;
    if let Some(large) = too_large(model, &typed) {
        return Ok(Err(large));
    }
    Ok(Ok(typed.into_optimized()?.into_runnable()?))
}

/// The first intermediate result that is larger than any may be.
fn too_large(model: &Model, typed: &TypedModel) -> Option<OnnxError> {
    let results = typed.nodes().iter().flat_map(|node| node.outputs.iter().map(move |output| (node, output)));
    let sizes = results.filter_map(|(node, output)| {
        let lengths = output.fact.shape.as_concrete()?;
        Some((&node.name, lengths.iter().fold(1u128, |size, length| size.saturating_mul(*length as u128))))
    });
    let (name, size) = sizes.into_iter().find(|(_, size)| *size > LARGEST)?;
    let file = model.file().to_owned();
    Some(OnnxError::TooLarge { file, what: format!("what `{name}` computes"), size, limit: LARGEST })
}

impl Prepared for Plan {
    fn run(&self, inputs: Vec<Tensor>, _: usize) -> Result<Vec<Tensor>, OnnxError> {
        let refused =
            |reason: String| OnnxError::Evaluate { file: self.file.clone(), engine: Engine::Tract, reason };
        let asked = catch_unwind(AssertUnwindSafe(|| {
            let inputs: TVec<TValue> = inputs
                .into_iter()
                .map(|input| Ok(Array::from_shape(&input.shape, &input.values)?.into_tvalue()))
                .collect::<TractResult<_>>()?;
            let outputs = self.plan.run(inputs)?;
            self.wanted.iter().map(|output| tensor(&outputs[*output])).collect::<TractResult<_>>()
        }));
        match asked {
            Ok(Ok(outputs)) => Ok(outputs),
            Ok(Err(error)) => Err(refused(format!("{error:#}"))),
            Err(panic) => Err(refused(words(&*panic))),
        }
    }

    fn is_threaded(&self) -> bool {
        false
    }
}

fn tensor(array: &Array) -> TractResult<Tensor> {
    let cast = array.cast_to::<f32>()?;
    let values = cast.try_as_plain_ram()?.as_slice::<f32>()?.to_vec();
    Ok(Tensor { shape: cast.shape().to_vec(), values })
}
