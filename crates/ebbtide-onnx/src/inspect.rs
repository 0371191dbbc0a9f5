//! Files from elsewhere: whether their numbers are there, and whether what they compute fits into memory.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use tract_onnx::pb::tensor_proto::{DataLocation, DataType};
use tract_onnx::pb::{AttributeProto, GraphProto, NodeProto, TensorProto};

use crate::OnnxError;
use crate::bounds::Bounds;

/// Graphs within graphs: more than anybody exports.
const DEEPEST: usize = 8;

/// Operators whose answer is as large as some of their inputs say, and which inputs those are.
const BY_NUMBERS: [(&str, &[usize]); 8] = [
    ("ConstantOfShape", &[0]),
    ("Expand", &[1]),
    ("Tile", &[1]),
    ("Pad", &[1]),
    ("Range", &[0, 1, 2]),
    ("Resize", &[2, 3]),
    ("Upsample", &[1]),
    ("OneHot", &[1]),
];

/// What there is to know of a file before it is used.
pub struct Inspected {
    /// The files beside it that hold some of its numbers.
    pub external: Vec<PathBuf>,
    /// How much memory it may take.
    pub bounds: Bounds,
}

/// Looks at the graph of a file of so many bytes, and at those within it.
pub fn graph(file: &Path, bytes: u64, graph: &GraphProto) -> Result<Inspected, OnnxError> {
    let mut inspection = Inspection { file, bytes, external: BTreeMap::new(), read: 0 };
    inspection.graph(graph, 0)?;
    let bounds = inspection.bounds();
    match inspection.read > bounds.most {
        true => Err(inspection.too_large("its numbers in other files".to_owned(), inspection.read)),
        false => Ok(Inspected { external: inspection.external.into_keys().collect(), bounds }),
    }
}

struct Inspection<'a> {
    file: &'a Path,
    bytes: u64,
    /// The files beside this one that hold some of its numbers, and their bytes.
    external: BTreeMap<PathBuf, u64>,
    /// The bytes of all tensors in them; several may be the same bytes of a file.
    read: u128,
}

