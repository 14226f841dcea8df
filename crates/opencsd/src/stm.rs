//! STM packets in the format of OpenCSD.

use std::ops::Range;

use tracewright_base::{Channel, Element, Fault, OffsetMap};
use tracewright_protocols::stm::{Config, Format, History, Packet, Size, Stamp, Stm};
use tracewright_views::digits::{decimal, hex_padded, value};

use super::packet_text::{Behaviour, OpencsdProtocol, PacketText};
use super::unsynced::Group;

/// What the text of the next packet of one source depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StmText {
    history: History,
    /// A Master packet came. OpenCSD does not derive a master from a Version packet.
    has_master: bool,
    /// A packet came after the last undecodable bytes.
    synced: bool,
    /// The offset of the first of the nibbles 0xf that directly precede a synchronisation.
    ones_at: Option<u64>,
}

impl OpencsdProtocol for Stm {
    type Text = StmText;
    const DECODER: &'static str = "DCD_STM";
    const PACKET_PROCESSOR: &'static str = "PKTP_STM";
}

impl PacketText for StmText {
    type Config = Config;
    type Packet = Packet;

    const BEHAVIOUR: Behaviour = Behaviour {
        end_at_last_line: true,
        elements_need_packets: true,
        ..Behaviour::new(Group::FragmentButOnes)
    };

    fn packet(&mut self, _: &Config, packet: &Packet, out: &mut String) {
        self.history.packet(packet);
        self.synced = true;
        self.ones_at = None;
        let name = name(packet);
        let (marker, time) = match *packet {
            Packet::Data { marker, time, .. } => (marker, time),
            Packet::Flag { time } | Packet::Trigger { time, .. } => (false, time),
            _ => (false, None),
        };
        out.push_str(name);
        out.push_str(if marker { "M" } else { "" });
        out.push_str(if time.is_some() { "TS:" } else { ":" });
        out.push_str(description(packet));
        out.push_str(if marker { " + marker" } else { "" });
        out.push_str(if time.is_some() { " + timestamp" } else { "" });
        match *packet {
            Packet::Version { format, revision } => {
                let format = match format {
                    Format::Delta => 2,
                    Format::Natural => 3,
                    Format::Gray => 4,
                };
                out.push_str("; Ver=");
                decimal(format | u64::from(revision.is_some()) << 3, out);
            }
            Packet::Master8(_) | Packet::Master16(_) => {
                self.has_master = true;
                field("; Master=0x", self.history.master.unwrap_or(0).into(), 2, out);
            }
            Packet::Channel8(_) | Packet::Channel16(_) => {
                field("; Chan=0x", self.history.channel.unwrap_or(0).into(), 4, out);
            }
            Packet::GlobalError(_) => self.has_master = false,
            Packet::Data { size, bits, .. } => field("; Data=0x", bits, size.nibbles(), out),
            Packet::User { nibbles, bits, .. } => field("; Data=0x", bits, nibbles, out),
            Packet::Trigger { id, .. } => field("; TrigData=0x", id.into(), 2, out),
            Packet::CrossSync { id, .. } => field("; Data=0x", id.into(), 2, out),
            Packet::Frequency { hertz, .. } => frequency(hertz.into(), out),
            Packet::Frequency40 { hertz, .. } => frequency(hertz, out),
            Packet::Async
            | Packet::Null { .. }
            | Packet::MasterError(_)
            | Packet::ChannelError(_)
            | Packet::Flag { .. } => {}
        }
        if let Some(Stamp { nibbles, .. }) = stamp(packet) {
            out.push_str("; TS=");
            value(64, 64, self.history.time, nibbles * 4, out);
        }
    }

    fn bad(&mut self, _: &Config, nibbles: &[u8], fault: Fault, out: &mut String) {
        out.push_str(match fault {
            Fault::Unsynchronised => "NOTSYNC:STM not synchronised",
            Fault::Truncated => "INCOMPLETE_EOT:Incomplete packet flushed at end of trace[",
            Fault::Reserved(_) => "RESERVED:Reserved Packet Header",
            _ => "BAD_SEQUENCE:Invalid sequence in packet[",
        });
        if out.ends_with('[') {
            out.push_str(begun(nibbles));
            out.push(']');
        }
        if fault != Fault::Truncated {
            *self = StmText { ones_at: self.ones_at, ..StmText::default() };
        }
    }

    /// Appends the bytes of the nibbles `block[span]`. For a synchronisation packet that ends a
    /// search, OpenCSD lists a packet that begins at a byte, not the bytes in the trace.
    fn octets(
        &self,
        packet: &Packet,
        offsets: &OffsetMap<'_>,
        span: Range<usize>,
        block: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        match packet {
            Packet::Async if !self.synced => {
                out.extend([0xff; 10]);
                out.push(0x0f);
            }
            _ => octets(offsets, span, block, out),
        }
        true
    }

