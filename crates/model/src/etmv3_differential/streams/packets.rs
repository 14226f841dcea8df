//! Packets of the program flow, by one of the encodings that the specification allows. (7.3, 7.7)

use tracewright_base::Isa;

use super::super::Program;
use crate::Random;
use crate::etmv3_analyzer::Unit;

/// Exception information.
#[derive(Clone, Copy, Debug)]
pub(super) struct Info {
    pub(super) exception: u16,
    pub(super) cancel: bool,
    pub(super) resume: u8,
    pub(super) non_secure: bool,
    pub(super) hyp: bool,
    /// AltISA.
    pub(super) alternative: bool,
}

/// The packets of a stream, and what their compression depends on.
#[derive(Clone, Debug)]
pub(super) struct Packets {
    pub(super) unit: Unit,
    packets: Vec<Vec<u8>>,
    /// The last address in a branch or I-sync packet.
    pub(super) broadcast: (u32, Isa),
    /// There was one.
    synced: bool,
    time: u64,
    context_id: u32,
}

fn shift(isa: Isa) -> u32 {
    match isa {
        Isa::A32 => 2,
        Isa::Jazelle => 0,
        _ => 1,
    }
}

impl Packets {
    pub(super) fn new(unit: Unit) -> Packets {
        let isa = if unit.m_profile { Isa::T32 } else { Isa::A32 };
        Packets {
            unit,
            packets: Vec::new(),
            broadcast: (0, isa),
            synced: false,
            time: 0x1234,
            context_id: 0,
        }
    }

    pub(super) fn finish(self) -> Vec<Vec<u8>> {
        self.packets
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.packets.push(bytes.to_vec());
    }

    /// P-headers of instructions, each of which passed its condition code test or not.
    pub(super) fn atoms(&mut self, random: &mut Random, atoms: &[bool]) {
        let mut left = atoms;
        while !left.is_empty() {
            let taken = match self.unit.cycle_accurate() {
                true => self.accurate(random, left),
                false => self.plain(random, left),
            };
            left = left.get(taken..).unwrap_or_default();
        }
    }

    /// Table 7-2. Returns the number of atoms.
    fn plain(&mut self, random: &mut Random, atoms: &[bool]) -> usize {
        if let (&[first, second, ..], true) = (atoms, random.one_in(3)) {
            self.raw(&[0x82 | u8::from(!first) << 3 | u8::from(!second) << 2]);
            return 2;
        }
        let run = atoms.iter().take_while(|passed| **passed).count().min(15);
        let run = random.between(run.min(1), run);
        let not = atoms.get(run) == Some(&false) && (run == 0 || random.chance(200));
        self.raw(&[0x80 | (run as u8) << 2 | u8::from(not) << 6]);
        run + usize::from(not)
    }

    /// Table 7-3. Returns the number of atoms.
    fn accurate(&mut self, random: &mut Random, atoms: &[bool]) -> usize {
        if random.one_in(8) {
            let only_v3_0 = self.unit.minor() == 0 && random.chance(128);
            let waits = 0xa0 | (random.index(8) as u8) << 2;
            self.raw(&[if only_v3_0 { 0x80 } else { waits }]);
        }
        let first = atoms.first() == Some(&true);
        match (random.index(4), atoms) {
            (0, &[first, second, ..]) => {
                self.raw(&[0x82 | u8::from(!first) << 3 | u8::from(!second) << 2]);
                2
            }
            (1, _) if first => {
                self.raw(&[0xe0 | (random.index(8) as u8) << 2]);
                1
            }
            (2, _) if self.unit.minor() >= 3 => {
                self.raw(&[0x92 | u8::from(!first) << 2]);
                1
            }
            _ => {
                let run = atoms.iter().take_while(|passed| **passed).count().min(7);
                let run = random.between(run.min(1), run);
                let not = atoms.get(run) == Some(&false) && (run == 0 || random.chance(200));
                self.raw(&[0x80 | (run as u8) << 2 | u8::from(not) << 6]);
                run + usize::from(not)
            }
        }
    }

    /// Whether a branch to code of this set needs an exception information byte. (Table 7-14)
    pub(super) fn needs_info(&self, isa: Isa) -> bool {
        isa != self.broadcast.1 && (isa == Isa::ThumbEe || self.broadcast.1 == Isa::ThumbEe)
    }

