//! PTM packets in the format of OpenCSD.

use tracewright_base::{Element, Fault, Isa, Last};
use tracewright_protocols::ptm::history::gray;
use tracewright_protocols::ptm::packet::{Reason, Sync};
use tracewright_protocols::ptm::{Config, History, Packet, Ptm};
use tracewright_views::digits::{decimal, hex_padded, value};

use super::element::without_it_block;
use super::packet_text::{Behaviour, OpencsdProtocol, PacketText};
use super::unsynced::Group;

/// What the text of the next packet of one source depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PtmText {
    history: History,
    /// The cycle count that ends the next element.
    cycles: Option<u32>,
}

impl OpencsdProtocol for Ptm {
    type Text = PtmText;
    const DECODER: &'static str = "DCD_PTM";
    const PACKET_PROCESSOR: &'static str = "PKTP_PTM";
}

impl PacketText for PtmText {
    type Config = Config;
    type Packet = Packet;

    const BEHAVIOUR: Behaviour = Behaviour {
        one_unsynced_line: true,
        reset_by_bad_packets: false,
        plain_cycles: false,
        ..Behaviour::new(Group::FragmentOrSixteen)
    };

    fn packet(&mut self, config: &Config, packet: &Packet, out: &mut String) {
        let isa = self.history.isa();
        self.history.take(packet, config);
        let now = self.history.isa();
        let cycles = match packet {
            Packet::Align => return out.push_str("ASYNC : Alignment Synchronisation Packet; "),
            Packet::Sync(sync) => {
                out.push_str("ISYNC : Instruction Synchronisation packet; ");
                start(sync, out);
                sync.cycles
            }
            Packet::Atoms(atoms) => {
                out.push_str("ATOM : Atom packet; ");
                out.extend(atoms.iter().map(letter));
                return out.push_str("; ");
            }
            Packet::TimedAtom { taken, cycles } => {
                out.push_str("ATOM : Atom packet; ");
                out.push(letter(*taken));
                out.push_str("; ");
                Some(*cycles)
            }
            Packet::Branch(branch) => {
                out.push_str("BRANCH_ADDRESS : Branch address packet; ");
                self.address(branch.address.value(now.unwrap_or(Isa::T32)).1, out);
                if isa != now {
                    instruction_set(now, out);
                }
                if let Some(info) = &branch.info {
                    out.push_str(if info.non_secure { "NS; " } else { "S; " });
                    if info.hyp {
                        out.push_str("Hyp; ");
                    }
                    out.push_str("Excep=");
                    out.push_str(exception(info.exception));
                    out.push_str(" [");
                    hex_padded(info.exception.into(), 2, out);
                    out.push_str("]; ");
                }
                branch.cycles
            }
            Packet::Waypoint(waypoint) => {
                out.push_str("WP_UPDATE : Waypoint update packet; ");
                self.address(waypoint.address.value(now.unwrap_or(Isa::T32)).1, out);
                if isa != now {
                    instruction_set(now, out);
                }
                None
            }
            Packet::Trigger => return out.push_str("TRIGGER : Trigger Event packet; "),
            Packet::ContextId(id) => {
                out.push_str("CTXTID : Context ID packet; CtxtID=0x");
                hex_padded((*id).into(), 8, out);
                return out.push_str("; ");
            }
            Packet::Vmid(vmid) => {
                out.push_str("VMID : VM ID packet; VMID=0x");
                hex_padded((*vmid).into(), 2, out);
                return out.push_str("; ");
            }
            Packet::Timestamp(time) => {
                let coded = self.history.coded_time();
                out.push_str("TIMESTAMP : Timestamp packet; TS=");
                value(64, 64, coded, time.count, out);
                out.push('(');
                decimal(coded, out);
                out.push_str("); ");
                time.cycles
            }
            Packet::ExceptionReturn => return out.push_str("ERET : Exception return packet; "),
            Packet::Ignore => return out.push_str("IGNORE : Ignore packet; "),
        };
        if let Some(cycles) = cycles {
            out.push_str("Cycles=");
            decimal(cycles.into(), out);
            out.push_str("; ");
        }
    }

    /// OpenCSD has no element for a cycle count: the count ends the text of the next element.
    fn element(&mut self, config: &Config, element: &mut Element) -> Option<Option<u32>> {
        let cycles = self.cycles.take();
        match element {
            Element::Cycles(count) => {
                self.cycles = *count;
                return None;
            }
            Element::Timestamp { value, cycles: own } => {
                // OpenCSD does not decode Gray code.
                if !config.timestamps_are_binary() {
                    *value = gray(*value);
                }
                *own = cycles;
            }
            Element::TraceOn(_) | Element::Exception(_) => return Some(cycles),
            Element::Range(range) => range.last = Self::last(range.last),
            _ => {}
        }
        Some(None)
    }

