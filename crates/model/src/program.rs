//! What a machine runs: memory with code in it, and where it starts.

use std::sync::Arc;

use tracewright_base::{Isa, Pc, Space};
use tracewright_image::{Image, Region};

/// Code and where it starts.
#[derive(Clone, Debug)]
pub struct Program {
    /// Memory as it is before the first instruction.
    pub image: Arc<Image>,
    /// The first instruction.
    pub entry: u64,
    /// Its instruction set.
    pub isa: Isa,
}

impl Program {
    /// `code` at `entry`, and nothing else.
    pub fn new(isa: Isa, entry: u64, code: Vec<u8>) -> Program {
        Program { image: Arc::new(Image::new([Region::new("program", entry, code)])), entry, isa }
    }

    /// The place of the first instruction.
    pub fn start(&self) -> Pc {
        Pc { address: self.entry, isa: self.isa, space: Space::ANY }
    }
}
