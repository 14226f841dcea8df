//! Data accesses in an instruction trace: their addresses and the instruction that made each, for
//! ETMv1, ETMv2 and ETMv3. (IHI 0014, 5.7, 6.8 and 7.4)

use alloc::vec::Vec;

use tracewright_base::{Access, Direction};
use tracewright_isa::{Transfer, With};

use crate::pending::{Pending, Withdrawal};

/// The fields of a data packet that describe its access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataPacket {
    /// Offset of the packet.
    pub(crate) at: u64,
    /// It is the first access of its instruction.
    pub(crate) first: bool,
    /// The address, if the packet has one. `Some(None)`: not all of its bits are known.
    pub(crate) address: Option<Option<u32>>,
    /// Data are known to be big-endian.
    pub(crate) big_endian: bool,
    /// The trace has no instructions: only `first` separates the accesses of two instructions.
    pub(crate) data_only: bool,
    /// The core reads the PC first in a load multiple that loads it, and addresses are traced.
    pub(crate) pc_first: bool,
}

/// The instruction that makes the next accesses, and the accesses whose values have not come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Data {
    owner: Owner,
    /// Placeholders that wait for their value, by tag. A 64-bit access has two.
    late: [[Option<Late>; 2]; 4],
    /// The tag of the previous packet, if that was a placeholder.
    last_tag: Option<u8>,
    /// The previous packet was a value without a placeholder.
    ignored: bool,
    /// Accesses of a load multiple that may have read the PC first.
    unsorted: Vec<Unsorted>,
}

/// An access of a load multiple that may have read the PC first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unsorted {
    /// Offset of the packet that gave the value.
    at: u64,
    access: Access,
    /// It is the first access.
    first: bool,
}

/// The source of the next accesses: the most recent data instruction or exception. The default is
/// unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Owner {
    /// Address of the instruction.
    by: Option<u32>,
    transfer: Option<Transfer>,
    /// Direction of the accesses if they are the stack push or pop of an exception.
    exception: Option<Direction>,
    /// What withdraws its accesses; `None` where there is no owner.
    withdrawal: Option<Withdrawal>,
    /// The instruction is known from the address of an I-sync or TFO packet, and has no atom yet.
    untraced: bool,
    /// The trace itself gives the order of the transfers.
    ordered: bool,
    /// Transfers so far.
    seen: u8,
    /// The address of the last transfer.
    address: Option<u32>,
}

/// The addresses of the accesses of a load multiple that may have read the PC first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// The first access has the highest address; the others rise from the lowest.
    PcFirst,
    /// Each address follows the one before.
    Rising,
    /// The trace was cut short: only the first address is known.
    Unknown,
}

/// An access whose value has not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Late {
    access: Access,
    withdrawal: Withdrawal,
    /// It belongs to the load multiple whose accesses are not sorted, and is the first of them or
    /// not.
    unsorted: Option<bool>,
}

impl Data {
    /// The next accesses are those of the data instruction at `by`. `untraced`: only the address of
    /// a synchronisation packet states that this instruction runs.
    pub(crate) fn instruction(
        &mut self,
        by: u32,
        transfer: Transfer,
        untraced: bool,
        pending: &mut Pending,
    ) {
        let withdrawal = Some(if untraced { Withdrawal::Never } else { Withdrawal::Instruction });
        let owner = Owner {
            by: Some(by),
            transfer: Some(transfer),
            withdrawal,
            untraced,
            ..Owner::default()
        };
        self.begin(owner, pending);
    }

    /// The next accesses are the stack push (`Write`) or pop (`Read`) of an exception.
    pub(crate) fn exception(
        &mut self,
        direction: Direction,
        withdrawal: Withdrawal,
        pending: &mut Pending,
    ) {
        let owner =
            Owner { exception: Some(direction), withdrawal: Some(withdrawal), ..Owner::default() };
        self.begin(owner, pending);
    }

    fn begin(&mut self, owner: Owner, pending: &mut Pending) {
        self.sort(pending);
        self.owner = owner;
    }

    /// The load or store multiple continues after `done` transfers.
    pub(crate) fn resumed(&mut self, done: u8) {
        self.owner.seen = done;
    }

    /// An instruction was traced, so no access before it can be withdrawn.
    pub(crate) fn completed(&mut self, pending: &mut Pending) {
        if self.owner.untraced {
            self.begin(Owner::default(), pending);
        }
        if self.owner.withdrawal.is_some() {
            self.owner.withdrawal = Some(Withdrawal::Never);
        }
        for late in self.late.iter_mut().flatten().flatten() {
            late.withdrawal = Withdrawal::Never;
        }
    }

    /// A branch packet without an exception gives the next instruction. So the data instruction
    /// that only a synchronisation packet gave is still executing.
    pub(crate) const fn confirm(&mut self) {
        self.owner.untraced = false;
    }

