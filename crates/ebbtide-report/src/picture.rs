//! Pictures made of pixels: what latents are decoded into, if that is images.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use resvg::tiny_skia::{Pixmap, PremultipliedColorU8};

/// A picture as PNG, with what there is to say of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// What tells it from the others of a page, and what its file is called.
    pub name: String,
    /// What it shows, for those who cannot see it.
    pub words: String,
    /// What stands below it.
    pub caption: String,
    /// The bytes of a PNG file.
    pub png: Vec<u8>,
}

/// How numbers are laid out as an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImageShape {
    /// 1 for grey, 3 for red, green and blue.
    channels: usize,
    height: usize,
    width: usize,
}

/// Pixels between images.
const GAP: usize = 2;
/// Images are enlarged by whole numbers until they are as large as this, if they are small.
const SMALLEST: usize = 32;
/// No image is larger than this in a sheet: larger ones are thinned out.
const LARGEST: usize = 128;

impl ImageShape {
    /// [height, width], [1, height, width] or [3, height, width]; anything else is no image.
    pub(crate) fn of(shape: &[usize]) -> Option<Self> {
        let (channels, height, width) = match *shape {
            [height, width] => (1, height, width),
            [channels @ (1 | 3), height, width] => (channels, height, width),
            _ => return None,
        };
        (height > 1 && width > 1).then_some(Self { channels, height, width })
    }

    fn len(self) -> usize {
        self.channels * self.height * self.width
    }
}

/// Images side by side, `columns` in a row, as PNG. Numbers are from 0 to 1, or from −1 to 1 if there are any well below 0; what is beyond is cut off.
pub(crate) fn sheet(images: &[f32], shape: ImageShape, columns: usize) -> Vec<u8> {
    let ImageShape { channels, height, width } = shape;
    let count = images.len() / shape.len();
    let columns = columns.clamp(1, count.max(1));
    let rows = count.div_ceil(columns).max(1);
    let larger = SMALLEST.div_ceil(height.min(width));
    let thinner = height.max(width).div_ceil(LARGEST);
    let (tall, wide) = (height * larger / thinner, width * larger / thinner);
    let side = |count: usize, size: usize| (count * (size + GAP) + GAP) as u32;
    let mut sheet = Pixmap::new(side(columns, wide), side(rows, tall)).expect("a sheet has a size");
    let paper = PremultipliedColorU8::from_rgba(128, 128, 128, 255).expect("opaque");
    sheet.pixels_mut().fill(paper);
    let low = if images.iter().any(|value| *value < -0.05) { -1.0 } else { 0.0 };
    let byte = |value: f32| (255.0 * ((value - low) / (1.0 - low)).clamp(0.0, 1.0)).round() as u8;
    let stride = sheet.width() as usize;
    for (index, image) in images.chunks_exact(shape.len()).enumerate() {
        let (top, left) = (GAP + index / columns * (tall + GAP), GAP + index % columns * (wide + GAP));
        for y in 0..tall {
            for x in 0..wide {
                let place = y * thinner / larger * width + x * thinner / larger;
                let channel =
                    |channel: usize| byte(image[channel.min(channels - 1) * height * width + place]);
                let colour = PremultipliedColorU8::from_rgba(channel(0), channel(1), channel(2), 255);
                sheet.pixels_mut()[(top + y) * stride + left + x] = colour.expect("opaque");
            }
        }
    }
    sheet.encode_png().expect("a picture in memory is a PNG")
}

impl Picture {
    /// A figure of a page.
    pub(crate) fn figure(&self) -> Markup {
        let source = format!("data:image/png;base64,{}", STANDARD.encode(&self.png));
        html! {
            figure id=(self.name) {
                img src=(source) alt=(self.words);
                @if !self.caption.is_empty() { figcaption { (self.caption) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_planes_of_one_or_three_colours() {
        assert_eq!(ImageShape::of(&[8, 8]), Some(ImageShape { channels: 1, height: 8, width: 8 }));
        assert_eq!(ImageShape::of(&[3, 4, 5]), Some(ImageShape { channels: 3, height: 4, width: 5 }));
        assert_eq!(ImageShape::of(&[2, 4, 5]), None);
        assert_eq!(ImageShape::of(&[64]), None);
        assert_eq!(ImageShape::of(&[1, 1, 64]), None);
    }

    #[test]
    fn a_sheet_shows_every_pixel() {
        let shape = ImageShape::of(&[1, 2, 2]).expect("an image");
        // Black, white, grey, white; then all white.
        let images = [0.0, 1.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0];
        let sheet = Pixmap::decode_png(&sheet(&images, shape, 2)).expect("a PNG");
        assert_eq!((sheet.width(), sheet.height()), (2 * 32 + 3 * 2, 32 + 2 * 2));
        let grey = |x: u32, y: u32| sheet.pixel(x, y).expect("inside").red();
        assert_eq!([grey(0, 0), grey(2, 2), grey(33, 2), grey(2, 33), grey(33, 33)], [128, 0, 255, 128, 255]);
        assert_eq!([grey(35, 2), grey(36, 2), grey(67, 33)], [128, 255, 255]);
    }

    #[test]
    fn large_images_are_thinned_out_and_numbers_below_zero_are_dark() {
        let shape = ImageShape::of(&[256, 256]).expect("an image");
        let images: Vec<f32> =
            (0..256 * 256).map(|place| if place % 256 < 128 { -1.0 } else { 1.0 }).collect();
        let sheet = Pixmap::decode_png(&sheet(&images, shape, 4)).expect("a PNG");
        assert_eq!((sheet.width(), sheet.height()), (132, 132));
        assert_eq!(sheet.pixel(3, 60).map(|pixel| pixel.red()), Some(0));
        assert_eq!(sheet.pixel(120, 60).map(|pixel| pixel.red()), Some(255));
    }
}
