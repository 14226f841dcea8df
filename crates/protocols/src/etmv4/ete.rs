//! The ETE as a protocol. It differs from the ETMv4 in name, registers and version.

use alloc::borrow::Cow;

use tracewright_base::{CoreType, Isa, MissingRegister, Register, SyncSearch, Waypoints};

use super::{Config, Decoder, Packet, names, registers, sync};
use crate::protocol::{Protocol, Resume};
use crate::sync_run::SyncRun;

/// Embedded Trace Extension, ETE 1.0 to 1.3.
#[derive(Clone, Copy, Debug)]
pub struct Ete;

impl Protocol for Ete {
    const NAMES: &'static [&'static str] = &["ETE"];
    const TITLE: &'static str = "Embedded Trace Extension: instruction trace of Armv9 cores";
    const REGISTERS: &'static [Register] = registers::ETE;
    const RESUME: Resume = Resume::Next;
    const ID_REGISTER: Option<(&'static str, u32)> = Some(("TRCTRACEIDR", 0));
    const IN_ORDER: bool = true;
    const ISAS: &'static [Isa] = &[Isa::A64, Isa::A32, Isa::T32];
    const SYNC_RUN: Option<SyncRun<Packet>> = Some(sync::RUN);

    type Config = Config;
    type Packet = Packet;
    type Decoder = Decoder;

    fn configure(
        core: Option<CoreType>,
        register: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<Config, MissingRegister> {
        Config::ete(core, register)
    }

    fn assumptions(config: &Config) -> &'static [(&'static str, &'static str)] {
        config.assumptions()
    }

    fn trace_id(config: &Config) -> u8 {
        config.trace_id()
    }

    fn waypoints(config: &Config) -> Waypoints {
        config.waypoints()
    }

    fn exception_name(config: &Config, number: u16) -> Option<Cow<'static, str>> {
        names::exception(config, number)
    }

    fn sync(_: &Config, bytes: &[u8]) -> SyncSearch {
        sync::find(bytes)
    }

    fn is_sync(packet: &Packet) -> bool {
        matches!(packet, Packet::TraceInfo(_))
    }
}
