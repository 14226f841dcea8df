//! The address of the jump table of Zcmt, as the linker records it.

use tracewright_capture::{Dump, Form};
use tracewright_image::Elf;
use tracewright_protocols::registry::AnyConfig;

/// The symbol of the first entry of the table, which linkers define. A program writes this address
/// to the CSR `jvt`, unless it has several tables.
pub const JUMP_TABLE: &str = "__jvt_base$";

/// A jump table whose address is known only from a symbol of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JumpTable {
    /// The address of its first entry: JVT.base.
    pub address: u64,
    /// The file that has the symbol.
    pub file: String,
}

impl JumpTable {
    /// The jump table of the first of `dumps` that has one.
    pub fn of<'a>(dumps: impl IntoIterator<Item = &'a Dump>) -> Option<JumpTable> {
        dumps.into_iter().find_map(|dump| {
            let bytes = dump.bytes.as_ref().filter(|_| dump.form == Form::Elf)?;
            let address = Elf::address_of(bytes, JUMP_TABLE)?.wrapping_add(dump.address);
            // Bits [5:0] of the CSR are its mode.
            Some(JumpTable { address: address & !0x3f, file: dump.name.clone() })
        })
    }

    /// Sets the address in the configuration of a processor with Zcmt that has none. `None` where
    /// the processor has no Zcmt, where the address is configured, or where no dump has the symbol.
    pub(crate) fn configure<'a>(
        config: &mut AnyConfig,
        dumps: impl FnOnce() -> Vec<&'a Dump>,
    ) -> Option<JumpTable> {
        let extensions = config.riscv_mut()?;
        if !extensions.zcm || extensions.jump_table.is_some() {
            return None;
        }
        let found = JumpTable::of(dumps())?;
        extensions.jump_table = Some(found.address);
        Some(found)
    }
}
