//! Elements to packets, by one of the encodings that the specification allows. (K10.5.2)

use crate::Random;
use crate::analyzer::{AnalyzerContext, Unit};

/// The packets of a stream, and what their compression depends on.
#[derive(Clone, Debug)]
pub struct Packets {
    unit: Unit,
    packets: Vec<Vec<u8>>,
    /// Atoms that are not in a packet yet.
    atoms: Vec<bool>,
    addresses: [(u64, bool); 3],
    context: AnalyzerContext,
    timestamp: u64,
    time: u64,
    /// The parser is in a transaction.
    pub in_transaction: bool,
}

impl AnalyzerContext {
    /// The context without the identifiers that the unit does not trace.
    #[must_use]
    pub fn sized(self, unit: &Unit) -> AnalyzerContext {
        let mask = |bytes| if bytes == 4 { u32::MAX } else { (1u32 << (8 * bytes)) - 1 };
        AnalyzerContext {
            context_id: self.context_id & mask(unit.context_id_bytes),
            vmid: self.vmid & mask(unit.vmid_bytes),
            ..self
        }
    }
}

fn uleb(mut value: u64, out: &mut Vec<u8>) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A number of fewer than `bits` bits; each length is as likely.
fn magnitude(random: &mut Random, bits: usize) -> u64 {
    let bits = random.index(bits);
    random.below(1 << bits)
}

impl Packets {
    /// No packets.
    pub fn new(unit: Unit) -> Packets {
        Packets {
            unit,
            packets: Vec::new(),
            atoms: Vec::new(),
            addresses: [(0, false); 3],
            context: AnalyzerContext::default(),
            timestamp: 0,
            time: 0x1234,
            in_transaction: false,
        }
    }

    /// The number of packets, where each atom counts as one.
    pub fn len(&self) -> usize {
        self.packets.len() + self.atoms.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The packets.
    pub fn finish(mut self, random: &mut Random) -> Vec<Vec<u8>> {
        self.flush(random);
        self.packets
    }

    fn push(&mut self, random: &mut Random, bytes: Vec<u8>) {
        self.flush(random);
        self.packets.push(bytes);
    }

    /// A packet without state.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.flush(&mut Random::new(self.len() as u64));
        self.packets.push(bytes.to_vec());
    }

    /// An atom.
    pub fn atom(&mut self, e: bool) {
        self.atoms.push(e);
    }

    /// Atom packets for all atoms.
    fn flush(&mut self, random: &mut Random) {
        let atoms = std::mem::take(&mut self.atoms);
        let mut rest = &atoms[..];
        while let [first, ..] = rest {
            let mut ways = vec![(0xf6 | u8::from(*first), 1)];
            let bits =
                |n: usize| rest.get(..n).map(|a| (0..n).fold(0, |b, i| b | u8::from(a[i]) << i));
            if let Some(bits) = bits(2) {
                ways.push((0xd8 | bits, 2));
            }
            if let Some(bits) = bits(3) {
                ways.push((0xf8 | bits, 3));
            }
            match bits(4) {
                Some(0b1110) => ways.push((0xdc, 4)),
                Some(0b0000) => ways.push((0xdd, 4)),
                Some(0b1010) => ways.push((0xde, 4)),
                Some(0b0101) => ways.push((0xdf, 4)),
                _ => {}
            }
            match bits(5) {
                Some(0b11110) => ways.push((0xf5, 5)),
                Some(0b00000) => ways.push((0xd5, 5)),
                Some(0b01010) => ways.push((0xd6, 5)),
                Some(0b10101) => ways.push((0xd7, 5)),
                _ => {}
            }
            let es = rest.iter().take_while(|e| **e).count();
            for n in 4..=rest.len().min(24) {
                if es >= n - 1 {
                    ways.push((0xc0 | u8::from(!rest[n - 1]) << 5 | (n - 4) as u8, n));
                }
            }
            let (header, n) = random.pick(&ways);
            self.packets.push(vec![header]);
            rest = &rest[n..];
        }
    }

    /// Takes the last atoms into bits \[1:0] of a packet.
    fn some_atoms(&mut self, random: &mut Random) -> u8 {
        let (a, n) = match self.atoms.as_slice() {
            [.., true, true] if random.chance(80) => (2, 2),
            [.., true] if random.chance(160) => (1, 1),
            [.., false] if random.chance(160) => (3, 1),
            _ => (0, 0),
        };
        self.atoms.truncate(self.atoms.len() - n);
        a
    }

    /// Alignment Synchronization and Trace Info.
    pub fn trace_info(
        &mut self,
        random: &mut Random,
        depth: usize,
        in_transaction: bool,
        threshold: Option<u64>,
    ) {
        let mut sync = vec![0; if random.one_in(8) { 13 } else { 11 }];
        sync.push(0x80);
        self.push(random, sync);
        let mut bytes = Vec::new();
        let info = u8::from(threshold.is_some()) | u8::from(in_transaction) << 6;
        let (with_info, with_spec) = (info != 0 || random.chance(64), depth > 0);
        let plctl =
            u8::from(with_info) | u8::from(with_spec) << 2 | u8::from(threshold.is_some()) << 3;
        bytes.extend([0x01, plctl]);
        if with_info {
            bytes.push(info);
        }
        if with_spec {
            uleb(depth as u64, &mut bytes);
        }
        if let Some(threshold) = threshold {
            uleb(threshold, &mut bytes);
        }
        self.packets.push(bytes);
        self.addresses = [(0, false); 3];
        self.context = AnalyzerContext::default();
        self.timestamp = 0;
        self.in_transaction = in_transaction;
    }

