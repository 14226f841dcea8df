//! Names for addresses of code: functions, source lines and inlined functions.
//!
//! | file | contents |
//! |---|---|
//! | `function.rs` | [`Function`], [`Functions`]: the functions of a program, by address |
//! | `elf.rs` | functions of the symbol table of an ELF file |
//! | `stubs.rs` | stubs of the procedure linkage table, with the names of their targets |
//! | `objects.rs` | [`DataObjects`]: variables of the symbol table of an ELF file |
//! | `name.rs` | what a name shows: demangled names, parts of functions, veneers |
//! | `unwind.rs` | [`UnwindTargets`]: where exceptions of C++ and panics of Rust continue |
//! | `frame_rules.rs` | [`FrameTables`]: where functions save registers: DWARF call frame information |
//! | `constants.rs` | [`ConstantMemory`]: memory of ELF files that the program does not write |
//! | `variables.rs` | [`Variable`]: address and type of a variable, from DWARF |
//! | `code_states.rs` | [`CodeStates`]: the instruction set of the code at an address |
//! | `coverage_mapping/` | [`CoverageMapping`]: decisions and conditions, from clang |
//! | `lines.rs` | [`Lines`]: source lines and inlined functions, from DWARF |
//! | `unoptimised.rs` | functions that the compiler states not to have optimised, from DWARF |
//!
//! ```no_run
//! use tracewright_image::Bytes;
//! use tracewright_symbols::Functions;
//!
//! let file = Bytes::from(std::fs::read("program.elf")?);
//! let functions = Functions::of_elf(&file);
//! if let Some(function) = functions.at(0x8000).function.and_then(|n| functions.get(n)) {
//!     println!("{}", function.name);
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]
#![cfg_attr(not(test), warn(clippy::todo, clippy::unimplemented, clippy::unreachable))]
#![warn(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod code_states;
mod constants;
mod coverage_mapping;
mod elf;
mod frame_rules;
mod function;
mod lines;
mod name;
mod objects;
mod stubs;
mod unoptimised;
mod unwind;
mod variables;

pub use code_states::CodeStates;
pub use constants::ConstantMemory;
pub use coverage_mapping::{
    CoverageMapping, MappedCondition, MappedDecision, MappingError, Place, Region,
};
pub use frame_rules::{FrameRules, FrameTables, SavedIn};
pub use function::{Candidate, Found, Function, Functions};
pub use lines::{Begin, Frame, Lines, Location, Row};
pub use name::{demangled, is_named, without_parameters};
pub use objects::{DataObject, DataObjects};
pub use unwind::UnwindTargets;
pub use variables::{MemberOfType, Variable, VariableType};
