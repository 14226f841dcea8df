//! RISC-V processor trace: E-Trace.
//!
//! Specifications: *RISC-V Processor Trace*, draft 0.026; *Efficient Trace for RISC-V*, 1.0, 2.0
//! (its edition 2.0-20250616) and the draft of 2.1; *Unformatted Trace & Diagnostic Data Packet
//! Encapsulation for RISC-V*, 1.0. A unit traces the outcomes of branches and the targets of jumps
//! that the program does not give. The rest comes from the program image. The trace data do not
//! contain their version: [`Params`] have it.
//!
//! | section | item | test |
//! |---|---|---|
//! | 0.026, Table 3.7; "Discovery of encoder parameters" | [`Params`], [`config::PARAMETERS`] | `parameters` |
//! | "Packet Encapsulation"; 0.026, Figure 6.1 | [`packet::Envelope`] | `envelopes` |
//! | "Format 3 packets"; 0.026, Table 6.3 | [`packet::Start`], [`packet::Trap`], [`packet::ContextChange`] | `packets` |
//! | "Format 3 subformat 3"; 0.026, Table 6.4 | [`packet::Support`] | `packets` |
//! | "Format 2 packets", "Format 1 packets" | [`packet::Report`], [`packet::Branches`] | `packets` |
//! | "Format 0 packets" | [`packet::BranchCount`], [`packet::JumpTarget`] | `packets` |
//! | "Data Trace Encoder Output Packets" | [`packet::DataAccess`] | `packets` |
//! | 0.026, 3.1.4, 7.2, 7.3, with formats that this project defines | [`packet::Own`] | `own` |
//! | "Decoder" | [`Decoder`] | `crates/tracewright/tests/riscv` |
//! | encapsulation, "Synchronization" | [`sync::find`] | `crates/tracewright/tests/riscv/ring.rs` |
//! | encapsulation, "Source ID" | [`Demux`] | `crates/tracewright/tests/riscv/harts.rs` |
//!
//! ```
//! use tracewright_base::{Parse, Wire};
//! use tracewright_protocols::etrace::{Packet, Params};
//! use tracewright_protocols::etrace::config::Profile;
//!
//! let params = Params::of(Profile::ReferenceFlow, true);
//! let bytes = [0x42, 0xfe, 0xfa]; // two bytes of te_inst: format 2, an address 0x141 back
//! let Parse::Packet(packet, 3) = Packet::parse(&bytes, &params) else { panic!() };
//! assert_eq!(packet.to_string(), "address 0x7ffffffffffffebf");
//! ```

pub mod config;
pub mod decode;
pub mod demux;
pub mod encode;
mod names;
pub mod packet;
pub mod sync;
#[cfg(test)]
mod tests;

use alloc::string::ToString;

use alloc::borrow::Cow;

use tracewright_base::{CoreType, Invalid, Isa, MissingRegister, Register, SyncSearch, Waypoints};

use tracewright_isa::rv::Extensions;

pub use config::Params;
pub use decode::Decoder;
pub use demux::Demux;
pub use packet::Packet;

use crate::protocol::{Field, InvalidRegister, Protocol, Resume, TraceForm};
use packet::Payload;

/// The parameter for the register view of discovery.
const DISCOVERY: (&str, &str) =
    ("discovery", "the three words of the register view of discovery, the lowest first");

/// RISC-V processor trace, versions 0.026 to 2.1.
#[derive(Clone, Copy, Debug)]
pub struct Etrace;

