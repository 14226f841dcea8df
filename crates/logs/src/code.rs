//! The bytes of a program, for units whose filters depend on what an instruction is.

use std::io::Read as _;

use tracewright_capture::{Dump, Form};
use tracewright_image::Image;

/// The most bytes of one file that are read.
const MOST: u64 = 256 << 20;

/// Passes the bytes of `dump` to `out`, with the address of the first: those of each segment of an
/// ELF file. A file that cannot be read is left out.
pub fn each_part(dump: &Dump, out: &mut dyn FnMut(u64, &[u8])) {
    let Some(bytes) = &dump.bytes else { return };
    if dump.form == Form::Elf {
        let image = Image::from_elf(bytes, &dump.name, dump.address);
        for region in image.iter().flat_map(Image::regions) {
            out(region.start(), &region.all());
        }
        return;
    }
    let mut all = Vec::new();
    if bytes.reader().take(MOST).read_to_end(&mut all).is_ok() {
        out(dump.address, &all);
    }
}
