//! Folders of trace data and programs that a TOML file describes: `capture.toml`.
//!
//! ```toml
//! description = "what this is"
//!
//! [[buffer]]
//! name = "trace"
//! file = "trace.bin"          # or files = ["a.bin", "b.bin"], one after another
//! format = "source_data"      # the data of one source (the default);
//!                             # or coresight, dstream_coresight, encapsulated
//! wrap = 0x1200               # a circular buffer: offset of the oldest byte
//!
//! [[source]]
//! name = "hart0"
//! protocol = "etrace"
//! buffer = "trace"            # the default: the first
//! core = "Cortex-A53"         # the traced core, where the protocol needs it
//! params = "unit.params"      # parameters in a file of `name = value` lines
//! [source.parameters]         # and here; these override the file
//! version = "2.0"
//! xlen = 64
//! [[source.parameters.custom]] # an element of a list; or custom = ["mask=0x707f ...", ...]
//! mask = 0x707f
//!
//! [[image]]
//! file = "program.elf"        # ELF; or raw bytes, with an address
//! address = 0x1000            # for ELF: added to the addresses in the file
//! context = 5                 # when it is in memory, with the other keys of `when.rs`
//! ```
//!
//! Registers of CoreSight units are parameters as well: `TRCCONFIGR = 0x18c1`.

mod read;
mod write;

pub use read::read;
pub use write::write;
