//! Data accesses: their instruction, address and value. (7.4)

use tracewright_base::Direction;
use tracewright_isa::{Transfer as Class, With};

use super::packet::{DataAddress, Packet};
use super::{Transfer, Unit};

/// What an output depends on, so that an exception packet may remove it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tie {
    #[default]
    None,
    /// The instruction with this number: it may be cancelled. (Table 7-10, Can)
    Instruction(u32),
    /// The return from an exception with this number. (7.5.4)
    Return(u32),
    /// The branch packets of an instruction: another one may follow. (7.3.5)
    Branch(u32),
}

/// What the next data packets belong to: the data instruction that was traced last, or a stack push
/// or pop. By default it is unknown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parent {
    pub(super) by: Option<u32>,
    pub(super) class: Option<Class>,
    pub(super) exception: bool,
    pub(super) tie: Tie,
    /// Its transfers so far, the address of the last one, and whether a transfer after the first
    /// had an address of its own.
    pub(super) items: u32,
    pub(super) last: Option<u32>,
    pub(super) addressed: bool,
}

/// A transfer with what it depends on. `item`: its index among those of an LSM that loads the PC
/// first; `execution`: the number of that instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) transfer: Transfer,
    pub(super) tie: Tie,
    item: Option<u32>,
    execution: u32,
    /// The instruction is a load, or the transfer one to a core register.
    load: bool,
}

#[derive(Debug, Default)]
pub(super) struct Transfers {
    pub(super) parent: Parent,
    /// The number of parents with transfers so far.
    executions: u32,
    /// In the order in which values came.
    pub(super) items: Vec<Item>,
    /// Out-of-order placeholders that are pending, by tag.
    pending: [Vec<Item>; 4],
    /// The tag of the last packet, if it was an Out-of-order placeholder.
    tag: Option<usize>,
    /// The last packet was Out-of-order data that is ignored.
    ignored: bool,
    /// The last data address, and the number of its low bits that are known.
    address: (u32, u32),
    big_endian: bool,
}

impl Transfers {
    pub(super) fn packet(&mut self, unit: &Unit, packet: &Packet) {
        let tag = self.tag.take();
        let ignored = std::mem::take(&mut self.ignored);
        match *packet {
            Packet::Data { a, address, value } => {
                let item = self.item(unit, a, address);
                self.items.push(Item { transfer: Transfer { value, ..item.transfer }, ..item });
                self.pc_first();
            }
            Packet::NotTraced { a, address } => {
                let item = self.item(unit, a, address);
                let transfer = Transfer { not_traced: true, ..item.transfer };
                self.items.push(Item { transfer, ..item });
                self.pc_first();
            }
            Packet::Placeholder { tag: this, a, address } => {
                let item = self.item(unit, a, address);
                // The second of a 64-bit value is consecutive and has the same tag.
                let second = tag == Some(this) && !a && self.pending[this].len() == 1;
                if !second {
                    self.pending[this].clear();
                }
                let transfer = Transfer { late: true, ..item.transfer };
                self.pending[this].push(Item { transfer, ..item });
                self.tag = Some(this);
                self.pc_first();
            }
            // Without a pending placeholder it is ignored.
            Packet::OutOfOrder { tag, .. } if self.pending[tag].is_empty() => self.ignored = true,
            Packet::OutOfOrder { tag, value } => {
                let item = self.pending[tag].remove(0);
                self.items.push(Item { transfer: Transfer { value, ..item.transfer }, ..item });
            }
            Packet::StoreFailed => {
                if let Some(item) = self.items.last_mut().filter(|_| !ignored) {
                    item.transfer.failed = !item.load;
                }
            }
            Packet::Suppressed => {
                let transfer =
                    Transfer { by: self.parent.by, suppressed: true, ..Transfer::default() };
                let tie = self.parent.tie;
                self.items.push(Item { transfer, tie, item: None, execution: 0, load: false });
                // Suppression continues until the instruction has completed.
                self.parent = Parent::default();
                if unit.minor() <= 2 {
                    self.needs_sync();
                }
            }
            _ => {}
        }
    }

    /// A full data address follows. (7.7.4)
    pub(super) fn needs_sync(&mut self) {
        (self.address.1, self.big_endian) = (0, false);
    }

    /// All data of what is cancelled are discarded. (7.4.12)
    pub(super) fn discard(&mut self, tie: Tie) {
        self.items.retain(|item| item.tie != tie);
        self.pending.iter_mut().for_each(|items| items.retain(|item| item.tie != tie));
        if self.parent.tie == tie {
            self.parent = Parent::default();
        }
    }

    /// The next transfer, without its value.
    fn item(&mut self, unit: &Unit, a: bool, address: Option<DataAddress>) -> Item {
        if let Some((low, big_endian)) = address {
            let mask = (u64::MAX >> (64 - low.count)) as u32;
            self.address.0 = self.address.0 & !mask | low.bits as u32;
            self.address.1 = self.address.1.max(low.count);
            self.big_endian = big_endian.unwrap_or(self.big_endian);
        }
        let parent = &mut self.parent;
        self.executions += u32::from(parent.items == 0);
        let with = parent.class.map(|class| class.with);
        // Contiguous addresses, but for the second access of SWP. (7.4.2)
        let step = if with == Some(With::Swap) { 0 } else { 4 };
        let next = parent.last.map(|last| last.wrapping_add(step));
        let at = match address {
            Some(_) => Some(self.address.0).filter(|_| self.address.1 == 32),
            None if with == Some(With::Coprocessor) => None,
            None => next,
        };
        parent.addressed |= parent.items > 0 && a;
        let loads_pc = parent.class.is_some_and(|c| c.loads_pc && c.count > Some(1));
        let first = unit.addresses() && unit.loads_pc_first() && loads_pc;
        let transfer = Transfer {
            by: parent.by,
            address: at,
            big_endian: self.big_endian && at.is_some() && unit.minor() >= 1,
            exception: parent.exception,
            ..Transfer::default()
        };
        let item = first.then_some(parent.items);
        let stores = with == Some(With::Swap) && parent.items > 0;
        let read = parent.class.is_some_and(|class| class.direction == Direction::Read && !stores);
        let load = read || matches!(parent.tie, Tie::Return(_));
        (parent.last, parent.items) = (at, parent.items + 1);
        Item { transfer, tie: parent.tie, item, execution: self.executions, load }
    }

    /// ETMIDR bit \[16]: when all items of the LSM are read, 4 times their number is subtracted
    /// from each address other than the first.
    fn pc_first(&mut self) {
        let Parent { class, items, addressed, .. } = self.parent;
        if addressed || class.and_then(|class| class.count).map(u32::from) != Some(items) {
            return;
        }
        for item in self.items.iter_mut().chain(self.pending.iter_mut().flatten()) {
            let same = item.execution == self.executions && item.item > Some(0);
            if let (true, Some(address)) = (same, &mut item.transfer.address) {
                *address = address.wrapping_sub(4 * items);
            }
        }
    }
}
