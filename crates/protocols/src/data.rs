//! Data accesses in an instruction trace: which instruction made them, and where. (IHI 0014, 5.7, 6.8
//! and 7.4) ETMv1, ETMv2 and ETMv3 share it.

use alloc::vec::Vec;

use tracewright_base::{Access, Direction};
use tracewright_isa::{Transfer, With};

use crate::pending::{Held, Of};

/// What a packet says of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    /// Place of the packet.
    pub(crate) at: u64,
    /// It is its instruction's first access.
    pub(crate) first: bool,
    /// Its address, if the packet has one: `Some(None)` where not all of its bits are known.
    pub(crate) address: Option<Option<u32>>,
    /// Data are known to be big-endian.
    pub(crate) big_endian: bool,
    /// There are no instructions in the trace: only the packets say which accesses go together.
    pub(crate) data_only: bool,
    /// A load multiple that has the PC reads it first, and the trace has addresses.
    pub(crate) pc_first: bool,
}

/// Who makes the data that follow, and values that come late.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Data {
    owner: Owner,
    /// Placeholders without their value, by tag; a 64-bit access has two of them.
    late: [[Option<Late>; 2]; 4],
    /// The tag of the packet before, if that was a placeholder.
    placed: Option<u8>,
    /// Accesses of a load multiple that may have read the PC first.
    unsorted: Vec<(u64, Access)>,
}

/// The most recent data instruction, or what takes its place. The default is nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Owner {
    /// Address of the instruction.
    by: Option<u32>,
    transfer: Option<Transfer>,
    /// The stack push or pop of an exception.
    exception: Option<Direction>,
    /// It is the instruction that an exception could still cancel, or the return that one could.
    of: Option<Of>,
    /// An I-sync named it; it has not been traced.
    named_only: bool,
    /// The trace says itself in which order it loads.
    ordered: bool,
    /// Transfers so far.
    seen: u8,
    /// The address of the last transfer.
    address: Option<u32>,
}

/// Where the accesses of a load multiple are that may have read the PC first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// The first has the highest address, and the rest follow on from the lowest.
    PcFirst,
    /// Each follows on from the one before.
    Rising,
    /// The trace was cut short: only the first is known.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Late {
    access: Access,
    /// Its instruction may still be cancelled.
    of: Of,
}

impl Data {
    /// The data instruction at `by` was traced, or named by an I-sync only.
    pub(crate) fn instruction(
        &mut self,
        by: u32,
        transfer: Transfer,
        named_only: bool,
        held: &mut Held,
    ) {
        let of = Some(if named_only { Of::Nothing } else { Of::Last });
        let owner =
            Owner { by: Some(by), transfer: Some(transfer), of, named_only, ..Owner::default() };
        self.begin(owner, held);
    }

    /// An exception begins to push, or pops, the registers on the stack.
    pub(crate) fn exception(&mut self, direction: Direction, of: Of, held: &mut Held) {
        let owner = Owner { exception: Some(direction), of: Some(of), ..Owner::default() };
        self.begin(owner, held);
    }

    fn begin(&mut self, owner: Owner, held: &mut Held) {
        self.sort(held);
        self.owner = owner;
    }

    /// A load or store multiple goes on after `done` transfers.
    pub(crate) fn resumed(&mut self, done: u8) {
        self.owner.seen = done;
    }

    /// An instruction was traced: nothing before it can be cancelled.
    pub(crate) fn completed(&mut self, held: &mut Held) {
        if self.owner.named_only {
            self.begin(Owner::default(), held);
        }
        if self.owner.of.is_some() {
            self.owner.of = Some(Of::Nothing);
        }
        for late in self.late.iter_mut().flatten().flatten() {
            late.of = Of::Nothing;
        }
    }

    /// What belongs to `of` was withdrawn.
    pub(crate) fn cancel(&mut self, of: Of) {
        if self.owner.of == Some(of) {
            self.owner = Owner::default();
            self.unsorted.clear();
        }
        for pending in self.late.iter_mut().flatten() {
            if pending.is_some_and(|late| late.of == of) {
                *pending = None;
            }
        }
    }

    /// Tracing stops, or starts again after a gap. `lost`: values that were to come will not.
    pub(crate) fn restart(&mut self, at: u64, lost: bool, held: &mut Held) {
        self.begin(Owner::default(), held);
        self.placed = None;
        if lost {
            for tag in 0..self.late.len() {
                self.lose(at, tag, held);
            }
        }
    }

    /// The trace is cut short: of a load multiple that may have read the PC first, only the first access is
    /// known.
    pub(crate) fn cut_short(&mut self, held: &mut Held) {
        if !self.unsorted.is_empty() {
            self.sort_as(Order::Unknown, held);
        }
    }

    /// A packet of another kind: a second placeholder of a 64-bit access can no longer follow.
    #[inline]
    pub(crate) const fn another(&mut self) {
        self.placed = None;
    }

    /// A data access in its place.
    pub(crate) fn access(&mut self, said: Said, value: Option<u32>, held: &mut Held) {
        let access = self.next(&said);
        let access = match value {
            Some(value) => access.of(value.into()),
            None => access,
        };
        self.push(&said, access, held);
    }

    /// An access whose value the trace unit did not trace.
    pub(crate) fn not_traced(&mut self, said: Said, held: &mut Held) {
        let mut access = self.next(&said);
        access.flags |= Access::VALUE_NOT_TRACED;
        self.push(&said, access, held);
    }

