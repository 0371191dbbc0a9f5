//! Drawings as PNG.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use crate::chart::Chart;

/// Pixels of a PNG for each of the drawing's own: enough for print.
const SCALE: f32 = 2.0;
const FONT: &str = "DejaVu Sans";

/// Draws charts as PNG, with a font of its own: pictures are the same on any machine.
pub struct Painter {
    options: Options<'static>,
}

impl Default for Painter {
    fn default() -> Self {
        let mut options = Options { font_family: FONT.to_owned(), ..Options::default() };
        let fonts = options.fontdb_mut();
        fonts.load_font_data(dejavu::sans::regular().to_vec());
        fonts.set_sans_serif_family(FONT);
        Self { options }
    }
}

impl Painter {
    /// The bytes of a PNG file.
    pub fn paint(&self, chart: &Chart) -> Vec<u8> {
        let tree = Tree::from_str(&chart.for_file(), &self.options).expect("our own drawings are SVG");
        let size = tree.size().to_int_size().scale_by(SCALE).expect("charts have a size");
        let mut picture = Pixmap::new(size.width(), size.height()).expect("charts have a size");
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut picture.as_mut());
        picture.encode_png().expect("a picture in memory is a PNG")
    }
}