    /// Takes the nibbles `block[span]` before a synchronisation.
    fn unsynced(&mut self, offsets: &OffsetMap<'_>, span: Range<usize>, block: &[u8]) {
        for k in span {
            match block.get(k) {
                Some(0xf) => _ = self.ones_at.get_or_insert_with(|| offsets.at(k)),
                _ => self.ones_at = None,
            }
        }
    }

    /// The offset that OpenCSD lists for `packet`: the number of bytes it has read. That is one
    /// more where the packet begins in a high nibble. A synchronisation packet that ends a
    /// search begins with the first 0xf before it.
    fn offset(&self, packet: &Packet, offsets: &OffsetMap<'_>, index: usize) -> u64 {
        let at = offsets.at(index);
        match packet {
            Packet::Async if !self.synced => self.ones_at.unwrap_or(at),
            _ => at.wrapping_add(offsets.is_high_half(index).into()),
        }
    }

    /// `element` as OpenCSD reports it: without a master before the first Master packet.
    fn element(&mut self, _: &Config, element: &mut Element) -> Option<Option<u32>> {
        if let Element::SoftwareWrite(write) = element
            && !self.has_master
        {
            write.channel = Channel::Master { master: None, channel: None };
        }
        Some(None)
    }
}

/// Appends the bytes of the nibbles `block[span]` as OpenCSD lists them: whole bytes. The low
/// half of the first byte is 0 where the span begins in its high half.
pub(super) fn octets(offsets: &OffsetMap<'_>, span: Range<usize>, block: &[u8], out: &mut Vec<u8>) {
    let nibble = |k: usize| block.get(k).copied().unwrap_or(0) & 0xf;
    let mut k = span.start;
    if k < span.end && offsets.is_high_half(k) {
        out.push(nibble(k) << 4);
        k += 1;
    }
    while k < span.end {
        out.push(nibble(k + 1) << 4 | nibble(k));
        k += 2;
    }
}

fn field(name: &str, bits: u64, digits: u8, out: &mut String) {
    out.push_str(name);
    hex_padded(bits, digits, out);
}

fn frequency(hertz: u64, out: &mut String) {
    out.push_str("; Freq=");
    decimal(hertz, out);
    out.push_str("Hz");
}

fn stamp(packet: &Packet) -> Option<Stamp> {
    match *packet {
        Packet::Null { time }
        | Packet::Data { time, .. }
        | Packet::Flag { time }
        | Packet::User { time, .. }
        | Packet::Trigger { time, .. }
        | Packet::Frequency { time, .. }
        | Packet::Frequency40 { time, .. }
        | Packet::CrossSync { time, .. } => time,
        _ => None,
    }
}

/// OpenCSD's name. It has none for M16, CERR, USER, FREQ_40 and XSYNC.
const fn name(packet: &Packet) -> &'static str {
    match packet {
        Packet::Async => "ASYNC",
        Packet::Version { .. } => "VERSION",
        Packet::Null { .. } => "NULL",
        Packet::Master8(_) => "M8",
        Packet::Master16(_) => "M16",
        Packet::Channel8(_) => "C8",
        Packet::Channel16(_) => "C16",
        Packet::MasterError(_) => "MERR",
        Packet::GlobalError(_) => "GERR",
        Packet::ChannelError(_) => "CERR",
        Packet::Data { size, .. } => match size {
            Size::Nibble => "D4",
            Size::Byte => "D8",
            Size::Half => "D16",
            Size::Word => "D32",
            Size::Double => "D64",
        },
        Packet::Flag { .. } => "FLAG",
        Packet::User { .. } => "USER",
        Packet::Trigger { .. } => "TRIG",
        Packet::Frequency { .. } => "FREQ",
        Packet::Frequency40 { .. } => "FREQ_40",
        Packet::CrossSync { .. } => "XSYNC",
    }
}

const fn description(packet: &Packet) -> &'static str {
    match packet {
        Packet::Async => "Alignment synchronisation packet",
        Packet::Version { .. } => "Version packet",
        Packet::Null { .. } => "Null packet",
        Packet::Master8(_) | Packet::Master16(_) => "Set current master",
        Packet::Channel8(_) | Packet::Channel16(_) => "Set current channel",
        Packet::MasterError(_) => "Master Error",
        Packet::GlobalError(_) => "Global Error",
        Packet::ChannelError(_) => "Channel Error",
        Packet::Data { size, .. } => match size {
            Size::Nibble => "4 bit data",
            Size::Byte => "8 bit data",
            Size::Half => "16 bit data",
            Size::Word => "32 bit data",
            Size::Double => "64 bit data",
        },
        Packet::Flag { .. } => "Flag packet",
        Packet::User { .. } => "User packet",
        Packet::Trigger { .. } => "Trigger packet",
        Packet::Frequency { .. } | Packet::Frequency40 { .. } => "Frequency packet",
        Packet::CrossSync { .. } => "Cross synchronisation packet",
    }
}