    /// The trace unit dropped accesses from here to the end of the instruction.
    pub(crate) fn suppressed(&mut self, at: u64, held: &mut Held) {
        let access = Access::new(self.owner.direction(), 0, Access::SUPPRESSED);
        let access = self.owner.by.map_or(access, |by| access.made_by(by.into()));
        self.sort(held);
        held.data(at, access, self.owner.of.unwrap_or(Of::Nothing));
    }

    /// An access whose value comes later, with `tag`.
    pub(crate) fn placeholder(&mut self, said: Said, tag: u8, held: &mut Held) {
        let second = self.placed == Some(tag) && !said.first;
        let mut access = self.next(&said);
        access.flags |= Access::LATE;
        let late = Some(Late { access, of: self.owner.of.unwrap_or(Of::Nothing) });
        match self.late.get_mut(usize::from(tag)) {
            Some([Some(_), half @ None]) if second => *half = late,
            Some(_) => {
                self.lose(said.at, usize::from(tag), held);
                if let Some(pending) = self.late.get_mut(usize::from(tag)) {
                    *pending = [late, None];
                }
            }
            None => {}
        }
        self.placed = Some(tag);
    }

    /// The value of a placeholder. One that nobody waits for is ignored.
    pub(crate) fn late(&mut self, at: u64, tag: u8, value: Option<u32>, held: &mut Held) {
        let Some(pending) = self.late.get_mut(usize::from(tag)) else { return };
        let Some(Late { access, of }) = pending[0].take() else { return };
        pending.swap(0, 1);
        let access = match value {
            Some(value) => access.of(value.into()),
            None => access,
        };
        held.data(at, access, of);
    }

    /// The value of the tag's placeholders will not come: they are said without it.
    fn lose(&mut self, at: u64, tag: usize, held: &mut Held) {
        let Some(pending) = self.late.get_mut(tag) else { return };
        for late in pending.iter_mut().filter_map(Option::take) {
            held.data(at, late.access, late.of);
        }
    }

    /// The next transfer of the owner, without its value.
    fn next(&mut self, said: &Said) -> Access {
        let owner = &mut self.owner;
        let with = owner.transfer.map(|transfer| transfer.with);
        let step = match with {
            // ETMv3.0 does not say again where SWP writes.
            Some(With::Swap) => 0,
            _ => 4,
        };
        let known = match said.address {
            Some(address) => address,
            None if with == Some(With::Coprocessor) => None,
            // Without an owner only the data-only mode says what goes together.
            None if owner.seen == 0 && owner.address.is_none() => None,
            None => owner.address.map(|address| address.wrapping_add(step)),
        };
        let size = match (owner.transfer, owner.exception) {
            (Some(transfer), _) => transfer.size,
            (None, Some(_)) => 4,
            (None, None) => 0,
        };
        let mut access = Access::new(owner.direction(), size, 0);
        if let Some(address) = known {
            access = access.at(address.into());
            if said.big_endian {
                access.flags |= Access::BIG_ENDIAN;
            }
        }
        if let Some(by) = owner.by {
            access = access.made_by(by.into());
        }
        if with == Some(With::Coprocessor) {
            access.flags |= Access::COPROCESSOR;
        }
        if owner.exception.is_some() {
            access.flags |= Access::EXCEPTION;
        }
        let starts = if said.data_only { said.first } else { owner.seen == 0 };
        if !starts {
            access.flags |= Access::CONTINUED;
        }
        owner.address = known;
        owner.seen = owner.seen.saturating_add(1);
        access
    }

    /// Says an access, or keeps it until it is known what the load multiple read first.
    fn push(&mut self, said: &Said, access: Access, held: &mut Held) {
        let of = self.owner.of.unwrap_or(Of::Nothing);
        if said.first && self.owner.seen > 1 {
            self.owner.ordered = true;
            self.sort(held);
        }
        if !(said.pc_first && self.owner.pc_first()) {
            held.data(said.at, access, of);
            return;
        }
        self.unsorted.push((said.at, access));
        if Some(self.owner.seen) == self.owner.transfer.and_then(|transfer| transfer.count) {
            self.sort_as(Order::PcFirst, held);
        }
    }

    /// No more comes of a load multiple. What came are its last transfers, so the PC, which is
    /// read first, is not among them.
    fn sort(&mut self, held: &mut Held) {
        if !self.unsorted.is_empty() {
            self.sort_as(Order::Rising, held);
        }
    }

    /// Says the accesses of a load multiple.
    fn sort_as(&mut self, order: Order, held: &mut Held) {
        let of = self.owner.of.unwrap_or(Of::Nothing);
        let back = 4 * self.unsorted.len() as u64;
        for (k, (at, access)) in self.unsorted.drain(..).enumerate() {
            let access = match (access.address(), order) {
                (Some(address), Order::PcFirst) if k > 0 => {
                    access.at(u64::from((address as u32).wrapping_sub(back as u32)))
                }
                (Some(_), Order::Unknown) if k > 0 => access.nowhere(),
                _ => access,
            };
            held.data(at, access, of);
        }
    }
}

impl Owner {
    fn direction(&self) -> Direction {
        match (self.transfer, self.exception) {
            (_, Some(direction)) => direction,
            (Some(Transfer { with: With::Swap, .. }), _) if self.seen > 0 => Direction::Write,
            (Some(transfer), _) => transfer.direction,
            (None, None) => Direction::Unknown,
        }
    }

    /// The core reads the new PC before the rest, and the trace does not say so.
    fn pc_first(&self) -> bool {
        !self.ordered && self.transfer.is_some_and(|t| t.loads_pc && t.count.is_some_and(|n| n > 1))
    }
}