    /// Timestamp.
    pub fn timestamp(&mut self, random: &mut Random) {
        self.time += magnitude(random, 40);
        let changed = 64 - (self.time ^ self.timestamp).leading_zeros() as usize;
        let mut bytes = vec![0x02];
        let n = changed.div_ceil(7).max(1);
        if n > 8 {
            bytes.extend((0..8).map(|i| (self.time >> (7 * i)) as u8 | 0x80));
            bytes.push((self.time >> 56) as u8);
        } else {
            bytes.extend(
                (0..n).map(|i| (self.time >> (7 * i)) as u8 & 0x7f | u8::from(i + 1 < n) << 7),
            );
        }
        if random.chance(64) {
            bytes[0] = 0x03;
            uleb(magnitude(random, 20), &mut bytes);
        }
        self.timestamp = self.time;
        self.push(random, bytes);
    }

    /// Commit.
    pub fn commit(&mut self, n: usize) {
        let mut bytes = vec![0x2d];
        uleb(n as u64, &mut bytes);
        self.raw(&bytes);
    }

    /// A Cycle Count packet that commits at most `most` elements. Returns how many.
    pub fn cycle_count(&mut self, random: &mut Random, most: usize) -> usize {
        let commits = !self.unit.commit_mode_1;
        let mut bytes = Vec::new();
        let mut committed = 0;
        match random.index(3) {
            1 if !commits => bytes.extend([0x0d, 0xf0 | random.below(16) as u8]),
            2 if !commits => bytes.push(0x10 | random.below(4) as u8),
            1 if most > 0 => {
                committed = random.between(1, most.min(16));
                let max = self.unit.max_spec_depth as usize;
                if committed + 15 >= max && committed <= max && random.chance(128) {
                    let a = (committed + 15 - max) as u8;
                    bytes.extend([0x0d, a << 4 | random.below(16) as u8]);
                } else {
                    let a = committed as u8 - 1;
                    bytes.extend([0x0c, a << 4 | random.below(16) as u8]);
                }
            }
            2 if most > 0 => {
                committed = random.between(1, most.min(4));
                bytes.push(0x10 | (committed as u8 - 1) << 2 | random.below(4) as u8);
            }
            _ => {
                let unknown = random.one_in(4);
                bytes.push(0x0e | u8::from(unknown));
                if commits {
                    committed = random.index(most + 1);
                    uleb(committed as u64, &mut bytes);
                }
                if !unknown {
                    uleb(magnitude(random, 20), &mut bytes);
                }
            }
        }
        self.push(random, bytes);
        committed
    }

    /// Cancel, with a Mispredict element if `corrects`.
    pub fn cancel(&mut self, random: &mut Random, n: usize, corrects: bool) {
        if corrects && random.chance(150) {
            if n == 1 {
                let a = self.some_atoms(random);
                return self.push(random, vec![0x34 | a]);
            }
            if let 2..=5 = n {
                let e = self.atoms.last() == Some(&true) && random.chance(128);
                if e {
                    self.atoms.pop();
                }
                return self.push(random, vec![0x38 | (n as u8 - 2) << 1 | u8::from(e)]);
            }
        }
        let mut bytes = vec![0x2e | u8::from(corrects)];
        uleb(n as u64, &mut bytes);
        self.push(random, bytes);
    }

    /// Mispredict.
    pub fn mispredict(&mut self, random: &mut Random) {
        let a = self.some_atoms(random);
        self.push(random, vec![0x30 | a]);
    }

    /// Transaction Failure.
    pub fn failure(&mut self) {
        self.raw(&[0x06, 0x31, 0x70]);
        self.remember(0, false);
    }

    fn remember(&mut self, address: u64, thumb: bool) {
        self.addresses = [(address, thumb), self.addresses[0], self.addresses[1]];
    }

    /// The bytes of an address packet, whose headers begin at `base`, and the offset of its long
    /// forms.
    fn address_bytes(&mut self, random: &mut Random, address: u64, thumb: bool) -> Vec<u8> {
        let known = self.addresses.iter().position(|entry| *entry == (address, thumb));
        let (last, _) = self.addresses[0];
        let (shift, is1) = if thumb { (1, 1) } else { (2, 0) };
        let bytes = match known {
            Some(n) if random.chance(200) => vec![0x90 | n as u8],
            _ if last >> (shift + 15) == address >> (shift + 15) && random.chance(200) => {
                let low = (address >> shift & 0x7f) as u8;
                if last >> (shift + 7) == address >> (shift + 7) && random.chance(200) {
                    vec![0x95 + is1, low]
                } else {
                    vec![0x95 + is1, low | 0x80, (address >> (shift + 7)) as u8]
                }
            }
            _ => self.long_address(random, 0x9a, address, thumb),
        };
        self.remember(address, thumb);
        bytes
    }

