//! Blocks and instructions, decoded from an image. There is no state: the same address in the same
//! image gives the same result.

use tracewright_base::{Block, End, Instruction, Isa, Kind, Miss, Waypoints};
use tracewright_isa::data::transfer;
use tracewright_isa::rv::{self, Extensions, Upper};
use tracewright_isa::{ItState, a64, classify, riscv, t32};

use crate::classify::{Classify, MAX_CLASSIFIED};
use crate::image::{Image, View};
use crate::opcode_check::OpcodeCheck;

/// Program memory that is read while blocks are made: an [`Image`], or memory that is fetched piece
/// by piece.
pub trait ReadCode {
    /// Bytes from `address` on, possibly not all of them; none where reading them in one piece has
    /// no advantage.
    #[inline]
    fn run(&self, view: View, address: u64) -> &[u8] {
        let _ = (view, address);
        &[]
    }

    /// Reads memory at `address` into `out` and returns how many bytes are known. After the last
    /// address of `mask` follows address 0.
    fn read(&self, view: View, address: u64, mask: u64, out: &mut [u8]) -> usize;

    /// What classifies instructions that are not those of the architecture.
    #[inline]
    fn classifier(&self) -> Option<&dyn Classify> {
        None
    }
}

impl ReadCode for Image {
    #[inline]
    fn run(&self, view: View, address: u64) -> &[u8] {
        Image::run(self, view, address)
    }

    #[inline]
    fn read(&self, view: View, address: u64, mask: u64, out: &mut [u8]) -> usize {
        Image::read(self, view, address, mask, out)
    }

    #[inline]
    fn classifier(&self) -> Option<&dyn Classify> {
        Image::classifier(self)
    }
}

/// The minimum length of a block that ends without a waypoint before the end of the memory, in
/// instructions. Such a block ends at the next multiple of [`LIMIT_ALIGNMENT`].
const MIN_LIMITED: u32 = 1024;

/// Straight code is divided at addresses that are multiples of this, so that walks from different
/// addresses share all blocks after the first. An instruction or a pair of instructions across such
/// an address belongs to the block before it.
const LIMIT_ALIGNMENT: u64 = 1 << 11;

/// The maximum length of a block, in instructions. It bounds the walk through memory without a
/// branch.
pub const MAX_BLOCK_INSTRUCTIONS: u32 = MIN_LIMITED + (LIMIT_ALIGNMENT / 2) as u32 + 1;

/// The number of consecutive bytes of zeros with which a block of A32 or T32 code ends, as if the
/// last of them were an invalid opcode. An opcode of zeros is an instruction without an effect
/// (ANDEQ R0, R0, R0; MOVS R0, R0), but a run of this length is memory without a program.
const MAX_ZEROS: u32 = 64;

/// The maximum length of a standard instruction, in bytes.
const MAX_INSTRUCTION_LEN: usize = 4;

/// The maximum length of a custom RISC-V instruction, in bytes.
const MAX_CUSTOM_LEN: usize = 8;

/// Which instructions end a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    pub(crate) waypoints: Waypoints,
    pub(crate) check_opcodes: OpcodeCheck,
    pub(crate) riscv: Extensions,
}

impl Rules {
    /// Whether code of `isa` in `memory` is plain instructions, found by their groups, and few
    /// others.
    pub(crate) fn skips_plain(&self, isa: Isa, memory: &impl ReadCode) -> bool {
        isa == Isa::A64 && !self.waypoints.has(Kind::Plain) && memory.classifier().is_none()
    }

    /// Whether loads or stores end a block.
    const fn accesses_end(&self) -> bool {
        self.waypoints.loads || self.waypoints.stores
    }
}

/// The memory of one view and instruction set.
pub(crate) struct Memory<'a, I = Image> {
    pub(crate) image: &'a I,
    pub(crate) view: View,
    pub(crate) isa: Isa,
    pub(crate) riscv: &'a Extensions,
}

impl<I> Clone for Memory<'_, I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I> Copy for Memory<'_, I> {}

