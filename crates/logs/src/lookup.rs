//! Instructions by address, from the log and from program images.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tracewright_base::{Code, Instruction, Isa, Pc, Waypoints};
use tracewright_image::{Cache, CacheOptions, Extensions, Image};
use tracewright_isa::rv::{self, Upper};
use tracewright_isa::{ItState, classify};

use crate::entry::Opcode;
use crate::logged_code::LoggedCode;

/// Looks up instructions. An opcode in the log takes precedence over the image, but for that of a
/// compressed instruction of the image, for which a log may have the expansion.
#[derive(Debug, Default)]
pub struct Lookup {
    cache: Option<Cache>,
    /// The RISC-V extensions that determine the meaning of opcodes.
    riscv: Extensions,
    /// Opcodes that the log lists by address, apart from execution.
    code: HashMap<u64, Opcode>,
    /// Results of recent look-ups. The index is made of address bits.
    recent: Vec<Recent>,
    /// Executed instructions that are in no image.
    logged: LoggedCode,
    /// Addresses of compressed instructions whose opcodes in the log are expansions.
    expansions: HashSet<u64>,
    /// The log has opcodes of 16 bits: it has no expansions.
    has_compressed: bool,
}

/// The result of one look-up.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    address: u64,
    isa: Isa,
    opcode: u32,
    instruction: Option<Instruction>,
}

/// Number of entries in `recent`; a power of two.
const RECENT: usize = 1 << 14;

/// The place in `recent` of the instruction at `address`.
const fn slot(address: u64) -> usize {
    (address >> 1) as usize & (RECENT - 1)
}

impl Lookup {
    /// A look-up in `image`, without RISC-V extensions.
    pub fn new(image: Arc<Image>) -> Self {
        Lookup::with(image, Extensions::NONE)
    }

    /// A look-up in `image`, with the RISC-V extensions `riscv`.
    pub fn with(image: Arc<Image>, riscv: Extensions) -> Self {
        let options = CacheOptions { riscv, ..CacheOptions::default() };
        let cache = Cache::new(image, Waypoints::default(), options);
        Lookup { cache: Some(cache), riscv, ..Lookup::default() }
    }

    /// The instruction at `address`. `logged` is the opcode in the log, if there is one.
    #[inline]
    pub(super) fn instruction(
        &mut self,
        address: u64,
        isa: Isa,
        logged: Option<Opcode>,
        it: &mut ItState,
    ) -> Option<Instruction> {
        let bits = logged.map_or(0, |opcode| opcode.bits);
        let at = slot(address);
        if let Some(recent) = self.recent.get(at)
            && (recent.address, recent.isa, recent.opcode) == (address, isa, bits)
            && recent.instruction.is_some()
            && !it.in_block()
        {
            return recent.instruction;
        }
        let found = self.find(address, isa, logged, it);
        if self.recent.is_empty() {
            self.recent = vec![Recent::default(); RECENT];
        }
        // An instruction in an IT block depends on the IT state and is not cached.
        let plain = !it.in_block();
        if let Some(entry) = self.recent.get_mut(at) {
            let instruction = found.filter(|_| plain);
            *entry = Recent { address, isa, opcode: bits, instruction };
        }
        found
    }

    #[cold]
    fn find(
        &mut self,
        address: u64,
        isa: Isa,
        logged: Option<Opcode>,
        it: &mut ItState,
    ) -> Option<Instruction> {
        if logged.is_none()
            && let Some(cache) = &mut self.cache
            && let Ok(found) = cache.instruction(Pc { address, isa, ..Pc::default() })
        {
            return Some(found);
        }
        self.has_compressed |= logged.is_some_and(|opcode| opcode.size == 2);
        let opcode = logged.or_else(|| self.code.get(&address).copied())?;
        let bits = match (isa, opcode.size) {
            (Isa::T32 | Isa::ThumbEe, 4) => opcode.bits.rotate_left(16),
            _ => opcode.bits,
        };
        let bytes = bits.to_le_bytes();
        let bytes = bytes.get(..usize::from(opcode.size))?;
        let pc = Pc { address, isa, ..Pc::default() };
        let of_image = self.cache.as_mut().and_then(|cache| cache.opcode(pc));
        let is_riscv = matches!(isa, Isa::Rv32 | Isa::Rv64);
        if is_riscv
            && opcode.size == 4
            && of_image.is_some_and(|bits| bits & 0b11 != 0b11)
            && let Some(Ok(found)) = self.cache.as_mut().map(|cache| cache.instruction(pc))
        {
            return Some(found);
        }
        if self.expansions.contains(&address) {
            return Some(Instruction { size: 2, ..self.riscv(address, isa, opcode.bits) });
        }
        if of_image.is_none() {
            self.logged.add(address, Opcode { bits, size: opcode.size });
        }
        if is_riscv {
            return Some(self.riscv(address, isa, opcode.bits));
        }
        classify(isa, bytes, address, it)
    }

    /// Executed instructions whose opcodes are in the log and in no image.
    pub fn logged(&self) -> &LoggedCode {
        &self.logged
    }

    /// The opcode of the log at `address` is the expansion of a compressed one: it is no memory.
    /// Returns `false` where the log has opcodes of compressed instructions.
    pub(super) fn expansion(&mut self, address: u64) -> bool {
        if self.has_compressed {
            return false;
        }
        self.expansions.insert(address);
        self.logged.remove(address);
        let recent = self.recent.get_mut(slot(address));
        recent.into_iter().for_each(|recent| *recent = Recent::default());
        true
    }

    /// Classifies the RISC-V opcode `bits` at `address`.
    fn riscv(&mut self, address: u64, isa: Isa, bits: u32) -> Instruction {
        let pc = Pc { address, isa, ..Pc::default() };
        let Some(cache) = &mut self.cache else {
            return rv::classify(isa, bits.into(), address, &self.riscv);
        };
        // A custom opcode longer than 32 bits is complete in the image only.
        if self.riscv.has_custom()
            && cache.opcode(pc) == Some(bits)
            && let Ok(found) = cache.instruction(pc)
        {
            return found;
        }
        cache.classify(pc, bits, Upper::default())
    }

    /// Adds an opcode that the log lists at `address`, executed or not.
    pub fn code(&mut self, address: u64, opcode: Opcode) {
        self.code.insert(address, opcode);
    }

    /// The opcode at `address`, from the image or the log's listing.
    pub fn opcode(&mut self, address: u64, isa: Isa) -> Option<Opcode> {
        let pc = Pc { address, isa, ..Pc::default() };
        let found = self.cache.as_mut().and_then(|cache| {
            let bits = cache.opcode(pc)?;
            Some(Opcode { bits, size: cache.instruction(pc).ok()?.size })
        });
        found.or_else(|| self.code.get(&address).copied())
    }
}
