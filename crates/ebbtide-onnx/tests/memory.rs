//! However a network is made, it takes no more memory than a network of its size may take: it is refused before.

use std::path::PathBuf;

use ebbtide::target::Oracle;
use ebbtide_onnx::{Engine, NetworkDensity, OnnxError};
use peak_alloc::PeakAlloc;
use prost::Message;
use tempfile::TempDir;
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TypeProto,
    ValueInfoProto, attribute_proto::AttributeType, tensor_shape_proto, type_proto,
};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What a small file may take, and something for its reader.
const MOST: usize = (256 + 32) << 20;

/// A network with an input `x` of two coordinates and an output `energy`, a number for each row.
#[derive(Default)]
struct Graph {
    nodes: Vec<NodeProto>,
    constants: Vec<TensorProto>,
}

impl Graph {
    /// A constant of whole numbers.
    fn whole(&mut self, name: &str, dims: &[i64], numbers: &[i64]) -> &mut Self {
        let (dims, int64_data) = (dims.to_vec(), numbers.to_vec());
        let data_type = DataType::Int64 as i32;
        self.constants.push(TensorProto {
            name: name.to_owned(),
            dims,
            data_type,
            int64_data,
            ..Default::default()
        });
        self
    }

    /// A constant of ones.
    fn ones(&mut self, name: &str, dims: &[i64]) -> &mut Self {
        let float_data = vec![1.0; dims.iter().product::<i64>() as usize];
        let data_type = DataType::Float as i32;
        let dims = dims.to_vec();
        self.constants.push(TensorProto {
            name: name.to_owned(),
            dims,
            data_type,
            float_data,
            ..Default::default()
        });
        self
    }

    fn node(&mut self, operator: &str, inputs: &[&str], output: &str) -> &mut Self {
        self.with(operator, inputs, output, Vec::new())
    }

    fn with(
        &mut self,
        operator: &str,
        inputs: &[&str],
        output: &str,
        attribute: Vec<AttributeProto>,
    ) -> &mut Self {
        self.nodes.push(NodeProto {
            input: inputs.iter().map(ToString::to_string).collect(),
            output: vec![output.to_owned()],
            name: output.to_owned(),
            op_type: operator.to_owned(),
            attribute,
            ..Default::default()
        });
        self
    }

    /// Adds up what there is in each row of something, as the energy.
    fn energy_of(&mut self, result: &str) -> &mut Self {
        self.whole("last", &[1], &[1]).node("ReduceSum", &[result, "last"], "sums");
        self.whole("flat", &[1], &[-1]).node("Reshape", &["sums", "flat"], "energy")
    }

    /// Takes something that has no rows into the energy.
    fn energy_with(&mut self, result: &str) -> &mut Self {
        self.node("ReduceMax", &[result], "most");
        self.whole("scalar", &[0], &[]).node("Reshape", &["most", "scalar"], "number");
        self.node("Add", &["x", "number"], "moved").energy_of("moved")
    }

    /// Reads it from a file, asks it about three points, and answers with what came of it and the most memory that was in use meanwhile.
    fn ask(&mut self) -> (Result<(), OnnxError>, usize) {
        let folder = TempDir::new().expect("a folder");
        let file = self.write(&folder);
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        let answer = NetworkDensity::load(&file, Some(2), Engine::Tract).map(|density| {
            density.log_density(vec![0.5; 6], &mut [0.0; 3]).expect("what was taken can be asked");
        });
        (answer, MEMORY.peak_usage().saturating_sub(before))
    }

    fn write(&mut self, folder: &TempDir) -> PathBuf {
        let float = |lengths: &[Option<i64>]| {
            let dimension = |length: &Option<i64>| tensor_shape_proto::Dimension {
                value: Some(match length {
                    Some(length) => tensor_shape_proto::dimension::Value::DimValue(*length),
                    None => tensor_shape_proto::dimension::Value::DimParam("rows".to_owned()),
                }),
                ..Default::default()
            };
            let dim = lengths.iter().map(dimension).collect();
            let shape = Some(tract_onnx::pb::TensorShapeProto { dim });
            let tensor = type_proto::Tensor { elem_type: DataType::Float as i32, shape };
            Some(TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..Default::default() })
        };
        let port = |name: &str, lengths: &[Option<i64>]| ValueInfoProto {
            name: name.to_owned(),
            r#type: float(lengths),
            ..Default::default()
        };
        let graph = GraphProto {
            name: "graph".to_owned(),
            node: std::mem::take(&mut self.nodes),
            initializer: std::mem::take(&mut self.constants),
            input: vec![port("x", &[None, Some(2)])],
            output: vec![port("energy", &[None])],
            ..Default::default()
        };
        let model = ModelProto {
            ir_version: 8,
            opset_import: vec![OperatorSetIdProto { domain: String::new(), version: 17 }],
            graph: Some(graph),
            ..Default::default()
        };
        let file = folder.path().join("network.onnx");
        std::fs::write(&file, model.encode_to_vec()).expect("room for a small file");
        file
    }
}

#[track_caller]
fn is_refused(graph: &mut Graph) {
    let (answer, most) = graph.ask();
    let error = answer.expect_err("it is too large");
    assert!(matches!(error, OnnxError::TooLarge { .. }), "{error}");
    assert!(most < MOST, "{most} bytes were taken to say: {error}");
}

