//! The executions that a branch list describes, followed through the program files.

use std::sync::Arc;

use tracewright_base::{Code, End, Isa, Kind, Pc, Space, Waypoints};
use tracewright_capture::perf::{BinaryKind, ListedProgram, Sequence};
use tracewright_image::{Cache, CacheOptions, Image};

use crate::branch_lists::Branches;
use crate::profile::{
    Branch, BranchCount, Filter, Listed, ModuleProfile, Profile, Target, Trace, add,
};

/// EM_ARM and EM_AARCH64.
const ARM: u16 = 40;
const AARCH64: u16 = 183;

/// What was followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Sequences.
    pub sequences: u64,
    /// Those that end before their last branch, because the program file has no code there.
    pub incomplete: u64,
    /// Those of program files that were not found.
    pub missing: u64,
}

impl Profile {
    /// Adds the executions that the sequences of `program` describe. The targets of indirect
    /// branches are not in a branch list.
    pub fn add_listed(&mut self, program: &ListedProgram, filter: &Filter) -> Replayed {
        let mut done = Replayed::default();
        let kernel = program.binary.kind != BinaryKind::Program;
        if filter.kernel.is_some_and(|selected| selected != kernel) {
            return done;
        }
        let key = (program.file.path.clone(), program.file.build_id.clone());
        let mut own = ModuleProfile { file: program.file.clone(), ..ModuleProfile::default() };
        let (mut instructions, mut saturated) = (0, false);
        let isa = match program.machine {
            Some(AARCH64) => Some(Isa::A64),
            Some(ARM) => Some(Isa::A32),
            _ => None,
        };
        let code = program.code.as_ref().zip(isa);
        let mut walk = code.map(|(image, isa)| Walk {
            image: Arc::clone(image),
            cache: Cache::new(Arc::clone(image), Waypoints::default(), CacheOptions::default()),
            isa,
        });
        for sequence in &program.binary.sequences {
            done.sequences += 1;
            let address = sequence.address.wrapping_sub(program.bias);
            let branches = Branches { bits: sequence.bits.clone(), len: sequence.len };
            let sum = own.lists.entry(Listed { address, branches }).or_default();
            add(sum, sequence.count, &mut saturated);
            match &mut walk {
                Some(walk) => {
                    let all = walk.follow(address, sequence, &mut own, &mut |count, n| {
                        add(&mut instructions, count.saturating_mul(n), &mut saturated);
                    });
                    done.incomplete += u64::from(!all);
                }
                None => done.missing += 1,
            }
        }
        let modules = [(key, own)].into();
        self.merge(Profile { modules, instructions, saturated, ..Profile::default() });
        done
    }
}

/// A walk through the code of a program file.
struct Walk {
    image: Arc<Image>,
    cache: Cache,
    /// The instruction set of addresses without bit 0.
    isa: Isa,
}

impl Walk {
    /// Adds the executions of one sequence. Returns whether all of its waypoints were found.
    fn follow(
        &mut self,
        address: u64,
        sequence: &Sequence,
        own: &mut ModuleProfile,
        executed: &mut dyn FnMut(u64, u64),
    ) -> bool {
        let t32 = self.isa == Isa::A32 && address & 1 != 0;
        let isa = if t32 { Isa::T32 } else { self.isa };
        let mut pc = Pc { address: address & !1, isa, space: Space::ANY };
        let count = sequence.count;
        let (mut from, mut start) = (Target::Unknown, pc.address);
        let mut last = None;
        let mut saturated = false;
        let mut add = |sum: &mut u64| add(sum, count, &mut saturated);
        for n in 0..sequence.len {
            let taken = sequence.bits.get(n as usize / 8).is_some_and(|b| b >> (n % 8) & 1 != 0);
            // A block that is longer than the limit continues.
            let (first, mut size) = (pc.address, 0u32);
            let block = loop {
                let Ok(block) = self.cache.block(pc) else { return false };
                size = size.saturating_add(block.instructions);
                match block.end {
                    End::Waypoint => break *block,
                    End::Limit if block.instructions > 0 => pc.address = block.next(),
                    _ => return false,
                }
            };
            let at = block.next().wrapping_sub(block.last.size.into());
            let branch = matches!(block.last.kind, Kind::Branch | Kind::Indirect);
            let taken = taken && branch;
            executed(count, size.into());
            let range = own.ranges.entry((first, at)).or_default();
            range.instructions = size;
            add(if taken { &mut range.taken } else { &mut range.not_taken });
            last = Some(at);
            pc.address = block.next();
            if !taken {
                continue;
            }
            let indirect = block.last.kind == Kind::Indirect;
            let to = block.last.target.filter(|_| !indirect);
            let here = |to| !self.image.run(self.image.view(Space::ANY), to).is_empty();
            let target = match to {
                None => Target::Unknown,
                Some(to) if here(to) => Target::Here(to),
                Some(to) => Target::Outside(to),
            };
            // What follows the last branch is not in the sequence.
            let followed = !indirect && n + 1 < sequence.len;
            let new = BranchCount { count: 0, indirect, followed };
            let known = own.branches.entry(Branch { from: at, to: target }).or_insert(new);
            known.followed |= followed;
            add(&mut known.count);
            add(own.traces.entry(Trace { from, start, last: at }).or_default());
            last = None;
            let Some(to) = to else { return n + 1 == sequence.len };
            (from, start) = (Target::Here(at), to);
            (pc.address, pc.isa) = (to, block.last.target_isa);
        }
        if let Some(last) = last {
            add(own.traces.entry(Trace { from, start, last }).or_default());
        }
        true
    }
}