    pub(super) fn branch(&mut self, random: &mut Random, to: (u32, Isa), info: Option<Info>) {
        let bytes = self.address(random, to, info);
        self.raw(&bytes);
    }

    /// The address bytes and the exception information bytes of a branch to `to`.
    fn address(&mut self, random: &mut Random, to: (u32, Isa), info: Option<Info>) -> Vec<u8> {
        let (address, isa) = to;
        let (before, last) = std::mem::replace(&mut self.broadcast, to);
        let bits = address >> shift(isa);
        let changed = 32 - (bits ^ before >> shift(isa)).leading_zeros();
        let scheme = self.unit.alternative();
        // The number of address bits in `len` bytes.
        let held = |len: u32| match len {
            1 => 6,
            2..=4 if scheme => 7 * len - 2,
            2..=4 => 7 * len - 1,
            _ => 32,
        };
        let whole = isa != last || !self.synced || info.is_some() && !scheme;
        let least = if whole { 5 } else { (1..=5).find(|len| held(*len) >= changed).unwrap_or(5) };
        let least = if info.is_some() { least.max(2) } else { least } as usize;
        let len = if random.one_in(6) { random.between(least, 5) } else { least };
        let mut bytes = Vec::new();
        for n in 0..len.min(4) {
            let part = match n {
                0 => (bits as u8 & 0x3f) << 1 | 1,
                _ => (bits >> (7 * n - 1)) as u8 & 0x7f,
            };
            bytes.push(part | 0x80);
        }
        let flag = u8::from(info.is_some()) << 6;
        match (len, bytes.last_mut()) {
            (5, _) => {
                let top = (bits >> 27) as u8;
                bytes.push(
                    flag | match isa {
                        Isa::A32 => 0b00_1000 | top,
                        Isa::Jazelle => 0b10_0000 | top,
                        _ => 0b01_0000 | top,
                    },
                );
            }
            (1, Some(byte)) => *byte &= 0x7f,
            (_, Some(byte)) if scheme => *byte = *byte & 0x3f | flag,
            (_, Some(byte)) => *byte &= 0x7f,
            _ => {}
        }
        if let Some(info) = info {
            self.information(info, &mut bytes);
        }
        bytes
    }

    fn information(&self, info: Info, bytes: &mut Vec<u8>) {
        let minor = self.unit.minor();
        let one = info.exception > 15 || info.hyp && minor >= 5;
        let two = info.resume > 0;
        bytes.push(
            u8::from(info.non_secure)
                | (info.exception as u8 & 0xf) << 1
                | u8::from(info.cancel) << 5
                | u8::from(info.alternative) << 6
                | u8::from(one || two) << 7,
        );
        if one {
            let hyp = u8::from(info.hyp) << 5;
            bytes.push((info.exception >> 4) as u8 | hyp | u8::from(two) << 7);
        }
        if two {
            bytes.push(0x40 | info.resume);
        }
    }

    /// The deprecated form of an exception: to a vector, in A32 state. Returns whether the program
    /// and the unit have one.
    pub(super) fn old_exception(
        &mut self,
        random: &mut Random,
        program: &Program,
        cancel: bool,
    ) -> bool {
        if self.unit.m_profile || self.unit.alternative() || program.a32.is_empty() {
            return false;
        }
        let vectors = program.a32.iter().copied().filter(|a| matches!(a & 0x1f, 0..=0x10));
        let vectors: Vec<u32> = vectors.collect();
        let code = random.pick(&[0u8, 0, 1, 4, 5, 6]);
        let address = random.pick(if code == 0 { &vectors } else { &program.a32 });
        let bits = address >> 2;
        let part = |n: u32| (bits >> (7 * n - 1)) as u8 & 0x7f | 0x80;
        let top = 0x80 | u8::from(cancel) << 6 | code << 3 | (bits >> 27) as u8;
        self.raw(&[(bits as u8 & 0x3f) << 1 | 0x81, part(1), part(2), part(3), top]);
        self.broadcast = (address, Isa::A32);
        true
    }

    /// An I-sync packet with the address of the next instruction, if instructions are traced.
    pub(super) fn isync(
        &mut self,
        random: &mut Random,
        reason: u8,
        start: Option<(u32, Isa)>,
        non_secure: bool,
        hyp: bool,
    ) {
        let bytes = self.isync_bytes(random, reason, start, false, non_secure, hyp);
        self.raw(&bytes);
    }

