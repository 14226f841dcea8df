//! Where the jump table of Zcmt lies, as the linker says it.

use tracewright_capture::{Dump, Form};
use tracewright_image::Elf;
use tracewright_protocols::registry::AnyConfig;

/// The symbol that linkers give the first entry of the table. What a program writes to the CSR
/// `jvt` is this, unless it has several tables.
pub const JUMP_TABLE: &str = "__jvt_base$";

/// Where a jump table lies that nobody but a program's own file tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JumpTable {
    /// The address of its first entry: JVT.base.
    pub address: u64,
    /// The file that has the symbol.
    pub file: String,
}

impl JumpTable {
    /// That of the first of `dumps` that has one.
    pub fn of<'a>(dumps: impl IntoIterator<Item = &'a Dump>) -> Option<JumpTable> {
        dumps.into_iter().find_map(|dump| {
            let bytes = dump.bytes.as_ref().filter(|_| dump.form == Form::Elf)?;
            let address = Elf::address_of(bytes, JUMP_TABLE)?.wrapping_add(dump.address);
            // Bits [5:0] of the CSR are its mode.
            Some(JumpTable { address: address & !0x3f, file: dump.name.clone() })
        })
    }

    /// Lets a trace unit of a processor with Zcmt know it, if it was not told where its table is.
    /// `None` where it was, or has none.
    pub(crate) fn settle<'a>(
        config: &mut AnyConfig,
        dumps: impl FnOnce() -> Vec<&'a Dump>,
    ) -> Option<JumpTable> {
        let AnyConfig::Etrace(params) = config else { return None };
        let extensions = &mut params.extensions;
        if !extensions.zcm || extensions.jump_table.is_some() {
            return None;
        }
        let found = JumpTable::of(dumps())?;
        extensions.jump_table = Some(found.address);
        Some(found)
    }
}