    fn last(last: Last) -> Last {
        without_it_block(last)
    }

    fn is_waiting(&self) -> bool {
        self.cycles.is_some()
    }

    fn bad(&mut self, _: &Config, bytes: &[u8], fault: Fault, out: &mut String) {
        let header = bytes.first().copied().unwrap_or(0);
        self.history = History::default();
        out.push_str(match fault {
            Fault::Unsynchronised => "NOTSYNC : PTM Not Synchronised; ",
            Fault::Truncated => "INCOMPLETE_EOT : Incomplete packet flushed at end of trace; ",
            Fault::Reserved(_) | Fault::ReservedForConfig(_) => {
                "RESERVED : Reserved Packet Header; "
            }
            _ => match header {
                0x00 => "BAD_SEQUENCE : Invalid sequence in packet; [ASYNC]; ",
                0x72 => "BAD_SEQUENCE : Invalid sequence in packet; [WP_UPDATE]; ",
                _ => "BAD_SEQUENCE : Invalid sequence in packet; [BRANCH_ADDRESS]; ",
            },
        });
    }
}

impl PtmText {
    /// Appends the address so far. The packet has `updated` bits of it.
    fn address(&self, updated: u8, out: &mut String) {
        let (address, known) = self.history.low_address();
        out.push_str("Addr=");
        value(32, known, address.into(), updated, out);
        out.push_str("; ");
    }
}

fn start(sync: &Sync, out: &mut String) {
    out.push_str(match sync.reason {
        Reason::Periodic => "(Periodic); Addr=0x",
        Reason::TraceOn => "(Trace Enable); Addr=0x",
        Reason::Overflow => "(Restart Overflow); Addr=0x",
        Reason::DebugExit => "(Debug Exit); Addr=0x",
    });
    hex_padded(sync.address.into(), 8, out);
    out.push_str(if sync.non_secure { "; NS; " } else { "; S; " });
    out.push_str(if sync.hyp { "Hyp; " } else { " " });
    if let Some(id) = sync.context_id {
        out.push_str("CtxtID=");
        hex_padded(id.into(), 8, out);
        out.push_str("; ");
    }
    instruction_set(Some(sync.isa()), out);
}

const fn letter(taken: bool) -> char {
    if taken { 'E' } else { 'N' }
}

fn instruction_set(isa: Option<Isa>, out: &mut String) {
    out.push_str(match isa {
        Some(Isa::A32) => "ISA=ARM(32); ",
        Some(Isa::T32) => "ISA=Thumb2; ",
        Some(Isa::ThumbEe) => "ISA=ThumbEE; ",
        Some(Isa::Jazelle) => "ISA=Jazelle; ",
        _ => "ISA=Unknown; ",
    });
}

