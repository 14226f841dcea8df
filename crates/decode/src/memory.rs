//! A capture's dumps as program memory.

use std::sync::Arc;

use tracewright_capture::{Capture, Dump, Form, Source};
use tracewright_image::{Elf, Image, Load, Region, SpaceMask, Symbols};

/// Program memory for each source of a capture.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The image of all sources, where no two dumps contradict each other.
    shared: Option<Arc<Image>>,
    /// Why dumps could not be used, one line each.
    pub problems: Vec<String>,
}

impl Memory {
    /// Reads the dumps of `capture`.
    pub fn new(capture: &Capture) -> Memory {
        let mut problems = Vec::new();
        let dumps: Vec<_> = capture.memory.iter().filter(|d| d.bytes.is_some()).collect();
        let image = Arc::new(image(&dumps, &mut problems));
        Memory { shared: capture.one_memory().then_some(image), problems }
    }

    /// The program memory of `source`.
    pub fn of(&self, capture: &Capture, source: &Source) -> Arc<Image> {
        match &self.shared {
            Some(shared) => Arc::clone(shared),
            None => Arc::new(image(&capture.images_for(source), &mut Vec::new())),
        }
    }
}

/// Overlays `dumps`: where two overlap, the earlier one is used.
fn image(dumps: &[&Dump], problems: &mut Vec<String>) -> Image {
    let mut regions = Vec::new();
    let mut symbols = Symbols::default();
    for dump in dumps.iter().rev() {
        let Some(bytes) = &dump.bytes else { continue };
        let bytes = bytes.clone();
        let spaces = match spaces(dump) {
            Ok(spaces) => spaces,
            Err(problem) => {
                problems.push(format!("{}: {problem}; it is used for every space", dump.name));
                SpaceMask::ANY
            }
        };
        match dump.form {
            Form::Raw => {
                regions.push(Region::new(dump.name.as_str(), dump.address, bytes).within(spaces));
            }
            Form::Elf => {
                let load = Load { bias: dump.address, spaces, ..Load::default() };
                match Elf::read(&bytes, dump.name.as_str(), load) {
                    Ok(elf) => {
                        symbols = symbols.and(&elf.symbols);
                        regions.extend(elf.regions);
                    }
                    Err(error) => problems.push(format!("{}: {error}", dump.name)),
                }
            }
        }
    }
    Image::new(regions).with_symbols(&symbols)
}

fn spaces(dump: &Dump) -> Result<SpaceMask, tracewright_image::UnknownSpace> {
    let mut masks = dump.spaces.iter().map(|word| word.parse::<SpaceMask>());
    let Some(first) = masks.next() else { return Ok(SpaceMask::ANY) };
    masks.try_fold(first?, |all, mask| Ok(all | mask?))
}