impl Inspection<'_> {
    fn malformed(&self, reason: String) -> OnnxError {
        OnnxError::Malformed { file: self.file.to_owned(), reason }
    }

    fn graph(&mut self, graph: &GraphProto, depth: usize) -> Result<(), OnnxError> {
        if depth > DEEPEST {
            return Err(self.malformed(format!("graphs stand within each other more than {DEEPEST} deep")));
        }
        graph.initializer.iter().try_for_each(|tensor| self.tensor(tensor))?;
        self.wiring(graph, depth)?;
        let attributes = || graph.node.iter().flat_map(|node| &node.attribute);
        for AttributeProto { t, tensors, g, graphs, .. } in attributes() {
            t.iter().chain(tensors).try_for_each(|tensor| self.tensor(tensor))?;
            g.iter().chain(graphs).try_for_each(|inner| self.graph(inner, depth + 1))?;
        }
        self.sizes(graph)
    }

    /// Whatever a graph answers with, something in it computes. (What inner graphs ask for may come from outside.)
    fn wiring(&self, graph: &GraphProto, depth: usize) -> Result<(), OnnxError> {
        let computed = graph.node.iter().flat_map(|node| &node.output);
        let known: HashSet<&str> = computed
            .chain(graph.input.iter().map(|input| &input.name))
            .chain(graph.initializer.iter().map(|tensor| &tensor.name))
            .map(String::as_str)
            .filter(|name| !name.is_empty())
            .collect();
        let outputs = graph.output.iter().map(|output| &output.name);
        let inputs = graph.node.iter().flat_map(|node| &node.input).filter(|name| !name.is_empty());
        let asked = outputs.chain(inputs.filter(|_| depth == 0));
        match asked.into_iter().find(|name| !known.contains(name.as_str())) {
            None => Ok(()),
            Some(name) => Err(self.malformed(format!("nothing in it computes `{name}`"))),
        }
    }

    /// A tensor has as many numbers as it says.
    fn tensor(&mut self, tensor: &TensorProto) -> Result<(), OnnxError> {
        let name = if tensor.name.is_empty() { "a constant" } else { &tensor.name };
        let mut size: u128 = 1;
        for length in &tensor.dims {
            let length = u128::try_from(*length)
                .map_err(|_| self.malformed(format!("an axis of `{name}` has the length {length}")))?;
            size = size.saturating_mul(length);
        }
        if tensor.data_location == Some(DataLocation::External as i32) {
            return self.beside(tensor, name, size);
        }
        let there = if tensor.raw_data.is_empty() {
            let lists = [
                tensor.float_data.len(),
                tensor.int32_data.len(),
                tensor.int64_data.len(),
                tensor.double_data.len(),
                tensor.uint64_data.len(),
                tensor.string_data.len(),
            ];
            lists.into_iter().max().unwrap_or(0) as u128
        } else {
            let width = self.width(tensor, name)?;
            if !(tensor.raw_data.len() as u128).is_multiple_of(width) {
                return Err(self.malformed(format!("the last number of `{name}` is cut off")));
            }
            tensor.raw_data.len() as u128 / width
        };
        match there == size {
            true => Ok(()),
            false => {
                Err(self.malformed(format!("`{name}` says that it has {size} numbers, and has {there}")))
            }
        }
    }

    /// Bytes of a number.
    fn width(&self, tensor: &TensorProto, name: &str) -> Result<u128, OnnxError> {
        match DataType::try_from(tensor.data_type) {
            Ok(DataType::Bool | DataType::Int8 | DataType::Uint8) => Ok(1),
            Ok(DataType::Float16 | DataType::Bfloat16 | DataType::Int16 | DataType::Uint16) => Ok(2),
            Ok(DataType::Float | DataType::Int32 | DataType::Uint32) => Ok(4),
            Ok(DataType::Double | DataType::Int64 | DataType::Uint64) => Ok(8),
            _ => {
                Err(self
                    .malformed(format!("`{name}` is of the kind {}, which cannot be read", tensor.data_type)))
            }
        }
    }

    /// Numbers in another file must be in the same folder, and all there.
    fn beside(&mut self, tensor: &TensorProto, name: &str, size: u128) -> Result<(), OnnxError> {
        let says =
            |key: &str| tensor.external_data.iter().find(|entry| entry.key == key).map(|entry| &*entry.value);
        let location = says("location").unwrap_or_default();
        let stays = Path::new(location).components().all(|part| matches!(part, Component::Normal(_)));
        if location.is_empty() || !stays {
            let reason =
                format!("the numbers of `{name}` are in \"{location}\", which is not a file beside it");
            return Err(self.malformed(reason));
        }
        let path = self.file.parent().unwrap_or(Path::new("")).join(location);
        let about =
            fs::symlink_metadata(&path).map_err(|source| OnnxError::Read { file: path.clone(), source })?;
        if !about.is_file() {
            let reason =
                format!("the numbers of `{name}` are in \"{location}\", which is no file of its own");
            return Err(self.malformed(reason));
        }
        let number = |key: &str| says(key).map_or(Ok(0), str::parse::<u128>);
        let (Ok(offset), Ok(length)) = (number("offset"), number("length")) else {
            return Err(
                self.malformed(format!("where the numbers of `{name}` begin in \"{location}\" is no number"))
            );
        };
        let bytes = size.saturating_mul(self.width(tensor, name)?);
        let there = u128::from(about.len());
        if (length != 0 && length != bytes) || offset.saturating_add(bytes) > there {
            let reason =
                format!("`{name}` needs {bytes} bytes of \"{location}\" from {offset} on, which has {there}");
            return Err(self.malformed(reason));
        }
        self.external.insert(path, about.len());
        self.read = self.read.saturating_add(bytes);
        Ok(())
    }

    /// Constants that say how large something is to be do not say too much.
    fn sizes(&self, graph: &GraphProto) -> Result<(), OnnxError> {
        let constants = Constants::of(graph);
        for node in &graph.node {
            let Some((_, inputs)) = BY_NUMBERS.iter().find(|(operator, _)| *operator == node.op_type) else {
                continue;
            };
            let asked = inputs.iter().filter_map(|input| node.input.get(*input));
            let number = size_of::<f32>() as u128;
            let size = asked.fold(number, |size, name| size.saturating_mul(constants.growth(name, 0)));
            if size > self.bounds().most {
                return Err(self.too_large(format!("what `{}` ({}) makes", node.name, node.op_type), size));
            }
        }
        Ok(())
    }

    fn too_large(&self, what: String, size: u128) -> OnnxError {
        OnnxError::TooLarge { file: self.file.to_owned(), what, size, limit: self.bounds().most }
    }

    fn bounds(&self) -> Bounds {
        Bounds::of(self.external.values().fold(self.bytes, |sum, bytes| sum.saturating_add(*bytes)))
    }
}

/// Where the numbers of a graph come from.
struct Constants<'a> {
    tensors: HashMap<&'a str, &'a TensorProto>,
    nodes: HashMap<&'a str, &'a NodeProto>,
    growths: RefCell<HashMap<&'a str, u128>>,
}

