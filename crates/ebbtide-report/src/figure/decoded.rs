//! What samples of a latent space are decoded into, beside the prior's, if that is images.

use crate::picture::{ImageShape, Picture, sheet};
use crate::portrait::View;

/// Images in a row.
const COLUMNS: usize = 8;

/// Two sheets of images; none if what is decoded is something else.
pub fn pictures(view: &View) -> Vec<Picture> {
    let Some(decoded) = &view.decoded else { return Vec::new() };
    let Some(shape) = ImageShape::of(&decoded.shape) else { return Vec::new() };
    let picture = |name: &str, who: &str, images: &[f32]| Picture {
        name: name.to_owned(),
        words: format!("Images that the generator makes of latents {who}, {COLUMNS} in a row."),
        caption: format!("Decoded latents {who}"),
        png: sheet(images, shape, COLUMNS),
    };
    vec![
        picture("decoded", "of the sampler", &decoded.samples),
        picture("decoded-prior", "of the prior", &decoded.prior),
    ]
}
