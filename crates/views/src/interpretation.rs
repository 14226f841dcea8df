//! What packets mean after those before them: the cycles of a trace port, and the addresses of
//! which a packet has a part.

use std::fmt::Write;

use tracewright_base::Isa;
use tracewright_protocols::etrace::config::Difference;
use tracewright_protocols::etrace::packet::{Branches, Payload};
use tracewright_protocols::registry::{AnyConfig, AnyPacket};
use tracewright_protocols::{etmv1, etmv2, etmv3, etmv4, etrace, ptm};

use crate::packet_fields::PacketFields;
use crate::sources::Source;

/// What the interpretation of the next packet of a source depends on. Packets of other protocols
/// need none.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Transcript {
    /// No packet was seen.
    #[default]
    Fresh,
    /// The state of an ETMv1.
    V1(Box<etmv1::Transcript>),
    /// The state of an ETMv2.
    V2(Box<etmv2::Transcript>),
    /// The last addresses of an ETMv3.
    V3(etmv3::History),
    /// The last address of a PTM.
    Ptm(ptm::History),
    /// The last addresses of an ETMv4 or ETE.
    V4(etmv4::History),
    /// The last address of a RISC-V trace unit, if it is known.
    Etrace(Option<u64>),
    /// The last address field of an N-Trace encoder, if it is known.
    Ntrace(Option<u64>),
}

impl Transcript {
    /// Appends the interpretation of `packet` at offset `at`: of a cycle, or the address that the
    /// packet makes. Returns whether there is one.
    pub(crate) fn interpret(
        &mut self,
        source: &Source,
        at: u64,
        packet: AnyPacket<'_>,
        out: &mut String,
    ) -> bool {
        let before = out.len();
        // Writing to a `String` does not fail.
        let _ = match (packet, &source.config) {
            (AnyPacket::Etmv1(packet), AnyConfig::Etmv1(config)) => {
                if !matches!(self, Transcript::V1(_)) {
                    *self = Transcript::V1(Box::default());
                }
                match self {
                    Transcript::V1(state) => state.cycle(packet, config, out),
                    _ => Ok(()),
                }
            }
            (AnyPacket::Etmv2(packet), AnyConfig::Etmv2(config)) => {
                if !matches!(self, Transcript::V2(_)) {
                    *self = Transcript::V2(Box::default());
                }
                match self {
                    Transcript::V2(state) => state.cycle(at, packet, config, out),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        };
        out.len() > before
    }

    /// Follows a packet that is not listed, or for `None` undecodable bytes.
    pub(crate) fn skip(&mut self, source: &Source, at: u64, packet: Option<AnyPacket<'_>>) {
        let Some(packet) = packet else {
            *self = Transcript::default();
            return;
        };
        let _ = self.address(source, packet);
        let _ = self.interpret(source, at, packet, &mut String::new());
    }

    /// The address that `packet` makes together with the packets before it.
    pub fn address(&mut self, source: &Source, packet: AnyPacket<'_>) -> Option<Made> {
        match (packet, &source.config) {
            (AnyPacket::Etmv3(packet), AnyConfig::Etmv3(config)) => {
                if !matches!(self, Transcript::V3(_)) {
                    *self = Transcript::V3(etmv3::History::default());
                }
                let Transcript::V3(history) = self else { return None };
                of_etmv3(history, packet, config)
            }
            (AnyPacket::Ptm(packet), AnyConfig::Ptm(config)) => {
                if !matches!(self, Transcript::Ptm(_)) {
                    *self = Transcript::Ptm(ptm::History::default());
                }
                let Transcript::Ptm(history) = self else { return None };
                history.take(packet, config);
                let has_address = matches!(
                    packet,
                    ptm::Packet::Sync(_) | ptm::Packet::Branch(_) | ptm::Packet::Waypoint(_)
                );
                let (address, known) = history.low_address();
                has_address.then(|| Made::new(address.into(), known, 32, history.isa()))
            }
            (AnyPacket::Etmv4(packet) | AnyPacket::Ete(packet), _) => {
                if !matches!(self, Transcript::V4(_)) {
                    *self = Transcript::V4(etmv4::History::default());
                }
                let Transcript::V4(history) = self else { return None };
                of_etmv4(history, packet)
            }
            (AnyPacket::Etrace(packet), AnyConfig::Etrace(params)) => {
                let last = match self {
                    Transcript::Etrace(last) => *last,
                    _ => None,
                };
                let (address, next) = of_etrace(last, &packet.payload, params)?;
                *self = Transcript::Etrace(next);
                let width = if params.rv64 { 64 } else { 32 };
                Some(match address {
                    Some(address) => Made::new(address, width, width, None),
                    None => Made::new(0, 0, width, None),
                })
            }
            (AnyPacket::Ntrace(packet), AnyConfig::Ntrace(config)) => {
                let last = match self {
                    Transcript::Ntrace(last) => *last,
                    _ => None,
                };
                let next = packet.message.reference(last)?;
                *self = Transcript::Ntrace(next);
                let width = if config.rv64 { 64 } else { 32 };
                Some(match next {
                    Some(field) => Made::new(config.address(field), width, width, None),
                    None => Made::new(0, 0, width, None),
                })
            }
            (AnyPacket::Mtb(packet), _) => {
                let address = match packet {
                    tracewright_protocols::mtb::Packet::Branch { destination, .. }
                    | tracewright_protocols::mtb::Packet::Exception { destination, .. } => {
                        *destination
                    }
                };
                Some(Made::new(address.into(), 32, 32, None))
            }
            _ => None,
        }
    }
}

/// An address, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    low: u64,
    /// The number of low bits that are known.
    known: u8,
    /// The number of bits of an address.
    width: u8,
    isa: Option<Isa>,
}

impl Made {
    fn new(low: u64, known: u8, width: u8, isa: Option<Isa>) -> Made {
        Made { low, known: known.min(width), width, isa }
    }