    /// An LSiP I-sync packet.
    pub(super) fn in_progress(
        &mut self,
        random: &mut Random,
        reason: u8,
        start: (u32, Isa),
        current: (u32, Isa),
        info: Option<Info>,
    ) {
        let non_secure = info.is_some_and(|info| info.non_secure);
        let hyp = info.is_some_and(|info| info.hyp);
        let mut bytes = self.isync_bytes(random, reason, Some(start), true, non_secure, hyp);
        bytes.extend(self.address(random, current, info));
        self.raw(&bytes);
    }

    fn isync_bytes(
        &mut self,
        random: &mut Random,
        reason: u8,
        start: Option<(u32, Isa)>,
        in_progress: bool,
        non_secure: bool,
        hyp: bool,
    ) -> Vec<u8> {
        let mut bytes = vec![0x08];
        if self.unit.cycle_accurate() && reason != 0 && random.chance(128) {
            bytes = vec![0x70];
            bytes.extend(groups(count(random), 32));
        }
        if reason != 0 {
            self.context_id = random.below(4) as u32 * 0x0101_0101;
        }
        bytes.extend(
            self.context_id.to_le_bytes().into_iter().take(self.unit.context_id_bytes() as usize),
        );
        let isa = start.map(|(_, isa)| isa);
        bytes.push(
            u8::from(in_progress) << 7
                | reason << 5
                | u8::from(isa == Some(Isa::Jazelle)) << 4
                | u8::from(non_secure) << 3
                | u8::from(isa == Some(Isa::ThumbEe)) << 2
                | u8::from(hyp && self.unit.minor() >= 5) << 1
                | 1,
        );
        if let Some((address, isa)) = start {
            let thumb = matches!(isa, Isa::T32 | Isa::ThumbEe);
            bytes.extend((address | u32::from(thumb)).to_le_bytes());
            (self.broadcast, self.synced) = ((address, isa), true);
        }
        bytes
    }

    pub(super) fn context_id(&mut self, random: &mut Random) {
        self.context_id = random.next() as u32 & 0x0103_0103;
        let bytes =
            self.context_id.to_le_bytes().into_iter().take(self.unit.context_id_bytes() as usize);
        let bytes: Vec<u8> = [0x6e].into_iter().chain(bytes).collect();
        self.raw(&bytes);
    }

    pub(super) fn cycle_count(&mut self, random: &mut Random) {
        let bytes = [vec![0x04], groups(count(random), 32)].concat();
        self.raw(&bytes);
    }

    /// A timestamp: all of its bits, or the low ones that changed. (issue Q)
    pub(super) fn timestamp(&mut self, random: &mut Random) {
        let before = self.time;
        let most = if random.one_in(4) { 1 << 40 } else { 300 };
        self.time += random.below(most);
        let width = if self.unit.extension >> 29 & 1 == 1 { 64 } else { 48 };
        let code = |time: u64| match self.unit.extension >> 28 & 1 {
            1 => time,
            _ => time ^ time >> 1,
        };
        let mask = u64::MAX >> (64 - width);
        let (now, before) = (code(self.time & mask), code(before & mask));
        let changed = 64 - (now ^ before).leading_zeros();
        let full = (width - 1) / 7 + u32::from(width == 64);
        let most = if width == 64 { 9 } else { 7 };
        let least = changed.div_ceil(7).clamp(1, full.min(most));
        let len = if random.one_in(3) { most } else { least };
        let mut bytes = vec![0x42 | u8::from(random.one_in(4)) << 2];
        for n in 0..len {
            let part = (now >> (7 * n)) as u8;
            bytes.push(match n + 1 {
                last if last == most => part,
                last if last == len => part & 0x7f,
                _ => part | 0x80,
            });
        }
        self.raw(&bytes);
    }
}

/// A count of cycles; 0 is an overflow of the counter.
fn count(random: &mut Random) -> u32 {
    let bits = random.index(33);
    (random.next() & ((1u64 << bits) - 1)) as u32
}

/// Groups of seven bits; the last byte of `width` bits has eight.
fn groups(mut value: u32, width: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f && 7 * (bytes.len() as u32 + 1) < width {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
