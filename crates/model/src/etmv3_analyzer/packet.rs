//! Bytes to packets. (7.2, Table 7-1)

use tracewright_base::Isa;

use super::Unit;

/// An atom of a P-header. (7.3.1)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Atom {
    E,
    N,
    W,
}

/// Low bits of an address, and their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Low {
    pub(super) bits: u64,
    pub(super) count: u32,
}

/// Exception information. (Tables 7-9, 7-10 and 7-18)
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Information {
    pub(super) exception: u16,
    pub(super) cancel: bool,
    pub(super) resume: u8,
    /// Of exception information bytes: NS, Hyp and AltISA.
    pub(super) state: Option<(bool, bool, bool)>,
}

/// A Branch address packet. (7.3.5)
#[derive(Clone, Copy, Debug)]
pub(super) struct Branch {
    /// Address bits without those that alignment makes zero.
    pub(super) low: Low,
    /// The instruction set of an address of five bytes, where ThumbEE is Thumb.
    pub(super) isa: Option<Isa>,
    pub(super) information: Option<Information>,
}

/// An I-sync packet. (7.7.3)
#[derive(Clone, Copy, Debug)]
pub(super) struct Isync {
    pub(super) cycles: Option<u64>,
    pub(super) context_id: Option<u32>,
    pub(super) reason: u8,
    pub(super) non_secure: bool,
    pub(super) hyp: bool,
    /// Not in data-only mode.
    pub(super) start: Option<(u32, Isa)>,
    /// The current instruction of an LSiP packet.
    pub(super) current: Option<Branch>,
}

/// A data address, with the BE bit of one of five bytes. (Figure 7-34)
pub(super) type DataAddress = (Low, Option<bool>);

#[derive(Clone, Debug)]
pub(super) enum Packet {
    Nothing,
    Atoms(Vec<Atom>),
    Branch(Branch),
    CycleCount(u64),
    Isync(Isync),
    Trigger,
    Data { a: bool, address: Option<DataAddress>, value: Option<u32> },
    Placeholder { tag: usize, a: bool, address: Option<DataAddress> },
    OutOfOrder { tag: usize, value: Option<u32> },
    NotTraced { a: bool, address: Option<DataAddress> },
    StoreFailed,
    Suppressed,
    ContextId(u32),
    ExceptionExit,
    ExceptionEntry,
    Vmid(u32),
    Timestamp(Low),
}

/// Why parsing stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    End,
    Malformed,
}

type Parsed<T> = Result<T, Stop>;

pub(super) struct Parser {
    unit: Unit,
    bytes: Vec<u8>,
    at: usize,
    accepted: usize,
    /// The last packet was a data value, which a Store failed packet may follow. (7.4.7)
    after_value: bool,
}

fn bit(byte: u8, n: u32) -> bool {
    byte >> n & 1 == 1
}

impl Parser {
    /// Searches the A-sync sequence: a string of 47 or more 0 bits followed by a 1. All data after
    /// it are realigned. (7.7.2)
    pub(super) fn aligned(unit: Unit, bytes: &[u8]) -> Option<Parser> {
        let bits: Vec<bool> = bytes.iter().flat_map(|byte| (0..8).map(|n| bit(*byte, n))).collect();
        let mut zeros = 0;
        let end = bits.iter().position(|&one| {
            let found = one && zeros >= 47;
            zeros = if one { 0 } else { zeros + 1 };
            found
        })?;
        let bytes = bits[end + 1..]
            .chunks_exact(8)
            .map(|bits| bits.iter().rev().fold(0, |byte, one| byte << 1 | u8::from(*one)));
        Some(Parser { unit, bytes: bytes.collect(), at: 0, accepted: 0, after_value: false })
    }

    /// The bytes of the packets that were accepted.
    pub(super) fn taken(&self) -> usize {
        self.accepted
    }

    pub(super) fn accept(&mut self) {
        self.accepted = self.at;
    }