impl<'a, I: ReadCode> Memory<'a, I> {
    /// The block that starts at `start`, which is within the address mask.
    pub(crate) fn block(self, start: u64, rules: &Rules) -> Result<Block, Miss> {
        let mut it = self.it_state(start);
        let mut block = Block { start, ..Block::default() };
        block.last.isa = self.isa;
        let mut reader = Reader::new(self, start);
        // A multiple of the alignment is inside the block, after the minimum length.
        let mut crossed = false;
        // `reader.at` is the second half of a 4-byte instruction of the code before `start`.
        let thumb = matches!(self.isa, Isa::T32 | Isa::ThumbEe);
        let mut inside = thumb && !self.begins_instruction(start);
        let skips = rules.skips_plain(self.isa, self.image);
        loop {
            if skips
                && let Some((count, last)) =
                    reader.plain((MIN_LIMITED - 1).saturating_sub(block.instructions))
            {
                block.bytes += count * 4;
                block.instructions += count;
                block.last = last;
            }
            if inside && block.instructions > 0 {
                // The code before `start` has another instruction there. Up to where both agree,
                // each address has the IT block that `instruction` finds.
                it = self.it_state(reader.at);
                inside = !self.begins_instruction(reader.at);
            }
            let from = reader.at;
            let instruction = match reader.next(&mut it) {
                Ok(instruction) => instruction,
                Err(miss) if block.instructions == 0 => return Err(miss),
                Err(_) => {
                    block.end = End::NoCode;
                    break;
                }
            };
            if block.instructions == 0 && reader.zeros > 0 {
                reader.zeros += self.zeros_before(start);
            }
            let (kind, next) = (instruction.kind, block.next());
            let check = rules.check_opcodes;
            if check.is_invalid(self.isa, kind, || self.opcode(next))
                || reader.zeros >= MAX_ZEROS && check != OpcodeCheck::Off
            {
                if block.instructions == 0 {
                    block.last = instruction;
                }
                block.end = End::Invalid;
                break;
            }
            block.bytes += u32::from(instruction.size);
            block.instructions += 1;
            block.last = instruction;
            if rules.waypoints.has(instruction.kind)
                || rules.accesses_end() && self.ends_as_access(next, rules.waypoints)
            {
                block.end = End::Waypoint;
                break;
            }
            if block.instructions >= MIN_LIMITED {
                crossed |= (from ^ reader.at) >= LIMIT_ALIGNMENT;
                // A pair of instructions that makes a jump inferable is in one block.
                if crossed && !reader.completes_pair() {
                    block.end = End::Limit;
                    break;
                }
            }
        }
        Ok(block)
    }

    /// Whether the instruction at `at` is a load or a store that ends a block.
    #[cold]
    fn ends_as_access(self, at: u64, waypoints: Waypoints) -> bool {
        let transfer = self.opcode(at).and_then(|opcode| transfer(self.isa, opcode));
        transfer.is_some_and(|transfer| {
            let (loads, stores) = transfer.accesses();
            loads && waypoints.loads || stores && waypoints.stores
        })
    }

    /// The instruction at `start`, which is within the address mask. With `check`, an opcode of
    /// zeros that ends a block is undefined.
    pub(crate) fn instruction(self, start: u64, check: OpcodeCheck) -> Result<Instruction, Miss> {
        let mut it = self.it_state(start);
        let mut reader = Reader::new(self, start);
        let mut instruction = reader.next(&mut it)?;
        if reader.zeros > 0
            && check != OpcodeCheck::Off
            && reader.zeros + self.zeros_before(start) >= MAX_ZEROS
        {
            instruction.kind = Kind::Undefined;
        }
        Ok(instruction)
    }

    /// The opcode at `at`, in the form that [`Code::opcode`] returns.
    ///
    /// [`Code::opcode`]: tracewright_base::Code::opcode
    pub(crate) fn opcode(self, at: u64) -> Option<u32> {
        let mut bytes = [0; MAX_INSTRUCTION_LEN];
        let read = self.image.read(self.view, at, self.isa.address_mask(), &mut bytes);
        match (self.isa, bytes.get(..read)?) {
            (Isa::T32 | Isa::ThumbEe, &[a, b, ref rest @ ..]) => {
                let first = u16::from_le_bytes([a, b]);
                if !t32::is_wide(first) {
                    return Some(first.into());
                }
                let second = u16::from_le_bytes(*rest.first_chunk()?);
                Some(u32::from(first) << 16 | u32::from(second))
            }
            (Isa::Rv32 | Isa::Rv64, bytes) => riscv(bytes),
            (Isa::T32 | Isa::ThumbEe | Isa::Jazelle, _) => None,
            (Isa::A32 | Isa::A64, bytes) => Some(u32::from_le_bytes(*bytes.first_chunk()?)),
        }
    }

    /// The IT block around `pc`, if the code before it has one. It is decoded from memory and not
    /// passed along the walk, so that an address has the same instruction whichever path leads to
    /// it.
    fn it_state(self, pc: u64) -> ItState {
        // An IT instruction and three of its four instructions, 4 bytes each, can be before `pc`.
        const MAX_DISTANCE: u64 = 2 + 3 * 4;
        if !matches!(self.isa, Isa::T32 | Isa::ThumbEe) {
            return ItState::default();
        }
        for back in (2..=MAX_DISTANCE).step_by(2) {
            let at = self.before(pc, back);
            match self.halfword(at) {
                // IT. Where the low four bits are 0, it is a hint.
                Some(half @ 0xbf00..=0xbfff) if half & 0xf != 0 && self.begins_instruction(at) => {}
                Some(_) => continue,
                None => break,
            }
            let mut it = ItState::default();
            let mut reader = Reader::new(self, at);
            while reader.at != pc && self.distance(reader.at, pc) <= MAX_DISTANCE {
                if reader.next(&mut it).is_err() {
                    break;
                }
            }
            if reader.at == pc {
                return it;
            }
        }
        ItState::default()
    }