    /// Drops the owner and the late accesses that `withdrawal` withdraws.
    pub(crate) fn cancel(&mut self, withdrawal: Withdrawal) {
        if self.owner.withdrawal == Some(withdrawal) {
            self.owner = Owner::default();
            self.unsorted.clear();
        }
        for slot in self.late.iter_mut().flatten() {
            if slot.is_some_and(|late| late.withdrawal == withdrawal) {
                *slot = None;
            }
        }
    }

    /// Tracing stops, or starts again after a gap. `lost`: late values will not come.
    #[inline]
    pub(crate) fn restart(&mut self, at: u64, lost: bool, pending: &mut Pending) {
        self.last_tag = None;
        if self.unsorted.is_empty() && self.late.iter().flatten().all(Option::is_none) {
            self.owner = Owner::default();
        } else {
            self.restart_late(at, lost, pending);
        }
    }

    /// [`restart`](Self::restart) where accesses wait.
    #[inline(never)]
    fn restart_late(&mut self, at: u64, lost: bool, pending: &mut Pending) {
        self.begin(Owner::default(), pending);
        for late in self.late.iter_mut().flatten().flatten() {
            late.withdrawal = Withdrawal::Never;
        }
        if lost {
            for tag in 0..self.late.len() {
                self.lose(at, tag, pending);
            }
        }
    }

    /// The next accesses have no known owner.
    pub(crate) fn forget(&mut self, pending: &mut Pending) {
        self.begin(Owner::default(), pending);
    }

    /// The trace is cut short. Of a load multiple that may have read the PC first, only the first
    /// address is known.
    pub(crate) fn cut_short(&mut self, pending: &mut Pending) {
        if self.is_unsorted() {
            self.sort_as(Order::Unknown, pending);
        }
    }

    /// A packet of another kind came: the next placeholder is not the second half of a 64-bit
    /// access.
    #[inline]
    pub(crate) const fn other_packet(&mut self) {
        self.last_tag = None;
        self.ignored = false;
    }

    /// Whether the next accesses are those of a store-exclusive of a doubleword.
    pub(crate) fn stores_pair(&self) -> bool {
        let transfer = self.owner.transfer;
        transfer.is_some_and(|t| (t.with, t.count) == (With::Exclusive, Some(2)))
    }

    /// Whether the previous packet was a value that was ignored.
    pub(crate) const fn ignored(&self) -> bool {
        self.ignored
    }

    /// Takes a data access with its value, or without one where values are not traced.
    pub(crate) fn access(&mut self, packet: DataPacket, value: Option<u32>, pending: &mut Pending) {
        let access = self.next(&packet);
        let access = match value {
            Some(value) => access.of(value.into()),
            None => access,
        };
        self.push(&packet, access, pending);
    }

    /// Takes an access whose value the trace unit did not trace.
    pub(crate) fn not_traced(&mut self, packet: DataPacket, pending: &mut Pending) {
        let mut access = self.next(&packet);
        access.flags |= Access::VALUE_NOT_TRACED;
        self.push(&packet, access, pending);
    }

    /// The trace unit dropped accesses from here to the end of the instruction.
    pub(crate) fn suppressed(&mut self, at: u64, pending: &mut Pending) {
        let access = Access::new(self.owner.direction(), 0, Access::SUPPRESSED);
        let access = self.owner.by.map_or(access, |by| access.made_by(by.into()));
        self.sort(pending);
        pending.data(at, access, self.owner.withdrawal());
        self.begin(Owner::default(), pending);
    }

    /// Takes an access whose value comes later, under `tag`.
    pub(crate) fn placeholder(&mut self, packet: DataPacket, tag: u8, pending: &mut Pending) {
        let second = self.last_tag == Some(tag) && !packet.first;
        let mut access = self.next(&packet);
        access.flags |= Access::LATE;
        let unsorted = self.joins_unsorted(&packet, pending).then_some(self.owner.seen == 1);
        let late = Some(Late { access, withdrawal: self.owner.withdrawal(), unsorted });
        match self.late.get_mut(usize::from(tag)) {
            Some([Some(_), half @ None]) if second => *half = late,
            Some(_) => {
                self.lose(packet.at, usize::from(tag), pending);
                if let Some(slots) = self.late.get_mut(usize::from(tag)) {
                    *slots = [late, None];
                }
            }
            None => {}
        }
        self.last_tag = Some(tag);
        self.sort_whole(pending);
    }

    /// Takes the value of a placeholder. A value without a placeholder is ignored.
    pub(crate) fn late(&mut self, at: u64, tag: u8, value: Option<u32>, pending: &mut Pending) {
        let Some(slots) = self.late.get_mut(usize::from(tag)) else { return };
        let Some(late) = slots[0].take() else {
            self.ignored = true;
            return;
        };
        slots.swap(0, 1);
        let access = match value {
            Some(value) => late.access.of(value.into()),
            None => late.access,
        };
        self.report(at, Late { access, ..late }, pending);
    }