    fn byte(&mut self) -> Parsed<u8> {
        let byte = self.bytes.get(self.at).copied().ok_or(Stop::End)?;
        self.at += 1;
        Ok(byte)
    }

    fn little_endian(&mut self, len: u32) -> Parsed<u32> {
        (0..len).try_fold(0, |value, n| Ok(value | u32::from(self.byte()?) << (8 * n)))
    }

    /// Groups of seven bits, each with a bit that states whether another byte follows. The last
    /// byte of `width` bits has no such bit.
    fn groups(&mut self, width: u32) -> Parsed<Low> {
        let mut low = Low::default();
        loop {
            let byte = self.byte()?;
            if low.count + 8 >= width {
                low.bits |= u64::from(byte) << low.count;
                low.bits &= u64::MAX >> (64 - width);
                return Ok(Low { count: width, ..low });
            }
            low.bits |= u64::from(byte & 0x7f) << low.count;
            low.count += 7;
            if !bit(byte, 7) {
                return Ok(low);
            }
        }
    }

    pub(super) fn packet(&mut self) -> Parsed<Packet> {
        let unit = self.unit;
        let after_value = std::mem::take(&mut self.after_value);
        let header = self.byte()?;
        let (instructions, data) = (!unit.data_only(), unit.data());
        let size = u32::from(header >> 2 & 0b11);
        Ok(match header {
            _ if bit(header, 0) && instructions => Packet::Branch(self.branch(header)?),
            _ if bit(header, 7) && !bit(header, 0) && instructions => {
                Packet::Atoms(self.atoms(header)?)
            }
            0b0000_0000 => return self.alignment(),
            0b0000_0100 if unit.cycle_accurate() && instructions => {
                Packet::CycleCount(self.groups(32)?.bits)
            }
            0b0000_1000 => Packet::Isync(self.isync(false)?),
            0b0111_0000 if unit.cycle_accurate() && instructions => {
                Packet::Isync(self.isync(true)?)
            }
            0b0000_1100 => Packet::Trigger,
            // Only where values are traced, and after a value.
            0b0101_0000 if unit.values() && unit.minor() >= 1 && after_value => {
                self.after_value = true;
                Packet::StoreFailed
            }
            _ if header & 0b1001_0011 == 0 && header & 0b0110_0000 != 0 && data => {
                self.after_value = true;
                Packet::OutOfOrder { tag: usize::from(header >> 5), value: self.value(size)? }
            }
            _ if header & 0b1101_0011 == 0b0101_0000 && size != 0 && data => {
                let (a, tag) = (bit(header, 5), usize::from(header >> 2 & 0b11));
                Packet::Placeholder { tag, a, address: self.address(a)? }
            }
            _ if header & 0b1101_0011 == 0b0000_0010 && data => {
                self.after_value = true;
                let a = bit(header, 5);
                Packet::Data { a, address: self.address(a)?, value: self.value(size)? }
            }
            0b0110_0010 if data && instructions => Packet::Suppressed,
            0b0110_0110 => Packet::Nothing,
            0b0110_1010 | 0b0111_1010 if data => {
                let a = bit(header, 4);
                Packet::NotTraced { a, address: self.address(a)? }
            }
            0b0110_1110 if unit.context_id_bytes() > 0 => {
                Packet::ContextId(self.little_endian(unit.context_id_bytes())?)
            }
            0b0111_0110 if unit.minor() >= 4 && instructions => Packet::ExceptionExit,
            0b0111_1110 if unit.minor() >= 4 && instructions && data => Packet::ExceptionEntry,
            0b0011_1100 if unit.minor() >= 5 && unit.vmid() => {
                Packet::Vmid(u32::from(self.byte()?))
            }
            0b0100_0010 | 0b0100_0110 if unit.minor() >= 5 => {
                let wide = unit.extension >> 29 & 1 == 1;
                Packet::Timestamp(self.groups(if wide { 64 } else { 48 })?)
            }
            _ => return Err(Stop::Malformed),
        })
    }