    /// Whether an instruction begins at `at`, and not the second half of a 4-byte one. An
    /// instruction ends with the last halfword before `at` that cannot begin a 4-byte instruction.
    /// All halfwords between that one and `at` can begin one, so they are the halves of 4-byte
    /// instructions: their number is even if an instruction begins at `at`.
    fn begins_instruction(self, at: u64) -> bool {
        const MAX_DISTANCE: u64 = 64;
        let begins_long =
            |back| self.halfword(self.before(at, back)).is_some_and(|h| h >> 11 >= 0b11101);
        let long = (2..=MAX_DISTANCE).step_by(2).take_while(|&back| begins_long(back)).count();
        long % 2 == 0
    }

    /// The number of bytes of zeros right before `at`, up to [`MAX_ZEROS`].
    #[cold]
    fn zeros_before(self, at: u64) -> u32 {
        let is_zero = |&back: &u32| self.halfword(self.before(at, back.into())) == Some(0);
        2 * (2..=MAX_ZEROS).step_by(2).take_while(is_zero).count() as u32
    }

    fn before(self, at: u64, back: u64) -> u64 {
        at.wrapping_sub(back) & self.isa.address_mask()
    }

    fn distance(self, from: u64, to: u64) -> u64 {
        to.wrapping_sub(from) & self.isa.address_mask()
    }

    fn halfword(self, at: u64) -> Option<u16> {
        let mut bytes = [0; 2];
        let read = self.image.read(self.view, at, self.isa.address_mask(), &mut bytes);
        (read == bytes.len()).then(|| u16::from_le_bytes(bytes))
    }
}

/// Reads one instruction after another.
struct Reader<'a, I> {
    memory: Memory<'a, I>,
    at: u64,
    /// Bytes from `at` on, possibly not all of them.
    run: &'a [u8],
    /// The effect of the instruction before `at`.
    upper: Upper,
    /// A32 and T32: the number of bytes of zeros before `at`, in whole instructions.
    zeros: u32,
}

impl<I> Clone for Reader<'_, I> {
    fn clone(&self) -> Self {
        let Reader { memory, at, run, upper, zeros } = *self;
        Reader { memory, at, run, upper, zeros }
    }
}

impl<'a, I: ReadCode> Reader<'a, I> {
    fn new(memory: Memory<'a, I>, at: u64) -> Self {
        Reader { memory, at, run: &[], upper: Upper::default(), zeros: 0 }
    }

    /// Reads more bytes where there are too few for an instruction.
    #[inline]
    fn refill(&mut self) {
        if self.run.len() < MAX_INSTRUCTION_LEN {
            let Memory { image, view, isa, .. } = self.memory;
            let run = image.run(view, self.at);
            // Bytes past the top of the address space do not follow.
            let to_top = isa.address_mask() - self.at;
            let to_top = usize::try_from(to_top).unwrap_or(usize::MAX).saturating_add(1);
            self.run = run.get(..to_top).unwrap_or(run);
        }
    }

    /// Takes A64 instructions that are plain, at most `most`. Their number and the last one; `None`
    /// where there are none.
    #[inline]
    fn plain(&mut self, most: u32) -> Option<(u32, Instruction)> {
        self.refill();
        let (opcodes, _) = self.run.as_chunks();
        let opcodes = opcodes.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let count = opcodes.clone().take(most as usize).take_while(|&o| a64::is_plain(o)).count();
        let last = opcodes.clone().nth(count.checked_sub(1)?)?;
        self.run = self.run.get(count * 4..)?;
        let bytes = count as u64 * 4;
        self.at = self.at.wrapping_add(bytes) & self.memory.isa.address_mask();
        Some((count as u32, a64::classify(last, self.at.wrapping_sub(4))))
    }