impl<'a> Constants<'a> {
    fn of(graph: &'a GraphProto) -> Self {
        let mut tensors: HashMap<&str, &TensorProto> =
            graph.initializer.iter().map(|tensor| (&*tensor.name, tensor)).collect();
        let mut nodes = HashMap::new();
        for node in &graph.node {
            let value = node.attribute.iter().find(|attribute| attribute.name == "value");
            for output in &node.output {
                nodes.insert(&**output, node);
                if let ("Constant", Some(tensor)) = (&*node.op_type, value.and_then(|value| value.t.as_ref()))
                {
                    tensors.insert(output, tensor);
                }
            }
        }
        Self { tensors, nodes, growths: RefCell::default() }
    }

    /// By how much the constants that a value is computed from can make something grow, at most. Lengths of axes of what is there already do not count.
    fn growth(&self, name: &'a str, depth: usize) -> u128 {
        if let Some(known) = self.growths.borrow().get(name) {
            return *known;
        }
        // Whoever leads back here, or too deep, is no size that somebody meant.
        self.growths.borrow_mut().insert(name, u128::MAX);
        let growth = match (self.tensors.get(name), self.nodes.get(name)) {
            _ if depth > LONGEST_WAY => u128::MAX,
            (Some(tensor), _) => product(numbers(tensor)),
            (None, None) => 1,
            (None, Some(node)) => self.growth_of(node, depth + 1),
        };
        self.growths.borrow_mut().insert(name, growth);
        growth
    }

    fn growth_of(&self, node: &'a NodeProto, depth: usize) -> u128 {
        let input = |at: usize| match node.input.get(at) {
            Some(name) if !name.is_empty() => self.growth(name, depth),
            _ => 1,
        };
        match &*node.op_type {
            "Shape" | "Size" | "Equal" | "Less" | "Greater" | "Not" => 1,
            "Cast" | "Gather" | "Slice" | "Squeeze" | "Unsqueeze" | "Identity" | "Reshape" | "Div" => {
                input(0)
            }
            "Where" => input(1).max(input(2)),
            "ConstantOfShape" => {
                let value = node.attribute.iter().find_map(|attribute| attribute.t.as_ref());
                if product(value.map(numbers).unwrap_or_default()) > 1 { u128::MAX } else { 1 }
            }
            _ => product((0..node.input.len()).map(input)),
        }
    }
}

/// From a constant to what is as large as it says, at most.
const LONGEST_WAY: usize = 64;

fn product(numbers: impl IntoIterator<Item = u128>) -> u128 {
    numbers.into_iter().fold(1, |product, number| product.saturating_mul(number.max(1)))
}

/// The sizes of a constant's numbers, if it is short enough to be a shape. Ends of slices, "as far as it goes", are no sizes.
fn numbers(tensor: &TensorProto) -> Vec<u128> {
    const LONGEST: usize = 64;
    const ENDLESS: u64 = i32::MAX as u64;
    let raw = |width: usize| tensor.raw_data.chunks_exact(width).take(LONGEST);
    let sizes: Vec<u64> = match DataType::try_from(tensor.data_type) {
        Ok(DataType::Int64) if tensor.raw_data.is_empty() => {
            tensor.int64_data.iter().take(LONGEST).map(|number| number.unsigned_abs()).collect()
        }
        Ok(DataType::Int64) => raw(8)
            .map(|bytes| i64::from_le_bytes(bytes.try_into().expect("eight bytes")).unsigned_abs())
            .collect(),
        Ok(DataType::Int32) if tensor.raw_data.is_empty() => {
            tensor.int32_data.iter().take(LONGEST).map(|number| u64::from(number.unsigned_abs())).collect()
        }
        Ok(DataType::Int32) => raw(4)
            .map(|bytes| u64::from(i32::from_le_bytes(bytes.try_into().expect("four bytes")).unsigned_abs()))
            .collect(),
        Ok(DataType::Float) if tensor.raw_data.is_empty() => {
            tensor.float_data.iter().take(LONGEST).map(|number| number.abs().ceil() as u64).collect()
        }
        Ok(DataType::Float) => raw(4)
            .map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four bytes")).abs().ceil() as u64)
            .collect(),
        _ => Vec::new(),
    };
    let is_end =
        |size: &u64| *size == i64::MAX as u64 || *size == i64::MIN.unsigned_abs() || *size == ENDLESS;
    sizes.into_iter().filter(|size| !is_end(size)).map(u128::from).collect()
}