    /// Five or more bytes of 0, then 0x80. (7.7.2)
    fn alignment(&mut self) -> Parsed<Packet> {
        let mut zeros = 1;
        loop {
            match self.byte()? {
                0 => zeros += 1,
                0x80 if zeros >= 5 => return Ok(Packet::Nothing),
                _ => return Err(Stop::Malformed),
            }
        }
    }

    /// Tables 7-2 and 7-3.
    fn atoms(&self, header: u8) -> Parsed<Vec<Atom>> {
        use Atom::{E, N, W};
        let flag = |n| if bit(header, n) { N } else { E };
        let mut atoms = Vec::new();
        match (self.unit.cycle_accurate(), header & 0b11) {
            (false, 0b00) => {
                atoms.extend(vec![E; usize::from(header >> 2 & 0xf)]);
                atoms.extend(bit(header, 6).then_some(N));
            }
            (false, _) if header & 0xf0 == 0b1000_0000 => atoms.extend([flag(3), flag(2)]),
            (true, 0b00) if header == 0b1000_0000 => match self.unit.minor() {
                0 => atoms.push(W),
                _ => return Err(Stop::Malformed),
            },
            (true, 0b00) if !bit(header, 5) => {
                (0..header >> 2 & 0b111).for_each(|_| atoms.extend([W, E]));
                atoms.extend(if bit(header, 6) { &[W, N][..] } else { &[] });
            }
            (true, 0b00) => {
                atoms.extend(vec![W; usize::from(header >> 2 & 0b111) + 1]);
                atoms.extend(bit(header, 6).then_some(E));
            }
            (true, _) if header & 0xf0 == 0b1000_0000 => atoms.extend([W, flag(3), flag(2)]),
            (true, _) if header & 0xf8 == 0b1001_0000 && self.unit.minor() >= 3 => {
                atoms.push(flag(2));
            }
            _ => return Err(Stop::Malformed),
        }
        Ok(atoms)
    }

    fn branch(&mut self, first: u8) -> Parsed<Branch> {
        let mut low = Low { bits: u64::from(first >> 1 & 0x3f), count: 6 };
        let mut add = |byte: u8, width: u32| {
            low.bits |= u64::from(byte & ((1 << width) - 1)) << low.count;
            low.count += width;
            low
        };
        if !bit(first, 7) {
            return Ok(Branch { low: add(0, 0), isa: None, information: None });
        }
        for _ in 2..=4 {
            let byte = self.byte()?;
            if bit(byte, 7) {
                add(byte, 7);
            } else if self.unit.alternative() {
                // Table 7-6.
                let low = add(byte, 6);
                let information = if bit(byte, 6) { Some(self.information()?) } else { None };
                return Ok(Branch { low, isa: None, information });
            } else {
                return Ok(Branch { low: add(byte, 7), isa: None, information: None });
            }
        }
        // Table 7-8.
        let byte = self.byte()?;
        let (isa, width) = match byte & 0x7f {
            _ if bit(byte, 7) => (Isa::A32, 3),
            0b000_1000..=0b000_1111 | 0b100_1000..=0b100_1111 => (Isa::A32, 3),
            0b001_0000..=0b001_1111 | 0b101_0000..=0b101_1111 => (Isa::T32, 4),
            0b010_0000..=0b011_1111 | 0b110_0000..=0b111_1111 => (Isa::Jazelle, 5),
            _ => return Err(Stop::Malformed),
        };
        let low = add(byte, width);
        let information = match (bit(byte, 7), bit(byte, 6)) {
            (true, cancel) => {
                let vector = (low.bits << 2 & 0x1f) as u32;
                let exception = old_exception(byte >> 3 & 0b111, vector)?;
                Some(Information { exception, cancel, ..Information::default() })
            }
            (false, true) => Some(self.information()?),
            (false, false) => None,
        };
        Ok(Branch { low, isa: Some(isa), information })
    }

