//! The file format of checkpoints: safetensors, with a checksum in the header.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::Path;

use ebbtide::train::{Array, ArrayRef};
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorInfo};

use super::Damage;
use crate::durable::{self, FileError};

/// Written into every file; a change of what the arrays mean is a new number.
const FORMAT: &str = "ebbtide-checkpoint-1";

// The format is little-endian, and numbers are written as they stand in memory.
const _: () = assert!(cfg!(target_endian = "little"), "checkpoints need a little-endian machine");

/// The name of the checksum in the header.
const CHECKSUM: &str = "crc32";

/// A tensor to be written.
pub struct Tensor<'a> {
    kind: Dtype,
    shape: Vec<usize>,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Tensor<'a> {
    /// A list of numbers.
    pub fn flat(array: ArrayRef<'a>) -> Self {
        let (kind, bytes) = match array {
            ArrayRef::F32(values) => (Dtype::F32, Cow::Borrowed(bytemuck::cast_slice(values))),
            ArrayRef::F64(values) => (Dtype::F64, Cow::Borrowed(bytemuck::cast_slice(values))),
            ArrayRef::U64(value) => (Dtype::U64, Cow::Owned(value.to_le_bytes().to_vec())),
        };
        Self { kind, shape: vec![array.len()], bytes }
    }

    /// A matrix by rows.
    pub fn matrix(rows: usize, columns: usize, values: &'a [f32]) -> Self {
        Self { shape: vec![rows, columns], ..Self::flat(ArrayRef::F32(values)) }
    }
}

/// Writes tensors and a header to a file, durably. The crate's own writer would need a second copy of everything in memory, or
/// a file that it renames itself, unsynced.
pub fn write<'a>(
    path: &Path,
    mut tensors: Vec<(String, Tensor)>,
    header: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(), FileError> {
    tensors.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut words: BTreeMap<&str, &str> = header.into_iter().collect();
    words.extend([("format", FORMAT), ("version", env!("CARGO_PKG_VERSION"))]);
    let parts =
        tensors.iter().map(|(name, tensor)| (name.as_str(), tensor.kind, &*tensor.shape, &*tensor.bytes));
    let checksum = checksum(&words, parts);
    words.insert(CHECKSUM, &checksum);
    // The widest numbers first, so that all stand where their width divides the place.
    tensors.sort_by_key(|(_, tensor)| Reverse(tensor.kind));
    let mut description = describe(&words, &tensors).to_string().into_bytes();
    description.resize(description.len().next_multiple_of(8), b' ');
    durable::replace(path, |file| {
        file.write_all(&(description.len() as u64).to_le_bytes())?;
        file.write_all(&description)?;
        tensors.iter().try_for_each(|(_, tensor)| file.write_all(&tensor.bytes))
    })
}

/// The header of a file: the same for the same contents, to the byte.
fn describe(words: &BTreeMap<&str, &str>, tensors: &[(String, Tensor)]) -> serde_json::Value {
    let mut description = serde_json::Map::new();
    description.insert("__metadata__".to_owned(), serde_json::json!(words));
    let mut end = 0;
    for (name, tensor) in tensors {
        let begin = end;
        end += tensor.bytes.len();
        let Tensor { kind: dtype, shape, .. } = tensor;
        let info = TensorInfo { dtype: *dtype, shape: shape.clone(), data_offsets: (begin, end) };
        description.insert(name.clone(), serde_json::json!(info));
    }
    description.into()
}

/// What a file holds.
pub struct Contents {
    header: HashMap<String, String>,
    /// All tensors, flat.
    pub arrays: BTreeMap<String, Array>,
}

impl Contents {
    /// An entry of the header.
    pub fn header(&self, key: &'static str) -> Result<&str, Damage> {
        self.header.get(key).map(String::as_str).ok_or(Damage::Header(key))
    }
}

/// Takes the bytes of a file apart, and makes sure that they are those that were written.
pub fn parse(bytes: &[u8]) -> Result<Contents, Damage> {
    let (_, metadata) = SafeTensors::read_metadata(bytes)?;
    let header = metadata.metadata().clone().unwrap_or_default();
    let format = header.get("format").cloned().unwrap_or_default();
    if format != FORMAT {
        return Err(Damage::Version(format));
    }
    let file = SafeTensors::deserialize(bytes)?;
    let mut tensors: Vec<_> = file.iter().collect();
    tensors.sort_by_key(|(name, _)| *name);
    let written = header.get(CHECKSUM).ok_or(Damage::Header(CHECKSUM))?;
    let words =
        header.iter().filter(|(key, _)| *key != CHECKSUM).map(|(key, value)| (key.as_str(), value.as_str()));
    let parts = tensors.iter().map(|(name, tensor)| (*name, tensor.dtype(), tensor.shape(), tensor.data()));
    // What fuzzing makes has no checksum that is right, and would never be looked into.
    if *written != checksum(&words.collect(), parts) && !cfg!(fuzzing) {
        return Err(Damage::Checksum);
    }
    let mut arrays = BTreeMap::new();
    for (name, tensor) in tensors {
        let data = tensor.data();
        let array = match tensor.dtype() {
            Dtype::F32 => Array::F32(bytemuck::allocation::pod_collect_to_vec(data)),
            Dtype::F64 => Array::F64(bytemuck::allocation::pod_collect_to_vec(data)),
            Dtype::U64 => Array::U64(bytemuck::allocation::pod_collect_to_vec(data)),
            _ => return Err(Damage::Kind(name.to_owned())),
        };
        arrays.insert(name.to_owned(), array);
    }
    Ok(Contents { header, arrays })
}

/// Over the words of the header and all tensors, in the order of their names.
fn checksum<'a>(
    words: &BTreeMap<&str, &str>,
    tensors: impl Iterator<Item = (&'a str, Dtype, &'a [usize], &'a [u8])>,
) -> String {
    let mut hasher = crc32fast::Hasher::new();
    let mut add = |bytes: &[u8]| {
        // With its length, so that no two ways of cutting the same bytes look alike.
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    for (key, value) in words {
        add(key.as_bytes());
        add(value.as_bytes());
    }
    for (name, kind, shape, bytes) in tensors {
        add(name.as_bytes());
        add(format!("{kind:?}{shape:?}").as_bytes());
        add(bytes);
    }
    format!("{:08x}", hasher.finalize())
}
