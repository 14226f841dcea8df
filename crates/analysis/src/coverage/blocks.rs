//! Coverage from blocks that were executed, in no order.

use std::collections::BTreeSet;
use std::sync::Arc;

use tracewright_base::{Code as _, Counted, Element, Kind, Last, Pc, Range, Space, Waypoints};
use tracewright_capture::gnatcov::Block;
use tracewright_decode::{Fork as _, Listener as _, Program};
use tracewright_image::{Cache, CacheOptions, Image};
use tracewright_symbols::CodeStates;

use super::ProgramCoverage;
use crate::profiler::Profiler;
use crate::program_file::ProgramFile;

/// What blocks of a program file cover.
#[derive(Clone, Debug, Default)]
pub struct BlockCoverage {
    /// What was executed, each instruction and outcome once.
    pub covered: ProgramCoverage,
    /// The number of blocks that were left out: they are not code of the program, end inside an
    /// instruction, or have an unconditional branch before their end.
    pub outside: u64,
    /// The address of the first of them.
    pub first_outside: Option<u64>,
    /// The number of blocks that an exception ended, where it is not known which of their
    /// instructions were executed: they were left out.
    pub faults: u64,
}

/// Reads the instructions of blocks.
struct Reader<'a> {
    file: &'a ProgramFile,
    states: CodeStates,
    cache: Cache,
}

impl Reader<'_> {
    /// The ranges of a block, each of which ends with a branch or with the block. `None` where the
    /// program does not have it.
    fn ranges(&mut self, block: &Block) -> Option<Vec<Range>> {
        let size = u32::from(block.size);
        // What is done, and where the range begins.
        let (mut ranges, mut done, mut begin, mut instructions) = (Vec::new(), 0u32, 0u32, 0u32);
        while done < size {
            let own = block.address.checked_add(done.into())?;
            let address = self.file.has_code(own).then(|| own.wrapping_add(self.file.bias))?;
            let pc = Pc { address, isa: self.states.at(own)?, space: Space::ANY };
            let mut last = self.cache.instruction(pc).ok()?;
            done += u32::from(last.size);
            instructions += 1;
            let is_branch = matches!(last.kind, Kind::Branch | Kind::Indirect);
            if done < size {
                match (is_branch, last.conditional) {
                    (false, _) => continue,
                    // The next instruction was executed.
                    (true, true) => {}
                    (true, false) => return None,
                }
            } else if !block.taken && !block.not_taken {
                // Its outcome is not known.
                last.conditional = false;
            }
            let taken = done >= size && (block.taken || !last.conditional);
            ranges.push(Range {
                start: block.address.wrapping_add(begin.into()).wrapping_add(self.file.bias),
                bytes: done - begin,
                instructions,
                cycles: Counted::UNKNOWN,
                last: Last::new(&last, taken),
            });
            (begin, instructions) = (done, 0);
        }
        (done == size && size > 0).then_some(ranges)
    }
}

/// A block for each of its outcomes.
fn outcomes(block: &Block) -> impl Iterator<Item = Block> {
    let both = block.taken && block.not_taken;
    let other = both.then_some(Block { taken: false, ..*block });
    [Block { not_taken: block.not_taken && !both, ..*block }].into_iter().chain(other)
}

impl ProgramCoverage {
    /// What `blocks` of `file` cover: each instruction and each outcome counts once, however often
    /// it is listed.
    pub fn of_blocks(file: &ProgramFile, blocks: &[Block]) -> BlockCoverage {
        let mut all = BlockCoverage::default();
        let Ok(image) = Image::from_elf(&file.bytes, &file.path, file.bias) else { return all };
        let image = Arc::new(image);
        let (program, options) = (Program::Image(Arc::clone(&image)), CacheOptions::default());
        let mut reader = Reader {
            file,
            states: CodeStates::of_elf(file.debug_info()),
            cache: Cache::new(image, Waypoints::default(), options),
        };
        let mut profiler = Profiler::new([program.clone()]);
        let different: BTreeSet<Block> = blocks.iter().flat_map(outcomes).collect();
        for block in different {
            if block.fault {
                all.faults += 1;
                continue;
            }
            let Some(ranges) = reader.ranges(&block) else {
                all.outside += 1;
                all.first_outside.get_or_insert(block.address);
                continue;
            };
            for range in ranges {
                profiler.element(0, 0, Element::Range(range));
            }
            profiler.element(0, 0, Element::End);
        }
        let mut covered = [ProgramCoverage::default()];
        let raw = profiler.take();
        ProgramCoverage::add(&mut covered, std::slice::from_ref(file), raw, &[(program, options)]);
        let [covered] = covered;
        all.covered = covered.once();
        all
    }