    /// The address, if all of it is known.
    pub fn whole(&self) -> Option<u64> {
        (self.known == self.width).then_some(self.low)
    }

    /// Appends the address.
    pub(crate) fn write(&self, out: &mut String) {
        let _ = match (self.known, self.whole()) {
            (_, Some(address)) => {
                write!(out, "{address:#0width$x}", width = 2 + usize::from(self.width) / 4)
            }
            (0, None) => write!(out, "unknown, as the address before it is"),
            (known, None) => write!(out, "{:#x} in bits [{}:0]", self.low, known - 1),
        };
        if let Some(isa) = self.isa.filter(|_| self.known > 0) {
            let _ = write!(out, " {}", isa.name());
        }
    }
}

fn of_etmv3(
    history: &mut etmv3::History,
    packet: &etmv3::Packet,
    config: &etmv3::Config,
) -> Option<Made> {
    use etmv3::Packet;
    let data = match packet {
        Packet::Branch(branch) => {
            let target = history.branch(branch, config);
            return Some(Made::new(target.address.into(), target.known, 32, Some(target.isa)));
        }
        Packet::Isync(isync) => {
            history.packet(packet, config);
            let (address, isa) = isync.start_address()?;
            return Some(Made::new(address.into(), 32, 32, Some(isa)));
        }
        Packet::Data { address, .. }
        | Packet::Placeholder { address, .. }
        | Packet::ValueNotTraced { address, .. } => address.as_ref()?,
        _ => {
            history.packet(packet, config);
            return None;
        }
    };
    let (address, known) = history.data(data);
    Some(Made::new(address.into(), known, 32, None))
}

fn of_etmv4(history: &mut etmv4::History, packet: &etmv4::Packet) -> Option<Made> {
    use etmv4::{Packet, Q};
    history.packet(packet);
    let has_address = matches!(
        packet,
        Packet::Address(_)
            | Packet::SourceAddress(_)
            | Packet::AddressContext(..)
            | Packet::Q(Q::To(..))
    );
    let last = history.last();
    // Without a context, the instruction set is not known.
    let isa = history.context().el.map(|_| history.isa());
    has_address.then(|| Made::new(last.address, last.known(), 64, isa))
}

/// Of a packet with an address: the address, and the one that the next difference is relative to,
/// each where it is known.
fn of_etrace(
    last: Option<u64>,
    payload: &Payload,
    params: &etrace::Params,
) -> Option<(Option<u64>, Option<u64>)> {
    let mask = params.isa().address_mask();
    let address = match payload {
        Payload::Start(start) => Some(params.full_address(start.address)),
        Payload::Trap(trap) => {
            let address = trap.address.map(|address| params.full_address(address) & mask);
            // Without `thaddr` the address is that of the exception, and not of the handler.
            return Some((address, address.filter(|_| trap.thaddr)));
        }
        // The entry of the cache is that of an earlier address.
        Payload::JumpTarget(_) => None,
        payload => {
            let report = payload.report()?;
            let whole = match payload {
                Payload::Branches(Branches { full, .. }) if params.is_draft() => *full,
                _ => params.options.full_address,
            };
            let difference = report.difference(params);
            match params.choices.difference {
                _ if whole => Some(params.full_address(report.address)),
                Difference::CurrentMinusPrevious => last.map(|last| last.wrapping_add(difference)),
                Difference::PreviousMinusCurrent => last.map(|last| last.wrapping_sub(difference)),
            }
        }
    };
    let address = address.map(|address| address & mask);
    Some((address, address))
}

/// The transcript of source `n`.
pub fn of(all: &mut Vec<Transcript>, n: usize) -> Option<&mut Transcript> {
    if all.len() <= n {
        all.resize(n + 1, Transcript::default());
    }
    all.get_mut(n)
}

/// Follows a packet of source `n` that is not listed; `fields` where fields of packets are.
pub(crate) fn skip(
    all: &mut Vec<Transcript>,
    fields: Option<&mut PacketFields>,
    sources: &[Source],
    n: usize,
    at: u64,
    packet: Option<AnyPacket<'_>>,
) {
    let (Some(transcript), Some(source)) = (of(all, n), sources.get(n)) else { return };
    transcript.skip(source, at, packet);
    if let (Some(fields), Some(packet)) = (fields, packet) {
        fields.skip(n, source, packet);
    }
}
