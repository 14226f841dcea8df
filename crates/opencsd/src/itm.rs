//! ITM packets in the format of OpenCSD.

use std::ops::Range;

use tracewright_base::{Channel, Element, Fault, OffsetMap, TimeDelay};
use tracewright_protocols::itm::{Config, Data, Itm, Packet};
use tracewright_views::digits::{decimal, hex, hex_padded};

use super::packet_text::{Behaviour, OpencsdProtocol, PacketText};
use super::unsynced::Group;

/// What the text of the next packet of one source depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItmText {
    /// The page of the last Page packet. OpenCSD does not reset it after a loss or a
    /// synchronisation.
    page: u8,
}

impl OpencsdProtocol for Itm {
    type Text = ItmText;
    const DECODER: &'static str = "DCD_ITM";
    const PACKET_PROCESSOR: &'static str = "PKTP_ITM";
}

impl PacketText for ItmText {
    type Config = Config;
    type Packet = Packet;

    const BEHAVIOUR: Behaviour =
        Behaviour { elements_need_packets: true, ..Behaviour::new(Group::EightOrZeros) };

    fn packet(&mut self, _: &Config, packet: &Packet, out: &mut String) {
        match *packet {
            Packet::Sync { .. } => out.push_str("ITM_ASYNC: ; 'Alignment synchronisation packet'"),
            Packet::Overflow => out.push_str("ITM_OVERFLOW: ; 'ITM overflow packet'"),
            Packet::LocalTime { delay, ticks, bytes } => local_time(delay, ticks, bytes, out),
            Packet::LocalTimeShort { ticks } => local_time(TimeDelay::None, ticks.into(), 1, out),
            Packet::GlobalTimeLow { bits, bytes, clock_changed, wrapped } => {
                out.push_str("ITM_GTS_1: { TS bits [");
                out.push_str(match bytes {
                    1 => "6:0]",
                    2 => "13:0]",
                    3 => "20:0]",
                    _ => "25:0]",
                });
                out.push_str(if clock_changed { ", Clk change" } else { "" });
                out.push_str(if wrapped { ", Clk wrap" } else { "" });
                out.push_str("} 0x");
                hex_padded(bits.into(), bytes * 2, out);
                out.push_str("; 'Global Timestamp [25:0]'");
            }
            Packet::GlobalTimeHigh { bits, bytes } => {
                let (top, width) = if bytes > 4 { ("63", 10) } else { ("47", bytes * 2) };
                out.push_str("ITM_GTS_2: { TS bits [");
                out.push_str(top);
                out.push_str(":26]} 0x");
                hex_padded(bits, width, out);
                out.push_str("; 'Global Timestamp [{63|42}:26]'");
            }
            Packet::Page(page) => {
                self.page = page;
                out.push_str("ITM_EXTENSION: {stim port page} 0x");
                hex_padded(page.into(), 2, out);
                out.push_str("; 'Extension packet'");
            }
            Packet::Extension { value, bytes, .. } => {
                let bits = [3, 10, 17, 24].get(usize::from(bytes)).copied().unwrap_or(32);
                out.push_str("ITM_EXTENSION: {unknown extension type, ");
                decimal(bits.into(), out);
                out.push_str(" bits } 0x");
                hex_padded(value.into(), bits / 4 + 1, out);
                out.push_str("; 'Extension packet'");
            }
            Packet::Software { port, data } => {
                out.push_str("ITM_SWIT: {src id: 0x");
                hex_padded(port.into(), 2, out);
                out.push_str("}  ");
                number(data, out);
                out.push_str("; 'Software Stimulus write packet'");
            }
            Packet::Hardware { discriminator, data } => {
                out.push_str("ITM_DWT: {desc: 0x");
                hex_padded(discriminator.into(), 2, out);
                out.push_str("} ");
                hardware_source(discriminator, data, out);
                out.push_str("; 'DWT hardware stimulus write'");
            }
        }
    }

