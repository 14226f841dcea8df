//! Parts that the packets of several protocols have.

use std::fmt::Write;

/// An address in a packet, `ocsd_pkt_vaddr`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct PacketAddress {
    /// 0 for 32 bits, 1 for 64.
    pub size: u32,
    /// The address.
    pub value: u64,
    /// The number of bits in the packet.
    pub packet_bits: u8,
    /// The number of bits that are known.
    pub valid_bits: u8,
}

/// Atoms in a packet, `ocsd_pkt_atom`. Bit 0 is the oldest; 1 is E.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct PacketAtoms {
    /// The atoms.
    pub bits: u32,
    /// Their number.
    pub count: u8,
}

/// The context in a packet of PTM or ETMv3.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct PacketContext {
    /// 0 alternative instruction set, 1 NS, 2 Hyp, 3 updated, 4 context ID updated, 5 VMID updated.
    pub bits: u32,
    /// The context ID.
    pub id: u32,
    /// The VMID.
    pub vmid: u8,
}

/// Exceptions of PTM and, in the A and R profiles, ETMv3 by their number: the kind in the
/// structure, and the name.
pub const EXCEPTIONS: [(u32, &str); 16] = [
    (1, "No Exception"),
    (6, "Debug Halt"),
    (9, "SMC"),
    (10, "Hyp"),
    (5, "Async Data Abort"),
    (7, "Jazelle"),
    (0, "Reserved"),
    (0, "Reserved"),
    (2, "PE Reset"),
    (11, "Undefined Instr"),
    (8, "SVC"),
    (12, "Prefetch Abort"),
    (14, "Data Fault"),
    (13, "Generic"),
    (3, "IRQ"),
    (4, "FIQ"),
];

/// Names of the reasons of an I-sync of PTM or ETMv3, by their numbers.
pub const SYNC_REASONS: [&str; 4] = ["Periodic", "Trace Enable", "Restart Overflow", "Debug Exit"];

impl PacketContext {
    /// The begin of a packet: what earlier packets established stays, and nothing is updated.
    pub fn begin(&mut self) {
        self.bits &= 0x7;
    }

    /// The packet has the states.
    pub fn update(&mut self, non_secure: bool, hyp: bool, alternative: bool) {
        self.bits =
            u32::from(alternative) | u32::from(non_secure) << 1 | u32::from(hyp) << 2 | 1 << 3;
    }

    /// The packet has the context ID.
    pub fn update_id(&mut self, id: u32) {
        self.id = id;
        self.bits |= 1 << 4;
    }

    /// The packet has the VMID.
    pub fn update_vmid(&mut self, vmid: u8) {
        self.vmid = vmid;
        self.bits |= 1 << 5;
    }

    const fn has(&self, bit: u32) -> bool {
        self.bits >> bit & 1 != 0
    }

    /// Appends the states, if the packet of a branch has them.
    pub fn write_updated(&self, out: &mut String) {
        if self.has(3) {
            out.push_str(if self.has(1) { "NS; " } else { "S; " });
            out.push_str(if self.has(2) { "Hyp; " } else { "" });
        }
    }

    /// Appends the states of an I-sync, and its context ID if it has one.
    pub fn write_sync(&self, out: &mut String) {
        out.push_str(if self.has(1) { "NS; " } else { "S; " });
        out.push_str(if self.has(2) { "Hyp; " } else { " " });
        if self.has(4) {
            // Writing to a string does not fail.
            let _ = write!(out, "CtxtID={:x}; ", self.id);
        }
    }
}

impl PacketAtoms {
    /// Adds the next atom.
    pub fn push(&mut self, executed: bool) {
        self.bits |= u32::from(executed) << self.count;
        self.count += 1;
    }

    /// A letter for each atom.
    pub fn letters(&self, out: &mut String) {
        let letter = |n: u8| if self.bits >> (n & 31) & 1 != 0 { 'E' } else { 'N' };
        out.extend((0..self.count.min(32)).map(letter));
    }
}

impl PacketAddress {
    /// An address of 32 bits.
    pub fn new(value: u32, packet_bits: u8, valid_bits: u8) -> Self {
        PacketAddress { size: 0, value: value.into(), packet_bits, valid_bits }
    }

    /// Appends the address. `updated` is the number of bits in the packet, or 0 to leave them out.
    pub fn write(&self, updated: u8, out: &mut String) {
        let total = if self.size == 0 { 32 } else { 64 };
        value(total, self.valid_bits, self.value, updated, out);
    }
}

/// Appends `value` of `total` bits, of which the low `known` are known and the low `updated` are in
/// the packet.
pub fn value(total: u8, known: u8, value: u64, updated: u8, out: &mut String) {
    let low = |bits: u8| if bits >= 64 { value } else { value & ((1 << bits) - 1) };
    // Known digits above the total are printed, too.
    let digits = usize::from(known.min(64).div_ceil(4));
    let unknown = "?".repeat(usize::from(total.div_ceil(4)).saturating_sub(digits));
    // Writing to a string does not fail.
    let _ = write!(out, "0x{unknown}");
    if digits > 0 {
        let _ = write!(out, "{:0digits$X}", low(total));
    }
    if known < total {
        let _ = write!(out, " ({}:0)", i32::from(known) - 1);
    }
    if updated != 0 {
        let _ = write!(out, " ~[0x{:X}]", low(updated));
    }
}

/// Appends the name of an instruction set.
pub fn write_isa(isa: u32, out: &mut String) {
    out.push_str(match isa {
        0 => "ISA=ARM(32); ",
        1 => "ISA=Thumb2; ",
        2 => "ISA=AArch64; ",
        3 => "ISA=ThumbEE; ",
        4 => "ISA=Jazelle; ",
        _ => "ISA=Unknown; ",
    });
}