    /// Reports the placeholders of `tag` without a value, as their value will not come.
    fn lose(&mut self, at: u64, tag: usize, pending: &mut Pending) {
        for half in 0..2 {
            let slot = self.late.get_mut(tag).and_then(|slots| slots.get_mut(half));
            if let Some(late) = slot.and_then(Option::take) {
                self.report(at, late, pending);
            }
        }
    }

    /// Reports the access of a placeholder, or stores it with those of its load multiple.
    fn report(&mut self, at: u64, late: Late, pending: &mut Pending) {
        match late.unsorted {
            Some(first) => self.unsorted.push(Unsorted { at, access: late.access, first }),
            None => pending.data(at, late.access, late.withdrawal),
        }
    }

    /// The next transfer of the owner, without its value.
    fn next(&mut self, packet: &DataPacket) -> Access {
        let owner = &mut self.owner;
        let with = owner.transfer.map(|transfer| transfer.with);
        let step = match with {
            // ETMv3.0 does not repeat the address for the write of SWP.
            Some(With::Swap) => 0,
            _ => 4,
        };
        let known = match packet.address {
            Some(address) => address,
            None if with == Some(With::Coprocessor) => None,
            // Without an owner, only data-only mode relates an access to the one before.
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
            if packet.big_endian {
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
        let starts = if packet.data_only { packet.first } else { owner.seen == 0 };
        if !starts {
            access.flags |= Access::CONTINUED;
        }
        owner.address = known;
        owner.seen = owner.seen.saturating_add(1);
        access
    }

    /// Reports an access, or stores it until the order of the load multiple is known.
    fn push(&mut self, packet: &DataPacket, access: Access, pending: &mut Pending) {
        if !self.joins_unsorted(packet, pending) {
            pending.data(packet.at, access, self.owner.withdrawal());
            return;
        }
        self.unsorted.push(Unsorted { at: packet.at, access, first: self.owner.seen == 1 });
        self.sort_whole(pending);
    }

    /// Whether the last transfer is one of a load multiple whose order is not known. An address
    /// after the first transfer gives the order.
    fn joins_unsorted(&mut self, packet: &DataPacket, pending: &mut Pending) -> bool {
        if packet.first && self.owner.seen > 1 {
            self.owner.ordered = true;
            self.sort(pending);
        }
        packet.pc_first && self.owner.pc_first()
    }

    /// Whether accesses wait for the order of their load multiple.
    fn is_unsorted(&self) -> bool {
        let mut late = self.late.iter().flatten().flatten();
        !self.unsorted.is_empty() || late.any(|late| late.unsorted.is_some())
    }

    /// Reports the stored accesses of a load multiple that has made all of its transfers.
    fn sort_whole(&mut self, pending: &mut Pending) {
        let owner = &self.owner;
        if Some(owner.seen) == owner.transfer.and_then(|transfer| transfer.count)
            && self.is_unsorted()
        {
            self.owner.ordered = true;
            self.sort_as(Order::PcFirst, pending);
        }
    }

    /// Reports the stored accesses of a load multiple of which no more follow. They are its last
    /// transfers, so the PC, which the core reads first, is not among them.
    fn sort(&mut self, pending: &mut Pending) {
        if self.is_unsorted() {
            self.sort_as(Order::Rising, pending);
        }
    }

    /// Reports the stored accesses of a load multiple, and gives those that wait for their value
    /// their addresses.
    fn sort_as(&mut self, order: Order, pending: &mut Pending) {
        let withdrawal = self.owner.withdrawal();
        let back = 4 * u32::from(self.owner.seen);
        let sorted = |access: Access, first: bool| match (access.address(), order) {
            (Some(address), Order::PcFirst) if !first => {
                access.at(u64::from((address as u32).wrapping_sub(back)))
            }
            (Some(_), Order::Unknown) if !first => access.nowhere(),
            _ => access,
        };
        for late in self.late.iter_mut().flatten().flatten() {
            if let Some(first) = late.unsorted.take() {
                late.access = sorted(late.access, first);
            }
        }
        for Unsorted { at, access, first } in self.unsorted.drain(..) {
            pending.data(at, sorted(access, first), withdrawal);
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

    fn withdrawal(&self) -> Withdrawal {
        self.withdrawal.unwrap_or(Withdrawal::Never)
    }

    /// Whether the core may read the new PC before the rest without a sign of it in the trace.
    fn pc_first(&self) -> bool {
        !self.ordered && self.transfer.is_some_and(|t| t.loads_pc && t.count.is_some_and(|n| n > 1))
    }
}