impl Protocol for Etrace {
    const NAMES: &'static [&'static str] = &["ETRACE", "E-Trace", "RISCV"];
    const TITLE: &'static str = "RISC-V processor trace (E-Trace 0.026, 1.0, 2.0, 2.1)";
    const REGISTERS: &'static [Register] = config::REGISTERS;
    const TEXTS: &'static [(&'static str, &'static str)] = &[config::TEXTS[0], DISCOVERY];
    const RESUME: Resume = Resume::Seek;
    const FORM: TraceForm = TraceForm::Messages;
    const ID_REGISTER: Option<(&'static str, u32)> = Some(("trace_id", 0));
    const EXPANDS: bool = true;
    const ISAS: &'static [Isa] = &[Isa::Rv32, Isa::Rv64];

    type Config = Params;
    type Packet = Packet;
    type Decoder = Decoder;

    fn configure(
        _core: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Params, MissingRegister> {
        Params::from_registers(register).map_err(|_| MissingRegister {
            name: "version",
            about: "a version in which the given profile exists",
        })
    }

    fn check(register: &dyn Fn(&str) -> Option<u64>) -> Result<(), InvalidRegister> {
        Params::from_registers(register)
            .map(|_| ())
            .map_err(|unit| InvalidRegister { name: "version", why: unit.to_string() })
    }

    fn canonical(name: &str) -> Option<&'static str> {
        Params::canonical(name)
    }

    fn is_unused(name: &str) -> bool {
        Params::is_unused(name)
    }

    fn parse_value(name: &str, word: &str) -> Option<Result<u64, Invalid>> {
        if Params::ignores(name) {
            // A setting of the encoder may be a word too.
            let word = match word.to_ascii_lowercase().as_str() {
                "false" => Some(0),
                "true" => Some(1),
                _ => None,
            };
            return word.filter(|_| Params::canonical(name).is_some()).map(Ok);
        }
        let number = Params::number(name, word).map(|(_, number)| number);
        Some(number.map_err(|wrong| Invalid::new(wrong.to_string())))
    }

    fn set_text(params: &mut Params, name: &str, text: &str) -> Option<Result<(), Invalid>> {
        if name.eq_ignore_ascii_case(DISCOVERY.0) {
            let words = packet::discovery::words_of_text(text);
            let wrong = || "expected three words of the register view, as `0x0f1ff0e0 0x1 0x2`";
            return Some(match words {
                Some(words) => {
                    packet::Discovery::of_words(words).apply(params);
                    Ok(())
                }
                None => Err(wrong().into()),
            });
        }
        let set = params.set_text(name, text)?;
        Some(set.map_err(|wrong| Invalid::new(wrong.to_string())))
    }

    fn note(params: &Params) -> Option<&'static str> {
        params.note()
    }

    fn riscv(params: &Params) -> Extensions {
        params.extensions
    }

    fn riscv_mut(params: &mut Params) -> Option<&mut Extensions> {
        Some(&mut params.extensions)
    }

    fn fixed_isa(params: &Params) -> Option<Isa> {
        Some(params.isa())
    }

    fn privilege_name(level: u8) -> Option<&'static str> {
        ["U", "S", "H", "M"].get(usize::from(level)).copied()
    }

    fn trace_id(params: &Params) -> u8 {
        params.link.trace_id
    }

    fn waypoints(params: &Params) -> Waypoints {
        params.waypoints()
    }

    fn exception_name(_params: &Params, number: u16) -> Option<Cow<'static, str>> {
        names::trap(number).map(Cow::Borrowed)
    }

    fn sync(params: &Params, bytes: &[u8]) -> SyncSearch {
        sync::find(bytes, params)
    }

    fn is_sync(packet: &Packet) -> bool {
        matches!(packet.payload, Payload::Start(_) | Payload::Trap(_))
    }

    fn starts_synced(params: &Params) -> bool {
        params.link.aligned
    }

    fn sync_at_end(params: &Params, bytes: &[u8]) -> Option<usize> {
        sync::find_at_end(bytes, params)
    }

    fn explain(params: &Params, bytes: &[u8], each: &mut dyn FnMut(Field)) {
        Packet::explain(bytes, params, &mut |field| each(field));
    }

    #[inline]
    fn learn(params: &mut Params, packet: &Packet) {
        match &packet.payload {
            Payload::Support(support) => {
                let before = params.learned();
                support.learn(params);
                if params.before.is_none() && params.learned() != before {
                    params.before = Some(before);
                }
            }
            // A unit synchronises after a change of its modes.
            Payload::Start(_) | Payload::Trap(_) | Payload::Context(_) => params.before = None,
            Payload::Branches(_)
            | Payload::Address(_)
            | Payload::BranchCount(_)
            | Payload::JumpTarget(_) => {
                if let Some(before) = params.before.take() {
                    (params.options, params.widths) = (before.options, before.widths);
                }
            }
            _ => {}
        }
    }
}
