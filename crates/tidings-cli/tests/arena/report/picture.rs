//! Pictures of a page, read, made small and compared.

use std::fs::File;
use std::io::BufReader;
use std::ops::Range;
use std::path::Path;

use png::{BitDepth, ColorType, Decoder, Encoder, Transformations};

/// Red, green and blue of each pixel, row by row.
#[derive(Debug)]
pub(super) struct Picture {
    width: usize,
    height: usize,
    bytes: Vec<u8>,
}

impl Picture {
    /// Reads a PNG, without what is transparent in it.
    pub(super) fn read(path: &Path) -> Self {
        let file = File::open(path).expect("a picture");
        let mut decoder = Decoder::new(BufReader::new(file));
        decoder.set_transformations(Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().expect("a PNG");
        let (color, _) = reader.output_color_type();
        assert!(
            matches!(color, ColorType::Rgb | ColorType::Rgba),
            "{color:?} in {}",
            path.display()
        );
        let mut bytes = vec![0; reader.output_buffer_size().expect("a size")];
        let frame = reader.next_frame(&mut bytes).expect("a whole PNG");
        let pixels = bytes.chunks_exact(color.samples());
        Self {
            width: frame.width as usize,
            height: frame.height as usize,
            bytes: pixels.flat_map(|pixel| &pixel[..3]).copied().collect(),
        }
    }

    /// Writes it as a PNG.
    pub(super) fn write(&self, path: &Path) {
        let size = |pixels: usize| u32::try_from(pixels).expect("few pixels");
        let file = File::create(path).expect("made");
        let mut encoder = Encoder::new(file, size(self.width), size(self.height));
        encoder.set_color(ColorType::Rgb);
        encoder.set_depth(BitDepth::Eight);
        let mut writer = encoder.write_header().expect("written");
        writer.write_image_data(&self.bytes).expect("written");
        writer.finish().expect("written");
    }

    /// The part of it in `columns`, `width` by `height`: each pixel is the mean of a block.
    pub(super) fn shrunk(&self, columns: Range<usize>, (width, height): (usize, usize)) -> Self {
        let mut bytes = Vec::with_capacity(width * height * 3);
        for y in 0..height {
            let rows = y * self.height / height..(y + 1) * self.height / height;
            for x in 0..width {
                let left = columns.start + x * columns.len() / width;
                let right = columns.start + (x + 1) * columns.len() / width;
                for channel in 0..3 {
                    let at = |row, column| (row * self.width + column) * 3 + channel;
                    let block = rows
                        .clone()
                        .flat_map(|row| (left..right).map(move |column| at(row, column)));
                    let (sum, count) = block.fold((0_usize, 0_usize), |(sum, count), at| {
                        (sum + usize::from(self.bytes[at]), count + 1)
                    });
                    bytes.push(u8::try_from(sum / count).expect("a mean of bytes"));
                }
            }
        }
        Self {
            width,
            height,
            bytes,
        }
    }

    /// Mean difference of a channel, of 255.
    pub(super) fn apart(&self, other: &Self) -> f64 {
        assert_eq!((self.width, self.height), (other.width, other.height));
        let both = self.bytes.iter().zip(&other.bytes);
        let sum: u64 = both.map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        #[expect(clippy::cast_precision_loss, reason = "a mean of bytes")]
        let mean = sum as f64 / self.bytes.len() as f64;
        mean
    }
}
