//! Which memory an image has.

/// Which memory: an address space, the number of changes of it, and the number of changes of the
/// memory that is common to all address spaces. With `space` = `IMAGES`, `changes` has bits \[31:0]
/// and `common` bits \[63:32] of the visible images with conditions, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MemoryId {
    pub(crate) space: u32,
    pub(crate) changes: u32,
    pub(crate) common: u32,
}

/// The number of the address space without memory of its own.
pub(crate) const NO_SPACE: u32 = u32::MAX;
/// In place of the number of an address space: the changes are the images with conditions.
pub(crate) const IMAGES: u32 = u32::MAX - 1;
/// In place of the number of an address space: code that is not of the system.
pub(crate) const OUTSIDE: u32 = u32::MAX - 2;

impl MemoryId {
    /// Three numbers that stand for the memory in files. Another reader of the same capture has the
    /// same ones.
    pub const fn numbers(self) -> [u32; 3] {
        [self.space, self.changes, self.common]
    }

    /// The memory of [`numbers`](MemoryId::numbers).
    pub const fn of_numbers([space, changes, common]: [u32; 3]) -> MemoryId {
        MemoryId { space, changes, common }
    }

    /// The memory of code that is not of the system: see [`Host`](crate::Host).
    pub(crate) const OUTSIDE: MemoryId = MemoryId { space: OUTSIDE, changes: 0, common: 0 };

    /// The memory that has the images with conditions whose bits are set.
    pub(crate) fn of_images(visible: u64) -> MemoryId {
        MemoryId { space: IMAGES, changes: visible as u32, common: (visible >> 32) as u32 }
    }

    /// The images with conditions that the memory has.
    pub(crate) fn images(self) -> Option<u64> {
        let visible = u64::from(self.common) << 32 | u64::from(self.changes);
        (self.space == IMAGES).then_some(visible)
    }
}