    fn next(&mut self, it: &mut ItState) -> Result<Instruction, Miss> {
        let Memory { image, view, isa, .. } = self.memory;
        let mask = isa.address_mask();
        self.refill();
        let mut across = [0; MAX_INSTRUCTION_LEN];
        let bytes = match self.run.get(..MAX_INSTRUCTION_LEN) {
            Some(bytes) => bytes,
            None => {
                let len = image.read(view, self.at, mask, &mut across);
                across.get(..len).unwrap_or_default()
            }
        };
        let known = bytes.len() as u64;
        let before = *it;
        let standard = match isa {
            Isa::Rv32 | Isa::Rv64 => match riscv(bytes) {
                Some(opcode) => Some(self.riscv(opcode)?),
                None => None,
            },
            _ => classify(isa, bytes, self.at, it),
        };
        let own = image.classifier().and_then(|classifier| self.own(classifier, before));
        if own.is_some() {
            self.upper = Upper::default();
        }
        let Some(instruction) = own.or(standard).filter(|i| i.size > 0) else {
            let readable = if known < MAX_INSTRUCTION_LEN as u64 { known } else { 0 };
            return Err(Miss { address: self.at.wrapping_add(readable) & mask });
        };
        if matches!(isa, Isa::A32 | Isa::T32) {
            let is_zero = bytes.iter().take(instruction.size.into()).all(|&byte| byte == 0);
            self.zeros = if is_zero { self.zeros + u32::from(instruction.size) } else { 0 };
        }
        self.at = self.at.wrapping_add(u64::from(instruction.size)) & mask;
        self.run = self.run.get(usize::from(instruction.size)..).unwrap_or_default();
        Ok(instruction)
    }

    /// The instruction at `at`, where `classifier` knows it. An IT block makes it conditional.
    #[cold]
    fn own(&self, classifier: &dyn Classify, it: ItState) -> Option<Instruction> {
        let Memory { image, view, isa, .. } = self.memory;
        let mut bytes = [0; MAX_CLASSIFIED];
        let known = image.read(view, self.at, isa.address_mask(), &mut bytes);
        let mut own = classifier.classify(isa, self.at, bytes.get(..known)?)?;
        let size = usize::from(own.size);
        own.conditional |= matches!(isa, Isa::T32 | Isa::ThumbEe) && it.conditional();
        let fits = size <= known && u64::from(own.size).is_multiple_of(isa.alignment());
        (fits && size > 0).then_some(own)
    }

    /// Whether the next instruction is a jump whose target the last instruction determines.
    fn completes_pair(&self) -> bool {
        if self.upper.is_none() {
            return false;
        }
        let next = self.clone().next(&mut ItState::default());
        next.is_ok_and(|next| next.kind == Kind::Indirect && next.target.is_some())
    }

    /// The RISC-V instruction at `at`. The instruction before it and the jump table may determine
    /// its target.
    fn riscv(&mut self, opcode: u32) -> Result<Instruction, Miss> {
        let Memory { isa, riscv, .. } = self.memory;
        if riscv.has_custom()
            && let Some(instruction) = self.custom()?
        {
            self.upper = Upper::default();
            return Ok(instruction);
        }
        let instruction = self.memory.standard(opcode, self.at, self.upper);
        self.upper = Upper::after(isa, opcode, self.at);
        Ok(instruction)
    }

    /// The instruction at `at` if it is a custom one of the processor.
    fn custom(&self) -> Result<Option<Instruction>, Miss> {
        let Memory { image, view, isa, riscv } = self.memory;
        let mut bytes = [0; MAX_CUSTOM_LEN];
        let known = image.read(view, self.at, isa.address_mask(), &mut bytes);
        let found = riscv.custom(isa, u64::from_le_bytes(bytes), self.at);
        match found.filter(|found| usize::from(found.size) > known) {
            Some(_) => {
                let address = self.at.wrapping_add(known as u64) & isa.address_mask();
                Err(Miss { address })
            }
            None => Ok(found),
        }
    }
}

impl<I: ReadCode> Memory<'_, I> {
    /// The instruction that `opcode` is at `address`, after an instruction with the effect `upper`.
    /// Custom opcodes are included.
    pub(crate) fn classify(self, opcode: u32, address: u64, upper: Upper) -> Instruction {
        match self.riscv.custom(self.isa, opcode.into(), address) {
            Some(instruction) => instruction,
            None => self.standard(opcode, address, upper),
        }
    }

    fn standard(self, opcode: u32, address: u64, upper: Upper) -> Instruction {
        let mut instruction = rv::standard(self.isa, opcode, address, self.riscv.zcm);
        if instruction.target.is_none() {
            instruction.target = match instruction.kind {
                Kind::Indirect => upper.target(self.isa, opcode),
                Kind::Branch => rv::table_index(opcode).and_then(|index| self.table_entry(index)),
                _ => None,
            };
        }
        instruction
    }

    /// The target of `index` in the jump table of Zcmt.
    fn table_entry(self, index: u8) -> Option<u64> {
        let Memory { image, view, isa, riscv } = self;
        let mask = isa.address_mask();
        let size = if isa == Isa::Rv32 { 4 } else { 8 };
        let at = riscv.jump_table?.wrapping_add(u64::from(index) * size) & mask;
        let mut bytes = [0; 8];
        let read = image.read(view, at, mask, bytes.get_mut(..size as usize)?);
        (read as u64 == size).then(|| u64::from_le_bytes(bytes) & mask & !1)
    }
}
