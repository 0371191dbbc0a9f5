//! An ONNX file as it is on disk: what it says of its inputs and outputs, and whether what it says can be true.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use prost::Message;
use tract_onnx::pb::type_proto::Value;
use tract_onnx::pb::{GraphProto, ModelProto, TypeProto, ValueInfoProto, tensor_proto, tensor_shape_proto};

use crate::OnnxError;
use crate::bounds::Bounds;
use crate::inspect::{self, Inspected};

/// A file that was read and looked at, and not run yet.
///
/// ```
/// use std::path::Path;
/// use ebbtide_onnx::{Axis, Model, Port};
///
/// let file = Path::new("tests/fixtures/plane.onnx");
/// let model = Model::read(file)?;
/// let latent = Port {
///     name: "z".to_owned(),
///     kind: "float32".to_owned(),
///     axes: Some(vec![Axis::Free("batch".to_owned()), Axis::Fixed(2)]),
/// };
/// assert_eq!(model.inputs(), [latent]);
/// assert_eq!(model.outputs()[0].to_string(), "`x` float32 [batch, 3]");
///
/// // All its numbers are in the file itself.
/// assert_eq!((model.file(), model.bytes()), (file, file.metadata()?.len()));
/// assert_eq!(model.files().collect::<Vec<_>>(), [file]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Model {
    file: PathBuf,
    bytes: u64,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    external: Vec<PathBuf>,
    pub(crate) bounds: Bounds,
    pub(crate) proto: ModelProto,
}

/// An input or an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// What it is called.
    pub name: String,
    /// What its numbers are: `float32`, and others.
    pub kind: String,
    /// Its axes, where the file tells.
    pub axes: Option<Vec<Axis>>,
}

/// How long an axis is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Always the same.
    Fixed(usize),
    /// As the input has it: the number of rows, mostly.
    Free(String),
}

/// The numbers that networks are asked in.
pub(crate) const FLOAT: &str = "float32";

impl Model {
    /// Reads a file. It is held to what it says of itself: whatever is declared larger than it is, or lies elsewhere on the disk, is refused.
    ///
    /// ```
    /// use ebbtide_onnx::{Model, OnnxError};
    ///
    /// let file = std::env::temp_dir().join(format!("ebbtide-{}.onnx", std::process::id()));
    /// std::fs::write(&file, "not a network")?;
    /// assert!(matches!(Model::read(&file), Err(OnnxError::Malformed { .. })));
    /// # std::fs::remove_file(&file)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn read(file: &Path) -> Result<Self, OnnxError> {
        let bytes = fs::read(file).map_err(|source| OnnxError::Read { file: file.to_owned(), source })?;
        let malformed = |reason: String| OnnxError::Malformed { file: file.to_owned(), reason };
        let proto = ModelProto::decode(&*bytes).map_err(|error| malformed(error.to_string()))?;
        let graph = proto.graph.as_ref().ok_or_else(|| malformed("there is no graph in it".to_owned()))?;
        let Inspected { external, bounds } = inspect::graph(file, bytes.len() as u64, graph)?;
        let (inputs, outputs) = (inputs(graph), ports(&graph.output));
        if outputs.is_empty() || graph.node.is_empty() {
            return Err(malformed("its graph computes nothing".to_owned()));
        }
        Ok(Self {
            file: file.to_owned(),
            bytes: bytes.len() as u64,
            inputs,
            outputs,
            external,
            bounds,
            proto,
        })
    }

    /// Where it was read.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// How large the file is.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What it is asked with; numbers that come with the file are none of them.
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// What it answers with.
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// All files that it consists of: itself, and those beside it that hold its numbers.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        [self.file.as_path()].into_iter().chain(self.external.iter().map(PathBuf::as_path))
    }

    /// Whether it has convolutions.
    pub(crate) fn has_convolutions(&self) -> bool {
        let mut nodes = self.proto.graph.iter().flat_map(|graph| &graph.node);
        nodes.any(|node| ["Conv", "ConvTranspose"].contains(&&*node.op_type))
    }

    /// That its inputs or outputs are not those that are needed.
    pub(crate) fn unlike(&self, expected: impl Into<String>, found: impl Into<String>) -> OnnxError {
        OnnxError::Signature { file: self.file.clone(), expected: expected.into(), found: found.into() }
    }
}