    fn bad(&mut self, _: &Config, bytes: &[u8], fault: Fault, out: &mut String) {
        let (name, description) = match fault {
            Fault::Unsynchronised => {
                return out.push_str("ITM_NOTSYNC: ; 'ITM data stream not synchronised'");
            }
            Fault::Reserved(_) | Fault::ReservedForConfig(_) => {
                return out.push_str("ITM_RESERVED: ; 'Reserved Packet Header'");
            }
            Fault::Truncated => ("INCOMPLETE_EOT", "Incomplete packet flushed at end of trace"),
            _ => ("BAD_SEQUENCE", "Invalid sequence in packet"),
        };
        out.push_str("ITM_");
        out.push_str(name);
        out.push_str(": [Init type: ");
        out.push_str(begun(bytes));
        out.push_str("] ; '");
        out.push_str(description);
        out.push('\'');
    }

    /// OpenCSD clears the two flags in the last byte of a GTS1 packet of full length.
    fn octets(
        &self,
        packet: &Packet,
        _: &OffsetMap<'_>,
        span: Range<usize>,
        block: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        let Packet::GlobalTimeLow { bytes: 4, .. } = packet else { return false };
        out.extend_from_slice(block.get(span).unwrap_or_default());
        if let Some(last) = out.last_mut() {
            *last &= 0x1f;
        }
        true
    }

    /// `element` as OpenCSD reports it: with the page of the last Page packet, also after a loss.
    fn element(&mut self, _: &Config, element: &mut Element) -> Option<Option<u32>> {
        if let Element::SoftwareWrite(write) = element
            && let Channel::Port { page, .. } = &mut write.channel
        {
            *page = Some(self.page);
        }
        Some(None)
    }
}

/// The name of the packet that `bytes` begin.
pub fn begun(bytes: &[u8]) -> &'static str {
    match bytes.first() {
        None | Some(0x00) => "ITM_ASYNC",
        Some(header) if header & 0b111 > 0b100 => "ITM_DWT",
        Some(header) if header & 0b11 != 0 => "ITM_SWIT",
        Some(0x94) => "ITM_GTS_1",
        Some(0xb4) => "ITM_GTS_2",
        Some(header) if header & 0b1000 != 0 => "ITM_EXTENSION",
        Some(_) => "ITM_TS_LOCAL",
    }
}

fn number(data: Data, out: &mut String) {
    out.push_str("0x");
    hex_padded(data.value().into(), data.size() * 2, out);
}

fn local_time(delay: TimeDelay, ticks: u32, bytes: u8, out: &mut String) {
    out.push_str("ITM_TS_LOCAL: 0x");
    hex_padded(ticks.into(), bytes * 2, out);
    out.push_str(match delay {
        TimeDelay::None => " { TS Sync }",
        TimeDelay::Timestamp => " { TS Delayed }",
        TimeDelay::Packet => " { TS Sync, Packet Delayed }",
        TimeDelay::Both => " { TS Delayed, Packet Delayed }",
    });
    out.push_str("; 'Local Timestamp'");
}