/// The name of the packet that `nibbles` begin; a marker has its letter.
pub const fn begun(nibbles: &[u8]) -> &'static str {
    match nibbles {
        [0x1, ..] => "M8",
        [0x2, ..] => "MERR",
        [0x3, ..] => "C8",
        [0x4, ..] | [0xf, 0x4, ..] => "D8",
        [0x5, ..] | [0xf, 0x5, ..] => "D16",
        [0x6, ..] | [0xf, 0x6, ..] => "D32",
        [0x7, ..] | [0xf, 0x7, ..] => "D64",
        [0x8, ..] | [0xf, 0x8, ..] => "D8M",
        [0x9, ..] | [0xf, 0x9, ..] => "D16M",
        [0xa, ..] | [0xf, 0xa, ..] => "D32M",
        [0xb, ..] | [0xf, 0xb, ..] => "D64M",
        [0xc, ..] | [0xf, 0xc, ..] => "D4",
        [0xd, ..] | [0xf, 0xd, ..] => "D4M",
        [0xe, ..] => "FLAG",
        [0xf, 0x1, ..] => "M16",
        [0xf, 0x2, ..] => "GERR",
        [0xf, 0x3, ..] => "C16",
        [0xf, 0x0, 0x0, ..] => "VERSION",
        [0xf, 0x0, 0x1, ..] => "NULL",
        [0xf, 0x0, 0x2 | 0x3, ..] => "USER",
        [0xf, 0x0, 0x6 | 0x7, ..] => "TRIG",
        [0xf, 0x0, 0x8 | 0x9, ..] => "FREQ",
        [0xf, 0x0, 0xa | 0xb, ..] => "XSYNC",
        [0xf, 0x0, 0xf, ..] => "FREQ_40",
        _ => "NO_ERR_TYPE",
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::Piece;

    use super::*;

    const fn time(bits: u64, nibbles: u8) -> Option<Stamp> {
        Some(Stamp { bits, nibbles })
    }

    /// Consecutive packets, each with the state after the one before. Lines of listings of OpenCSD;
    /// lines for packets that no listing contains follow the same rules.
    #[test]
    fn packets() {
        let mut text = StmText::default();
        let data = |size, bits, marker, time| Packet::Data { size, bits, marker, time };
        for (packet, want) in [
            (Packet::Async, "ASYNC:Alignment synchronisation packet"),
            (
                Packet::Version { format: Format::Natural, revision: None },
                "VERSION:Version packet; Ver=3",
            ),
            (
                Packet::Frequency { hertz: 19_200_000, time: None },
                "FREQ:Frequency packet; Freq=19200000Hz",
            ),
            (Packet::Master8(0x40), "M8:Set current master; Master=0x40"),
            (Packet::Channel16(0x0480), "C16:Set current channel; Chan=0x0480"),
            (Packet::Channel8(0x7f), "C8:Set current channel; Chan=0x047f"),
            (
                data(Size::Word, 0x0102_1010, true, None),
                "D32M:32 bit data + marker; Data=0x01021010",
            ),
            (data(Size::Word, 0x15, false, None), "D32:32 bit data; Data=0x00000015"),
            (
                Packet::Flag { time: time(0x3_aeb2_84c9, 16) },
                "FLAGTS:Flag packet + timestamp; TS=0x00000003AEB284C9 ~[0x3AEB284C9]",
            ),
            (
                Packet::Flag { time: time(0xd6, 2) },
                "FLAGTS:Flag packet + timestamp; TS=0x00000003AEB284D6 ~[0xD6]",
            ),
            (
                data(Size::Nibble, 5, true, time(0, 0)),
                "D4MTS:4 bit data + marker + timestamp; Data=0x5; TS=0x00000003AEB284D6",
            ),
            (
                Packet::Null { time: time(0xd7, 2) },
                "NULL:Null packet; TS=0x00000003AEB284D7 ~[0xD7]",
            ),
            (Packet::Trigger { id: 0x2a, time: None }, "TRIG:Trigger packet; TrigData=0x2a"),
            (Packet::MasterError(1), "MERR:Master Error"),
            (Packet::GlobalError(1), "GERR:Global Error"),
        ] {
            let mut out = String::new();
            text.packet(&Config::default(), &packet, &mut out);
            assert_eq!(out, want);
        }
    }

    #[test]
    fn bytes_are_whole() {
        let pieces = [Piece { start: 0, at: 0, fragment: true }];
        let offsets = OffsetMap::new(&pieces).of_nibbles();
        // M8, C16, D32M
        let block = [1, 4, 0, 0xf, 3, 0, 4, 8, 0, 0xf, 0xa, 0, 1, 0, 2, 1, 0, 1, 0, 6];
        for (span, odd, want) in [
            (0..3, true, &[0x10, 0x04][..]),
            (3..9, true, &[0x3f, 0x40, 0x08]),
            (9..19, true, &[0xaf, 0x10, 0x20, 0x01, 0x01]),
            (9..19, false, &[0xf0, 0x0a, 0x01, 0x12, 0x10, 0x60]),
        ] {
            let offsets = if odd { offsets.without_first_nibble() } else { offsets };
            let mut out = Vec::new();
            octets(&offsets, span, &block, &mut out);
            assert_eq!(out, want);
        }
    }
}
