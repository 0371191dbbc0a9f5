//! The engine that is part of this program.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use tract_onnx::Onnx;
use tract_onnx::pb::NodeProto;
use tract_onnx::prelude::{
    DatumExt, InferenceModelExt, IntoRunnable, IntoTValue, TValue, TVec, Tensor as Array, TractResult,
    TypedSimplePlan,
};

use super::memory::Excess;
use super::{Engine, Prepared, Tensor};
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

/// The first operator that is not known, or that has a graph of its own: how large that becomes cannot be told before it is evaluated.
fn unknown_operator(onnx: &Onnx, model: &Model) -> Result<(), OnnxError> {
    let nodes = model.proto.graph.iter().flat_map(|graph| &graph.node);
    let is_known = |node: &&NodeProto| {
        let inner =
            node.attribute.iter().any(|attribute| attribute.g.is_some() || !attribute.graphs.is_empty());
        !inner && onnx.op_register.0.contains_key(&node.op_type)
    };
    match nodes.into_iter().find(|node| !is_known(node)) {
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
    if let Some(excess) = model.bounds.analyse(&mut inferred)? {
        return Ok(Err(too_large(model, excess)));
    }
    let typed = inferred.into_typed()?;
    if let Some(excess) = model.bounds.evaluation(&typed)? {
        return Ok(Err(too_large(model, excess)));
    }
    Ok(Ok(typed.into_optimized()?.into_runnable()?))
}

fn too_large(model: &Model, Excess { what, size }: Excess) -> OnnxError {
    let file = model.file().to_owned();
    match size {
        Some(size) => OnnxError::TooLarge { file, what, size, limit: model.bounds.most },
        None => OnnxError::Unbounded { file, what },
    }
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