/// Appends the meaning of a hardware source packet. OpenCSD derives it from the discriminator
/// alone, not from the size.
fn hardware_source(discriminator: u8, data: Data, out: &mut String) {
    let value = data.value();
    match discriminator {
        0 => {
            out.push_str("[Event Counter: 0x");
            hex_padded(value.into(), 2, out);
            out.push_str("; Flags: ");
            for (bit, name) in
                [" CPI ", " EXC ", " Sleep ", " LSU ", " Fold ", " CYC "].iter().enumerate()
            {
                out.push_str(if value >> bit & 1 != 0 { name } else { " --- " });
            }
            out.push_str("] ");
        }
        1 => {
            out.push_str("[Exception Num:  0x");
            hex_padded((value & 0x1ff).into(), 4, out);
            out.push_str(match value >> 12 & 0b11 {
                0 => "(reserved) ]",
                1 => "(entered) ]",
                2 => "(exited) ]",
                _ => "(returned to) ]",
            });
        }
        2 => {
            out.push_str("[PC Sample: ");
            number(data, out);
            out.push_str("] ");
        }
        8..=23 => {
            out.push_str("[Data Trc: comp=");
            hex((discriminator >> 1 & 0b11).into(), out);
            out.push_str(match (discriminator >> 3, discriminator & 1) {
                (1, 0) => "; PC Value=",
                (1, _) => "; Address=",
                (_, 0) => "; Val read: ",
                (..) => "; Val write: ",
            });
            number(data, out);
            out.push_str(if discriminator < 16 { " ] " } else { "] " });
        }
        _ => out.push_str("[Reserved discriminator value] "),
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{Parse, Wire};

    use super::*;

    /// Lines of listings of OpenCSD. Lines for packets that no listing contains follow the same
    /// rules.
    #[test]
    fn packets() {
        for (bytes, want) in [
            (&[0, 0, 0, 0, 0, 0x80][..], "ITM_ASYNC: ; 'Alignment synchronisation packet'"),
            (&[0x70], "ITM_OVERFLOW: ; 'ITM overflow packet'"),
            (
                &[0x0b, 0x23, 0x01, 0x89, 0x67],
                "ITM_SWIT: {src id: 0x01}  0x67890123; 'Software Stimulus write packet'",
            ),
            (&[0x20], "ITM_TS_LOCAL: 0x02 { TS Sync }; 'Local Timestamp'"),
            (
                &[0xf0, 0xde, 0xfe, 0xd0, 0x3a],
                "ITM_TS_LOCAL: 0x07543f5e { TS Delayed, Packet Delayed }; 'Local Timestamp'",
            ),
            (
                &[0x05, 0x15],
                "ITM_DWT: {desc: 0x00} [Event Counter: 0x15; Flags:  CPI  ---  Sleep  ---  Fold  --- ] \
                 ; 'DWT hardware stimulus write'",
            ),
            (
                &[0x0e, 0x23, 0x21],
                "ITM_DWT: {desc: 0x01} [Exception Num:  0x0123(exited) ]; 'DWT hardware stimulus write'",
            ),
            (
                &[0x15, 0x00],
                "ITM_DWT: {desc: 0x02} [PC Sample: 0x00] ; 'DWT hardware stimulus write'",
            ),
            (
                &[0x4e, 0x10, 0x10],
                "ITM_DWT: {desc: 0x09} [Data Trc: comp=0; Address=0x1010 ] \
                 ; 'DWT hardware stimulus write'",
            ),
            (
                &[0x9e, 0x33, 0x22],
                "ITM_DWT: {desc: 0x13} [Data Trc: comp=1; Val write: 0x2233] \
                 ; 'DWT hardware stimulus write'",
            ),
            (
                &[0x2e, 0x22, 0x03],
                "ITM_DWT: {desc: 0x05} [Reserved discriminator value] ; 'DWT hardware stimulus write'",
            ),
            (&[0x28], "ITM_EXTENSION: {stim port page} 0x02; 'Extension packet'"),
            (
                &[0x8c, 0x01],
                "ITM_EXTENSION: {unknown extension type, 10 bits } 0x008; 'Extension packet'",
            ),
            (
                &[0x94, 0x82, 0xcf, 0xfa, 0x77],
                "ITM_GTS_1: { TS bits [25:0], Clk change, Clk wrap} 0x02fea782; \
                 'Global Timestamp [25:0]'",
            ),
            (
                &[0xb4, 0x93, 0x98, 0xa0, 0xa0, 0x80, 0x00],
                "ITM_GTS_2: { TS bits [63:26]} 0x0004080c13; 'Global Timestamp [{63|42}:26]'",
            ),
            (
                &[0xb4, 0x96, 0x9a, 0x92, 0x00],
                "ITM_GTS_2: { TS bits [47:26]} 0x00048d16; 'Global Timestamp [{63|42}:26]'",
            ),
        ] {
            let Parse::Packet(packet, _) = Packet::parse(bytes, &Config::default()) else {
                panic!("no packet in {bytes:02x?}");
            };
            let mut out = String::new();
            ItmText::default().packet(&Config::default(), &packet, &mut out);
            assert_eq!(out, want);
        }
    }
}
