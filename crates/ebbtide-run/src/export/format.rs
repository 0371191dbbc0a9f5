//! The kinds of files that samples are written to.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// A kind of file.
///
/// ```
/// use std::path::Path;
///
/// use ebbtide_run::export::{Format, UnknownFormat};
///
/// assert_eq!(Format::of_path(Path::new("draws.pq")), Some(Format::Parquet));
/// assert_eq!(Format::of_path(Path::new("draws")), None);
/// assert_eq!("csv".parse(), Ok(Format::Csv));
/// assert_eq!("xlsx".parse::<Format>(), Err(UnknownFormat("xlsx".to_owned())));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// NumPy's own: an array of `<f4`, or, with log weights, of records.
    Npy,
    /// Text: a line of names, then a line for each state; numbers read back to the same bits.
    Csv,
    /// Apache Parquet: the columns of the text, in binary.
    Parquet,
}

/// A name that is none of a [`Format`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a format; there are npy, csv and parquet")]
pub struct UnknownFormat(pub String);

impl Format {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Npy, Self::Csv, Self::Parquet];

    /// What a file's extension says (`.npy`, `.csv`, `.parquet`, `.pq`; in either case), if it says anything.
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        if extension == "pq" { Some(Self::Parquet) } else { extension.parse().ok() }
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|format| format.to_string() == name)
            .ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Npy => "npy",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_shown() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        let message = "numpy".parse::<Format>().expect_err("no format").to_string();
        assert!(message.contains("numpy") && message.contains("parquet"), "{message}");
    }

    #[test]
    fn extensions_tell_the_format() {
        let of = |name: &str| Format::of_path(Path::new(name));
        assert_eq!(of("a/b.npy"), Some(Format::Npy));
        assert_eq!(of("b.x.CSV"), Some(Format::Csv));
        assert_eq!(of("b.pq"), Some(Format::Parquet));
        assert_eq!(of("b.parquet"), Some(Format::Parquet));
        assert_eq!(of("npy"), None);
        assert_eq!(of("b.npz"), None);
    }
}