    /// Exception information bytes. (Tables 7-10 and 7-18, Figures 7-26 to 7-29)
    fn information(&mut self) -> Parsed<Information> {
        let minor = self.unit.minor();
        let byte = self.byte()?;
        let mut information = Information {
            exception: u16::from(byte >> 1 & 0xf),
            cancel: bit(byte, 5),
            resume: 0,
            state: Some((bit(byte, 0), false, bit(byte, 6) && minor >= 3)),
        };
        if !(bit(byte, 7) && minor >= 4) {
            return Ok(information);
        }
        let mut byte = self.byte()?;
        if !bit(byte, 6) {
            information.exception |= u16::from(byte & 0x1f) << 4;
            let hyp = bit(byte, 5) && minor >= 5;
            information.state = information.state.map(|(ns, _, alt)| (ns, hyp, alt));
            if !bit(byte, 7) {
                return Ok(information);
            }
            byte = self.byte()?;
        }
        if !bit(byte, 6) {
            return Err(Stop::Malformed);
        }
        information.resume = byte & 0xf;
        Ok(information)
    }

    fn isync(&mut self, counts: bool) -> Parsed<Isync> {
        let cycles = if counts { Some(self.groups(32)?.bits) } else { None };
        let len = self.unit.context_id_bytes();
        let context_id = if len > 0 { Some(self.little_endian(len)?) } else { None };
        let information = self.byte()?;
        let minor = self.unit.minor();
        let mut isync = Isync {
            cycles,
            context_id,
            reason: information >> 5 & 0b11,
            non_secure: bit(information, 3),
            hyp: bit(information, 1) && minor >= 5,
            start: None,
            current: None,
        };
        // Bit 0 is always 1. (7.11.2)
        if !bit(information, 0) {
            return Err(Stop::Malformed);
        }
        if self.unit.data_only() {
            return Ok(isync);
        }
        let address = self.little_endian(4)?;
        // Table 7-22.
        isync.start = Some(match (bit(information, 4), address & 1 == 1, bit(information, 2)) {
            (true, _, _) => (address, Isa::Jazelle),
            (false, false, _) if address & 0b11 == 0 => (address, Isa::A32),
            (false, false, _) => return Err(Stop::Malformed),
            (false, true, true) if minor >= 3 => (address & !1, Isa::ThumbEe),
            (false, true, _) => (address & !1, Isa::T32),
        });
        if bit(information, 7) {
            let first = self.byte()?;
            if !bit(first, 0) {
                return Err(Stop::Malformed);
            }
            isync.current = Some(self.branch(first)?);
        }
        Ok(isync)
    }

    /// The address of a data packet: one to five bytes, if addresses are traced.
    fn address(&mut self, a: bool) -> Parsed<Option<DataAddress>> {
        if !a || !self.unit.addresses() {
            return Ok(None);
        }
        let mut low = Low::default();
        while low.count < 28 {
            let byte = self.byte()?;
            low.bits |= u64::from(byte & 0x7f) << low.count;
            low.count += 7;
            if !bit(byte, 7) {
                return Ok(Some((low, None)));
            }
        }
        let byte = self.byte()?;
        low.bits |= u64::from(byte & 0xf) << 28;
        Ok(Some((Low { count: 32, ..low }, Some(bit(byte, 4)))))
    }

    /// Table 7-19.
    fn value(&mut self, size: u32) -> Parsed<Option<u32>> {
        match self.unit.values() {
            true => self.little_endian(if size == 3 { 4 } else { size }).map(Some),
            false => Ok(None),
        }
    }
}

/// Table 7-9, in the numbers of Table 7-12.
fn old_exception(code: u8, vector: u32) -> Parsed<u16> {
    Ok(match (code, vector) {
        (0b000, 0x00) => 0b1000,
        (0b000, 0x04) => 0b1001,
        (0b000, 0x08) => 0b1010,
        (0b000, 0x0c) => 0b1011,
        (0b000, 0x10) => 0b1100,
        (0b001, _) => 0b1110,
        (0b100, _) => 0b0101,
        (0b101, _) => 0b1111,
        (0b110, _) => 0b0100,
        (0b111, _) => 0b0001,
        _ => return Err(Stop::Malformed),
    })
}