/// All cases one after the other: they watch the memory of the whole process.
#[test]
fn what_would_not_fit_is_refused_before_it_is_computed() {
    an_ordinary_network_is_taken();
    shapes_that_multiply();
    constants_that_multiply();
    many_constants();
    much_at_the_same_time();
    patches_of_convolutions();
    sizes_that_nobody_knows();
}

fn an_ordinary_network_is_taken() {
    let mut graph = Graph::default();
    graph.ones("weights", &[2, 64]).node("MatMul", &["x", "weights"], "hidden").energy_of("hidden");
    let (answer, most) = graph.ask();
    answer.expect("nothing is wrong with it");
    assert!(most < 32 << 20, "{most} bytes");
    // Sizes that are computed are welcome as long as they are small.
    graph.whole("begin", &[1], &[0]).whole("end", &[1], &[i64::MAX]).node("Shape", &["x"], "whole-shape");
    graph.node("Slice", &["whole-shape", "begin", "end"], "shape");
    graph.node("ConstantOfShape", &["shape"], "zeros");
    graph.node("Add", &["x", "zeros"], "same").energy_of("same");
    graph.ask().0.expect("nothing is wrong with it either");
}

/// The shape of the input, squared again and again: no constant says how large it becomes.
fn shapes_that_multiply() {
    let mut graph = Graph::default();
    graph.node("Shape", &["x"], "shape-0");
    for power in 0..3 {
        let (shape, squared) = (format!("shape-{power}"), format!("shape-{}", power + 1));
        graph.node("Mul", &[&shape, &shape], &squared);
    }
    is_refused(graph.node("ConstantOfShape", &["shape-3"], "large").energy_with("large"));
}

/// A thousand numbers, each with each, and then again.
fn constants_that_multiply() {
    let mut graph = Graph::default();
    graph.ones("column", &[1000, 1]).ones("row", &[1, 1000]).node("MatMul", &["column", "row"], "million");
    graph.whole("as-column", &[2], &[-1, 1]).node("Reshape", &["million", "as-column"], "tall");
    graph.whole("as-row", &[2], &[1, -1]).node("Reshape", &["million", "as-row"], "wide");
    is_refused(graph.node("MatMul", &["tall", "wide"], "large").energy_with("large"));
}

/// None of them is large.
fn many_constants() {
    let mut graph = Graph::default();
    graph.ones("result-0", &[700_000]).ones("one", &[1]);
    for count in 0..400 {
        let (before, after) = (format!("result-{count}"), format!("result-{}", count + 1));
        graph.node("Add", &[&before, "one"], &after);
    }
    is_refused(graph.energy_with("result-400"));
}

/// Fifty copies of the input, each a hundred thousand times as large, which are all needed in the end.
fn much_at_the_same_time() {
    let mut graph = Graph::default();
    graph.whole("times", &[2], &[1, 100_000]);
    let names: Vec<String> = (0..50).map(|count| format!("copy-{count}")).collect();
    for name in &names {
        let scaled = format!("scaled-{name}");
        graph.ones(&format!("one-{name}"), &[1]).node("Mul", &["x", &format!("one-{name}")], &scaled);
        graph.node("Exp", &[&scaled], &format!("exp-{name}"));
        graph.node("Tile", &[&format!("exp-{name}"), "times"], name);
    }
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let axis = AttributeProto {
        name: "axis".to_owned(),
        r#type: AttributeType::Int as i32,
        i: 1,
        ..Default::default()
    };
    is_refused(graph.with("Concat", &all, "everything", vec![axis]).energy_of("everything"));
}

/// An image of 512 × 512, of which each point sees 31 × 31.
fn patches_of_convolutions() {
    let mut graph = Graph::default();
    graph.whole("times", &[2], &[1, 131_072]).node("Tile", &["x", "times"], "long");
    graph.whole("image", &[4], &[-1, 1, 512, 512]).node("Reshape", &["long", "image"], "picture");
    let pads = AttributeProto {
        name: "pads".to_owned(),
        r#type: AttributeType::Ints as i32,
        ints: vec![15; 4],
        ..Default::default()
    };
    graph.ones("kernel", &[1, 1, 31, 31]).with("Conv", &["picture", "kernel"], "blurred", vec![pads]);
    graph.whole("row", &[2], &[-1, 512 * 512]).node("Reshape", &["blurred", "row"], "points");
    is_refused(graph.energy_of("points"));
}

/// As large as numbers say that are not known before, and graphs within graphs, whose sizes nobody works out.
fn sizes_that_nobody_knows() {
    let mut graph = Graph::default();
    graph.node("NonZero", &["x"], "places").node("Shape", &["places"], "shape");
    graph.node("ConstantOfShape", &["shape"], "zeros").energy_with("zeros");
    let error = graph.ask().0.expect_err("it depends on the points");
    assert!(matches!(error, OnnxError::Unbounded { .. } | OnnxError::Prepare { .. }), "{error}");
    let branch = |name: &str| {
        let g = Some(GraphProto { name: name.to_owned(), ..Default::default() });
        let name = format!("{name}_branch");
        AttributeProto { name, r#type: AttributeType::Graph as i32, g, ..Default::default() }
    };
    graph.ones("condition", &[1]).with("If", &["condition"], "chosen", vec![branch("then"), branch("else")]);
    let error = graph.energy_with("chosen").ask().0.expect_err("it has graphs of its own");
    assert!(matches!(error, OnnxError::Operator { .. }), "{error}");
}
