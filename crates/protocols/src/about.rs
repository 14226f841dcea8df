//! The description of a protocol, without its types.

use tracewright_base::{Isa, Register};

use crate::kind::{PacketKind, PacketKinds};
use crate::protocol::{Protocol, TraceForm};

/// The description of a protocol.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its names in captures.
    pub names: &'static [&'static str],
    /// A short description.
    pub title: &'static str,
    /// Its registers.
    pub registers: &'static [Register],
    /// Its parameters that are text: name and description.
    pub texts: &'static [(&'static str, &'static str)],
    /// See [`Protocol::FORM`].
    pub form: TraceForm,
    /// See [`Protocol::ID_REGISTER`].
    pub id_register: Option<(&'static str, u32)>,
    /// See [`Protocol::ISAS`].
    pub isas: &'static [Isa],
    /// The kinds of its packets.
    pub packet_kinds: &'static [PacketKind],
}

impl About {
    /// That of `P`.
    pub const fn of<P: Protocol>() -> About {
        About {
            names: P::NAMES,
            title: P::TITLE,
            registers: P::REGISTERS,
            texts: P::TEXTS,
            form: P::FORM,
            id_register: P::ID_REGISTER,
            isas: P::ISAS,
            packet_kinds: P::Packet::KINDS,
        }
    }
}
