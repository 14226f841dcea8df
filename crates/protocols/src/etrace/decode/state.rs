//! The plain types of the decoder's state.

use tracewright_base::Role;

use crate::etrace::packet::{Map, Report};

/// Whether the decoder follows the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// No packet yet.
    #[default]
    Fresh,
    /// The decoder waits for a packet with a full address: a start or a trap.
    Waiting(Why),
    /// The position in the program is known, or was and is known again with the next address.
    Following,
}

/// Why the decoder waits for a packet with a full address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Tracing has not begun, or has ended.
    Off,
    /// Packets were lost.
    Lost,
}

/// How the last packet with an address reported its instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ReportedAs {
    /// As the target of a jump. Also the state before the first such packet.
    #[default]
    Jumped,
    /// As the target of a jump, where a packet had reported the jump instruction, too.
    Target,
    /// At an address that the program reached without a jump of unknown target.
    Passed,
    /// In a start packet. `after_return`: the instruction before it is a trap return.
    Start { after_return: bool, before: Before },
    /// As the first instruction of a handler. `trapped`: whether it trapped itself, where that is
    /// known. `again`: the next packet reports the same trap a second time.
    Handler { trapped: Option<bool>, again: bool },
}

/// Whether a packet reported the instruction before the one in a start packet. Before a trap the
/// `reference-flow` encoder reports it in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// No packet reported it.
    Unreported,
    /// A packet reported it, and only a trap explains that.
    ForTrap,
    /// A packet reported it for any reason, or there is no such instruction.
    Perhaps,
}

/// Where the program is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Position {
    /// Not known.
    #[default]
    Unknown,
    /// The next instruction to be emitted is at `pc`. With `pending_retire` a packet has reported
    /// it: it was retired, unless the unit reports trapped instructions, too.
    At { pc: u64, pending_retire: bool },
    /// After a jump whose target the program does not give.
    Jump { role: Role },
}

/// An address that a packet reported and that the program reached without a jump of unknown target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PassedAddress {
    pub(super) address: u64,
    /// `irdepth` or `irets` of the packet.
    pub(super) returns: Option<u16>,
    /// The packet has branch outcomes.
    pub(super) branches: bool,
    /// The packet after it, if that reported the next instruction of the program. Where trapped
    /// instructions are in the stream, a trap packet after both proves that the instruction trapped
    /// and that the program did not go on before. Any other packet proves that it was retired.
    pub(super) next: Option<Next>,
}

/// A packet that reported the next instruction of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    /// The instruction's address.
    pub(super) address: u64,
    /// The outcome of the instruction, if it is a branch and the packet has one.
    pub(super) map: Option<Map>,
}

/// What the last packet of format 0, 1 or 2 shows about the packet after it. ("Format 2 notify and
/// updiscon fields")
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Announced {
    /// Nothing, unless by the reason of its report.
    #[default]
    Nothing,
    /// `notify`: nothing, because the notification is the reason.
    Notification,
    /// `updiscon`: a packet of format 3 is for the next instruction.
    Sync,
}

impl Announced {
    pub(super) const fn of(report: Option<Report>) -> Announced {
        match report {
            Some(Report { updiscon: true, .. }) => Announced::Sync,
            Some(Report { notify: true, .. }) => Announced::Notification,
            _ => Announced::Nothing,
        }
    }
}
