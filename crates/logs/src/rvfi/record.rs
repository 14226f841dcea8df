//! One instruction of RVFI.

use tracewright_base::{Access, Cause, Direction, Isa, Step};

use super::header::Hart;
use crate::entry::{Entry, Event, Executed, Mode, Raised};
use crate::map::called;
use crate::spike::riscv;
use crate::text::Expected;

/// From this width on, `trap` and `intr` are structures. (cv32e40p_rvfi_pkg.sv and
/// cv32e40x_rvfi_pkg.sv, `rvfi_trap_t` and `rvfi_intr_t`)
const STRUCTURE: usize = 12;

/// The values of the fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub order: Option<u64>,
    address: u64,
    bits: u32,
    isa: Isa,
    el: Option<u8>,
    trapped: bool,
    cause: Option<Cause>,
    /// The first instruction of a handler.
    entered: bool,
    interrupt: Option<Cause>,
    access: Option<Access>,
}

/// The field `n` of `bits` bits of a value, as far as it has 64. `None` where a digit is unknown.
fn field(value: &[u8], n: usize, bits: usize) -> Option<u64> {
    let start = n * bits;
    let mut found = 0;
    for bit in 0..bits.min(64) {
        // Digits that are left out are 0, or x and z.
        let digit = value.iter().rev().nth(start + bit).or(value.first()).copied()?;
        let is_left_out = start + bit >= value.len();
        match digit {
            b'1' if !is_left_out => found |= 1 << bit,
            b'0' | b'1' => {}
            _ => return None,
        }
    }
    Some(found)
}

impl Record {
    /// The instruction of a channel, if it has one.
    pub fn of(hart: &Hart, values: &[Vec<u8>], channel: usize) -> Result<Option<Record>, Expected> {
        let channels = hart.channels();
        let get = |name: &str| {
            let signal = hart.signal(name)?;
            field(values.get(signal.value)?, channel, signal.bits / channels)
        };
        if get("valid") != Some(1) {
            return Ok(None);
        }
        let known = Expected("known values of `insn` and `pc_rdata` where `valid` is 1");
        let bits = get("insn").ok_or(known)? as u32;
        let address = get("pc_rdata").ok_or(known)?;
        let structure = |name: &str| {
            let wide = hart.signal(name).is_some_and(|signal| signal.bits / channels >= STRUCTURE);
            (get(name).unwrap_or(0), wide)
        };
        // trap: [0] any, [1] exception, [8:3] its cause. intr: [0] any, [2] interrupt, [13:3] its
        // cause.
        let (trapped, cause) = match structure("trap") {
            (trap, true) => {
                let code = (trap >> 3 & 0x3f) as u16;
                (trap >> 1 & 1 != 0, Some(Cause::Riscv { code, interrupt: false }))
            }
            (trap, false) => (trap & 1 != 0, None),
        };
        let (entered, interrupt) = match structure("intr") {
            (intr, true) => {
                let code = (intr >> 3 & 0x7ff) as u16;
                (intr >> 2 & 1 != 0, Some(Cause::Riscv { code, interrupt: true }))
            }
            (intr, false) => (intr & 1 != 0, None),
        };
        let isa = match get("ixl") {
            Some(1) => Isa::Rv32,
            Some(2) => Isa::Rv64,
            _ => hart.isa(),
        };
        let el = get("mode").and_then(|mode| u8::try_from(mode).ok()).filter(|el| *el <= 3);
        let access = access(bits, &get).map(|access| access.made_by(address));
        let order = get("order");
        Ok(Some(Record {
            order,
            address,
            bits,
            isa,
            el,
            trapped,
            cause: cause.filter(|_| trapped),
            entered,
            interrupt,
            access,
        }))
    }

    /// The entries of the instruction.
    pub fn entries(&self, cpu: u16, now: u64, hart: &mut Hart, out: &mut dyn FnMut(Entry)) {
        let entry = |event| Entry { cpu, time: Some(now), event };
        let opcode = riscv(self.bits);
        let mode = Mode { el: self.el, non_secure: None };
        // The handler of an exception follows the instruction that trapped.
        if self.entered && !hart.trapped {
            let cause = self.interrupt.or(hart.signal("trap").map(|_| Cause::Irq));
            out(entry(Event::Raised(Raised { cause, ..Raised::default() })));
        }
        hart.trapped = self.trapped;
        if self.trapped {
            if self.el.is_some() {
                out(entry(Event::Mode(mode)));
            }
            return out(entry(Event::Raised(Raised {
                cause: self.cause.or(called(opcode.bits, self.el)),
                return_address: Some(self.address),
                synchronous: true,
                ..Raised::default()
            })));
        }
        out(entry(Event::Instruction(Executed {
            address: self.address,
            opcode: Some(opcode),
            isa: Some(self.isa),
            mode,
            ..Executed::default()
        })));
        if let Some(access) = self.access {
            out(entry(Event::Step(Step::Access(access))));
        }
    }
}

/// The data access of an instruction. Some cores have `mem_rmask` set for instructions that read no
/// memory.
fn access(bits: u32, get: &impl Fn(&str) -> Option<u64>) -> Option<Access> {
    let of = |direction, mask: u64, data: Option<u64>| {
        let (first, size) = (mask.trailing_zeros(), mask.count_ones());
        let address = get("mem_addr")?.wrapping_add(first.into());
        let access = Access::new(direction, size.min(8) as u8, 0).at(address);
        let value = data.map(|data| data.checked_shr(8 * first).unwrap_or(0));
        let value =
            value.map(|value| if size >= 8 { value } else { value & ((1 << (8 * size)) - 1) });
        Some(value.map_or(access, |value| access.of(value)))
    };
    match (get("mem_wmask").unwrap_or(0), get("mem_rmask").unwrap_or(0)) {
        (0, 0) => None,
        (0, mask) if loads(bits) => of(Direction::Read, mask, get("mem_rdata")),
        (0, _) => None,
        (mask, _) => of(Direction::Write, mask, get("mem_wdata")),
    }
}

/// Whether an instruction reads memory: LOAD, LOAD-FP, AMO; C.LW, C.LWSP and the like.
const fn loads(bits: u32) -> bool {
    matches!(
        (bits & 0b11, bits & 0x7f, bits >> 13 & 0b111),
        (0b11, 0x03 | 0x07 | 0x2f, _) | (0b00 | 0b10, _, 0b001..=0b011)
    )
}