    fn long_address(&self, random: &mut Random, base: u8, address: u64, thumb: bool) -> Vec<u8> {
        let narrow = self.addresses[0].0 >> 32 == address >> 32 && random.chance(200);
        let (offset, size) = if narrow { (0, 4) } else { (3, 8) };
        let mut bytes = vec![base + offset + u8::from(thumb)];
        if thumb {
            bytes.push((address >> 1 & 0x7f) as u8);
            bytes.extend(&address.to_le_bytes()[1..size]);
        } else {
            bytes.extend([(address >> 2 & 0x7f) as u8, (address >> 9 & 0x7f) as u8]);
            bytes.extend(&address.to_le_bytes()[2..size]);
        }
        bytes
    }

    fn context_bytes(&mut self, random: &mut Random, context: AnalyzerContext, out: &mut Vec<u8>) {
        let v =
            self.unit.vmid_bytes > 0 && (context.vmid != self.context.vmid || random.chance(64));
        let c = self.unit.context_id_bytes > 0
            && (context.context_id != self.context.context_id || random.chance(64));
        out.push(
            context.exception_level
                | u8::from(context.sixty_four_bit) << 4
                | u8::from(context.non_secure) << 5
                | u8::from(v) << 6
                | u8::from(c) << 7,
        );
        if v {
            out.extend(&context.vmid.to_le_bytes()[..self.unit.vmid_bytes as usize]);
        }
        if c {
            out.extend(&context.context_id.to_le_bytes()[..self.unit.context_id_bytes as usize]);
        }
        self.context = context;
    }

    /// Context.
    pub fn context(&mut self, random: &mut Random, context: AnalyzerContext) {
        if context == self.context && random.chance(128) {
            return self.push(random, vec![0x80]);
        }
        let mut bytes = vec![0x81];
        self.context_bytes(random, context, &mut bytes);
        self.push(random, bytes);
    }

    /// Target Address, with a context or without.
    pub fn address(
        &mut self,
        random: &mut Random,
        address: u64,
        thumb: bool,
        context: Option<AnalyzerContext>,
    ) {
        match context {
            Some(context) if random.chance(170) => {
                let mut bytes = self.long_address(random, 0x82, address, thumb);
                self.remember(address, thumb);
                self.context_bytes(random, context, &mut bytes);
                self.push(random, bytes);
            }
            Some(context) => {
                let first = random.chance(180);
                if first {
                    self.context(random, context);
                }
                let bytes = self.address_bytes(random, address, thumb);
                self.push(random, bytes);
                if !first {
                    self.context(random, context);
                }
            }
            None => {
                let bytes = self.address_bytes(random, address, thumb);
                self.push(random, bytes);
            }
        }
    }

    /// Exception. `target`: the address is also a Target Address element. `unknown`: the packet
    /// has no address.
    #[expect(clippy::too_many_arguments, reason = "one for each field of the packet")]
    pub fn exception(
        &mut self,
        random: &mut Random,
        kind: u8,
        target: bool,
        address: u64,
        thumb: bool,
        context: Option<AnalyzerContext>,
        unknown: bool,
    ) {
        let mut bytes = vec![0x06, kind << 1 | if target { 0x40 } else { 1 }];
        if unknown {
            bytes.push(0x70);
            self.remember(0, false);
        } else if let Some(context) = context {
            bytes.extend(self.long_address(random, 0x82, address, thumb));
            self.remember(address, thumb);
            self.context_bytes(random, context, &mut bytes);
        } else {
            bytes.extend(self.address_bytes(random, address, thumb));
        }
        self.push(random, bytes);
    }

    /// Q, and its address.
    pub fn q(&mut self, random: &mut Random, count: Option<u32>, address: u64, thumb: bool) {
        let Some(count) = count else {
            self.push(random, vec![0xaf]);
            return self.address(random, address, thumb, None);
        };
        let mut bytes = vec![0xac];
        let separate = random.chance(80);
        if !separate {
            let history = self.addresses;
            let address_bytes = self.address_bytes(random, address, thumb);
            if address_bytes[0] < 0x9d {
                bytes = address_bytes;
                bytes[0] = 0xa0 | bytes[0] & 0xf;
            } else {
                self.addresses = history;
            }
        }
        let alone = bytes[0] == 0xac;
        uleb(count.into(), &mut bytes);
        self.push(random, bytes);
        if alone {
            self.address(random, address, thumb, None);
        }
    }

    /// Source Address.
    pub fn source_address(&mut self, random: &mut Random, address: u64, thumb: bool) {
        let mut bytes = self.address_bytes(random, address, thumb);
        bytes[0] = match bytes[0] {
            n @ 0x90..=0x92 => 0xb0 | n & 3,
            0x95 => 0xb4,
            0x96 => 0xb5,
            0x9a => 0xb6,
            0x9b => 0xb7,
            0x9d => 0xb8,
            _ => 0xb9,
        };
        self.push(random, bytes);
    }
}
