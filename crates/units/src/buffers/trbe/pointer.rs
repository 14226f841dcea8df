//! Which values the write pointer and the Trigger Counter may have. (Arm ARM, D6.2.2)

/// The three pointers of the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pointers {
    /// The Base pointer: the first byte.
    pub base: u64,
    /// The Limit pointer: the byte after the last one.
    pub limit: u64,
    /// The write pointer: the next byte to write.
    pub current: u64,
}

impl Pointers {
    /// Whether the write pointer is outside of the buffer. (RMSPSD)
    pub const fn is_out_of_range(self) -> bool {
        let Pointers { base, limit, current } = self;
        current < base
            || current >= limit
            || current >> 56 != base >> 56
            || current >> 56 != limit >> 56
    }
}

/// What a misaligned value is, by where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A multiple of the alignment.
    Aligned,
    /// Read from the register when the unit was disabled and all was complete. (RHXZZM)
    Restart,
    /// Read likewise, after an External abort, an Alignment fault or an SError exception. (RXZWXQ)
    Fault,
    /// None of these.
    Misaligned,
}

/// The values that software has read from a register and may write back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Issued {
    restart: Vec<u64>,
    fault: Vec<u64>,
}

/// Values that are remembered of each kind. A context that is switched out more switches ago has
/// to have an aligned value.
const REMEMBERED: usize = 256;

impl Issued {
    /// Records that software read `value`, after a fault if `faulted`.
    pub(super) fn issue(&mut self, value: u64, faulted: bool) {
        let list = if faulted { &mut self.fault } else { &mut self.restart };
        if list.last() == Some(&value) {
            return;
        }
        if list.len() == REMEMBERED {
            list.remove(0);
        }
        list.push(value);
    }

    /// Whether `value` is a fault value and not a restart value.
    pub(super) fn is_fault(&self, value: u64) -> bool {
        self.fault.contains(&value) && !self.restart.contains(&value)
    }

    /// The class of `value` under an alignment in bytes, a power of two.
    pub(super) fn class(&self, value: u64, alignment: u64) -> Class {
        if self.restart.contains(&value) {
            Class::Restart
        } else if self.fault.contains(&value) {
            Class::Fault
        } else if value & (alignment - 1) == 0 {
            Class::Aligned
        } else {
            Class::Misaligned
        }
    }
}