const fn exception(number: u16) -> &'static str {
    match number {
        0 => "No Exception",
        1 => "Debug Halt",
        2 => "SMC",
        3 => "Hyp",
        4 => "Async Data Abort",
        5 => "Jazelle",
        6 | 7 => "Reserved",
        8 => "PE Reset",
        9 => "Undefined Instr",
        10 => "SVC",
        11 => "Prefetch Abort",
        12 => "Data Fault",
        13 => "Generic",
        14 => "IRQ",
        15 => "FIQ",
        _ => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use tracewright_base::{Parse, Start, Wire};

    use super::*;

    /// Lines of listings of OpenCSD: consecutive packets of a source.
    #[test]
    fn packets() {
        let counted = Config { control: 0x1000_1000, ..Config::default() };
        let wide = Config { extension: 0x34c0_1ac2, ..counted };
        let plain = Config { control: 0x2000_0400, ..Config::default() };
        let rich = Config { control: 0xc000, ..Config::default() };
        for (config, rows) in [
            (
                counted,
                &[
                    (&[0, 0, 0, 0, 0, 0x80][..], "ASYNC : Alignment Synchronisation Packet; "),
                    (&[0xbe], "ATOM : Atom packet; N; Cycles=15; "),
                    (
                        &[0xff, 0x26, 0x04],
                        "BRANCH_ADDRESS : Branch address packet; Addr=0x????137E (12:0) ~[0x137E]; Cycles=1; ",
                    ),
                    (
                        &[0x08, 0xfc, 0x26, 0x05, 0xc0, 0x09],
                        "ISYNC : Instruction Synchronisation packet; (Periodic); Addr=0xc00526fc; NS;  ISA=ARM(32); ",
                    ),
                    (
                        &[0x42, 0xe7, 0xf0, 0xae, 0xc8, 0x8e, 0x8b, 0x00, 0x0c],
                        "TIMESTAMP : Timestamp packet; TS=0x00000058E90BB867 ~[0x58E90BB867](381866981479); Cycles=3; ",
                    ),
                    (
                        &[0xf9, 0x8e, 0x02, 0x30],
                        "BRANCH_ADDRESS : Branch address packet; Addr=0xC0010EF0 ~[0x10EF0]; Cycles=12; ",
                    ),
                    (
                        &[0x72, 0x79],
                        "WP_UPDATE : Waypoint update packet; Addr=0xC0010EF0 ~[0xF0]; ",
                    ),
                    (
                        &[0x8d, 0x80, 0xfe, 0xff, 0x4f, 0x1d, 0x3c],
                        "BRANCH_ADDRESS : Branch address packet; Addr=0xFFFF0018 ~[0xFFFF0018]; NS; Excep=IRQ [0e]; Cycles=15; ",
                    ),
                    (&[0x76], "ERET : Exception return packet; "),
                    (&[0x0c], "TRIGGER : Trigger Event packet; "),
                    (&[0x66], "IGNORE : Ignore packet; "),
                ][..],
            ),
            (
                wide,
                &[(
                    &[0x42, 0xcc, 0x97, 0xc6, 0xce, 0xaf, 0x90, 0x80, 0x80, 0x00, 0x00],
                    "TIMESTAMP : Timestamp packet; TS=0x00000082F9D18BCC ~[0x82F9D18BCC](562537008076); Cycles=0; ",
                )],
            ),
            (
                plain,
                &[
                    (
                        &[0x08, 0x54, 0x05, 0x00, 0x80, 0x61],
                        "ISYNC : Instruction Synchronisation packet; (Debug Exit); Addr=0x80000554; S;  ISA=ARM(32); ",
                    ),
                    (&[0xc8], "ATOM : Atom packet; EENEE; "),
                    (
                        &[0x81, 0x80, 0x80, 0x80, 0x48, 0x02],
                        "BRANCH_ADDRESS : Branch address packet; Addr=0x00000000 ~[0x0]; S; Excep=Debug Halt [01]; ",
                    ),
                    (
                        &[0xfd, 0x9e, 0x80, 0x80, 0x18],
                        "BRANCH_ADDRESS : Branch address packet; Addr=0x80000F7C ~[0x80000F7C]; ISA=Thumb2; ",
                    ),
                ],
            ),
            (
                rich,
                &[
                    (&[0x6e, 0x2a, 0, 0, 0], "CTXTID : Context ID packet; CtxtID=0x0000002a; "),
                    (&[0x3c, 0x05], "VMID : VM ID packet; VMID=0x05; "),
                    (
                        &[0x08, 0, 0x80, 0, 0, 0x2b, 0x2a, 0, 0, 0],
                        "ISYNC : Instruction Synchronisation packet; (Trace Enable); Addr=0x00008000; NS; Hyp; CtxtID=0000002a; ISA=ARM(32); ",
                    ),
                ],
            ),
        ] {
            let mut text = PtmText::default();
            for &(bytes, want) in rows {
                let Parse::Packet(packet, len) = Packet::parse(bytes, &config) else {
                    panic!("{bytes:02x?}")
                };
                assert_eq!(len, bytes.len(), "{bytes:02x?}");
                let mut out = String::new();
                text.packet(&config, &packet, &mut out);
                assert_eq!(out, want);
            }
        }
    }

    /// A cycle count ends the next element, and Gray code is not decoded. The values are those of
    /// the first timestamp of the Snowball capture.
    #[test]
    fn elements() {
        let config = Config { control: 0x1000_1000, ..Config::default() };
        let mut text = PtmText::default();
        let mut element = |config: &Config, element: Element| {
            let mut changed = element;
            text.element(config, &mut changed).map(|cycles| (changed, cycles))
        };
        let time = |value, cycles| Element::Timestamp { value, cycles };
        let on = Element::TraceOn(Start::Normal);
        assert_eq!(element(&config, Element::Cycles(Some(3))), None);
        let coded = (time(0x58_e90b_b867, Some(3)), None);
        assert_eq!(element(&config, time(0x6f_4e0d_2fba, None)), Some(coded));
        assert_eq!(element(&config, Element::Cycles(Some(51))), None);
        assert_eq!(element(&config, on), Some((on, Some(51))));
        assert_eq!(element(&config, on), Some((on, None)));
        let binary = Config { extension: 1 << 28, ..config };
        let same = (time(7, None), None);
        assert_eq!(element(&binary, time(7, None)), Some(same));
    }
}