impl Port {
    /// The axes after the first, where all of them are told.
    pub(crate) fn row(&self) -> Option<Vec<usize>> {
        let fixed = |axis: &Axis| match axis {
            Axis::Fixed(length) => Some(*length),
            Axis::Free(_) => None,
        };
        self.axes.as_ref()?.get(1..)?.iter().map(fixed).collect()
    }

    /// The number of rows, where it is always the same.
    pub(crate) fn rows(&self) -> Option<usize> {
        match self.axes.as_ref()?.first()? {
            Axis::Fixed(rows) => Some(*rows),
            Axis::Free(_) => None,
        }
    }

    /// Whether a tensor of this shape goes in here, as far as the file tells. The number of rows is left open.
    pub(crate) fn takes(&self, row: &[usize]) -> bool {
        let matches = |(axis, length): (&Axis, &usize)| match axis {
            Axis::Fixed(own) => own == length,
            Axis::Free(_) => true,
        };
        match &self.axes {
            None => true,
            Some(axes) => axes.len() == row.len() + 1 && axes[1..].iter().zip(row).all(matches),
        }
    }
}

/// `image float32 [batch, 1, 8, 8]`.
impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.name, self.kind)?;
        let Some(axes) = &self.axes else { return write!(f, " of unknown shape") };
        let axes: Vec<String> = axes.iter().map(ToString::to_string).collect();
        write!(f, " [{}]", axes.join(", "))
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Axis::Fixed(length) => write!(f, "{length}"),
            Axis::Free(name) => f.write_str(name),
        }
    }
}

/// Several of them in a sentence.
pub(crate) fn list(ports: &[Port]) -> String {
    match ports {
        [] => "none".to_owned(),
        ports => ports.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and "),
    }
}

fn inputs(graph: &GraphProto) -> Vec<Port> {
    let comes_along = |port: &Port| graph.initializer.iter().any(|tensor| tensor.name == port.name);
    ports(&graph.input).into_iter().filter(|port| !comes_along(port)).collect()
}

fn ports(infos: &[ValueInfoProto]) -> Vec<Port> {
    infos.iter().map(port).collect()
}

fn port(info: &ValueInfoProto) -> Port {
    let Some(TypeProto { value: Some(Value::TensorType(tensor)), .. }) = &info.r#type else {
        return Port { name: info.name.clone(), kind: "of an unknown kind".to_owned(), axes: None };
    };
    let axis = |dimension: &tensor_shape_proto::Dimension| match &dimension.value {
        Some(tensor_shape_proto::dimension::Value::DimValue(length)) => {
            usize::try_from(*length).map_or_else(|_| Axis::Free("?".to_owned()), Axis::Fixed)
        }
        Some(tensor_shape_proto::dimension::Value::DimParam(name)) => Axis::Free(name.clone()),
        None => Axis::Free("?".to_owned()),
    };
    let axes = tensor.shape.as_ref().map(|shape| shape.dim.iter().map(axis).collect());
    Port { name: info.name.clone(), kind: kind(tensor.elem_type), axes }
}

/// `float32`, `int64`, as NumPy has them.
fn kind(element: i32) -> String {
    match tensor_proto::DataType::try_from(element) {
        Ok(tensor_proto::DataType::Float) => FLOAT.to_owned(),
        Ok(tensor_proto::DataType::Double) => "float64".to_owned(),
        Ok(other) => other.as_str_name().to_lowercase(),
        Err(_) => format!("of the unknown kind {element}"),
    }
}