    /// The same, where each count is 1 at most.
    fn once(mut self) -> ProgramCoverage {
        self.executions.values_mut().for_each(|count| *count = (*count).min(1));
        self.branches.values_mut().flatten().for_each(|count| *count = (*count).min(1));
        self.flow.once();
        self
    }
}

#[cfg(test)]
mod tests {
    use tracewright_capture::{Capture, Dump, Form};

    use super::*;
    use crate::program_file::program_files;
    use crate::program_file::tests::elf_of;

    /// NOP; CBZ X0, 0x8010; NOP; CBZ X0, 0x8000; B 0x8000, at 0x8000.
    const CODE: [u32; 5] = [0xd503_201f, 0xb400_0060, 0xd503_201f, 0xb4ff_ffa0, 0x17ff_fffc];

    fn block(address: u64, size: u16, [taken, not_taken, fault]: [bool; 3]) -> Block {
        Block { address, size, taken, not_taken, fault }
    }

    #[test]
    fn instructions_and_outcomes_of_blocks() {
        let mut dump = Dump::new("program", 0, elf_of(&CODE));
        dump.form = Form::Elf;
        let capture = Capture { memory: vec![dump], ..Capture::default() };
        let [file] = &program_files(&capture)[..] else { panic!("a program") };
        let of = |blocks: &[Block]| {
            let found = ProgramCoverage::of_blocks(file, blocks);
            let executed: Vec<u64> = found.covered.executions.keys().copied().collect();
            assert!(found.covered.executions.values().all(|count| *count == 1));
            let branches: Vec<_> =
                found.covered.branches.iter().map(|(at, own)| (*at, *own)).collect();
            (executed, branches, found.outside, found.faults)
        };
        let none = [false; 3];
        for (blocks, want) in [
            // Both outcomes, in two entries and in one; a block that is executed again.
            (
                vec![
                    block(0x8000, 8, [true, false, false]),
                    block(0x8000, 8, [false, true, false]),
                    block(0x8000, 8, [true, false, false]),
                ],
                (vec![0x8000, 0x8004], vec![(0x8004, [1, 1])], 0, 0),
            ),
            (
                vec![block(0x8004, 4, [true, true, false])],
                (vec![0x8004], vec![(0x8004, [1, 1])], 0, 0),
            ),
            // A branch within a block was not taken; the outcome of the last one is not known.
            (
                vec![block(0x8000, 16, none)],
                (vec![0x8000, 0x8004, 0x8008, 0x800c], vec![(0x8004, [0, 1])], 0, 0),
            ),
            // Outside of the program; within an instruction; an exception; nothing.
            (vec![block(0x7ffc, 8, none)], (vec![], vec![], 1, 0)),
            (vec![block(0x8000, 6, none)], (vec![], vec![], 1, 0)),
            (vec![block(0x8000, 8, [false, false, true])], (vec![], vec![], 0, 1)),
            (vec![block(0x8000, 0, none)], (vec![], vec![], 1, 0)),
            // An unconditional branch is at the end only.
            (vec![block(0x8010, 4, none)], (vec![0x8010], vec![], 0, 0)),
            (vec![block(0x8010, 8, none)], (vec![], vec![], 1, 0)),
        ] {
            assert_eq!(of(&blocks), want, "{blocks:x?}");
        }
    }
}
