//! Samples of the program counter by function, inlined function and source line.

use std::collections::BTreeMap;

use tracewright_image::Bytes;
use tracewright_symbols::{Functions, Lines};

use super::Samples;

/// A function at a sampled address, and its line where the program has debug information.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SampledFrame {
    /// The name of the function; without a symbol, the address.
    pub function: String,
    /// The file and the line; line 0 where the compiler names none.
    pub line: Option<(String, u32)>,
}

/// The samples of one address, or of one state of the processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledAddress {
    /// The address; `None` for samples without one.
    pub address: Option<u64>,
    /// The functions, outermost first: inlined functions are in the one that has the code.
    pub frames: Vec<SampledFrame>,
    /// The number of samples.
    pub samples: u64,
}

/// The samples of a source by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleProfile {
    /// The addresses in order, then the states without one.
    pub rows: Vec<SampledAddress>,
}

impl SampleProfile {
    /// The samples with the functions and lines of ELF files, each with the load bias that is added
    /// to its addresses.
    pub fn new(samples: &Samples, files: &[(&Bytes, u64)]) -> SampleProfile {
        let functions = Functions::of_files(files.iter().copied());
        let lines: Vec<(Lines, u64)> =
            files.iter().filter_map(|(bytes, bias)| Some((Lines::of_elf(bytes)?, *bias))).collect();
        let addresses: BTreeMap<u32, u64> = samples.addresses().collect();
        let mut rows: Vec<SampledAddress> = addresses
            .into_iter()
            .map(|(pc, samples)| {
                let address = u64::from(pc);
                let frames = frames(address, &functions, &lines);
                SampledAddress { address: Some(address), frames, samples }
            })
            .collect();
        for (name, samples) in [("[asleep]", samples.asleep), ("[prohibited]", samples.prohibited)]
        {
            if samples > 0 {
                let frames = vec![SampledFrame { function: name.to_owned(), line: None }];
                rows.push(SampledAddress { address: None, frames, samples });
            }
        }
        SampleProfile { rows }
    }

    /// All samples.
    pub fn total(&self) -> u64 {
        self.rows.iter().fold(0, |sum, row| sum.saturating_add(row.samples))
    }
}

fn frames(address: u64, functions: &Functions, lines: &[(Lines, u64)]) -> Vec<SampledFrame> {
    let symbol = functions.at(address).function.and_then(|n| functions.get(n));
    let symbol = symbol.map(|function| function.name.clone());
    for (lines, bias) in lines {
        let own = address.wrapping_sub(*bias);
        let Some(location) = lines.at(own) else { continue };
        let mut frames: Vec<SampledFrame> = lines
            .frames(own)
            .into_iter()
            .filter_map(|frame| {
                Some(SampledFrame { function: frame.function?, line: frame.location })
            })
            .collect();
        frames.reverse();
        if let (Some(outer), Some(symbol)) = (frames.first_mut(), &symbol) {
            // The names are those of the other outputs.
            outer.function.clone_from(symbol);
        }
        if !frames.is_empty() {
            return frames;
        }
        let file = lines.file(location.file).unwrap_or_default().to_owned();
        let function = symbol.unwrap_or_else(|| format!("0x{address:08x}"));
        return vec![SampledFrame { function, line: Some((file, location.line)) }];
    }
    let function = symbol.unwrap_or_else(|| format!("0x{address:08x}"));
    vec![SampledFrame { function, line: None }]
}
