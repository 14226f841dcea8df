//! The memory that the unit writes to, and what can go wrong there.

use super::controls::{Owner, Security};

/// A stage of translation that reports a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Stage 1.
    Stage1,
    /// Stage 2.
    Stage2,
    /// The granule protection check.
    Granule,
}

/// A fault of a write: an MMU fault or an Alignment fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The stage that reports it.
    pub stage: Stage,
    /// The fault status code. (Arm ARM, D24.4.7, FSC)
    pub code: u8,
}

impl Fault {
    /// A translation fault of stage 1, level 3.
    pub const TRANSLATION: Fault = Fault { stage: Stage::Stage1, code: 0x07 };
    /// An Alignment fault.
    pub const ALIGNMENT: Fault = Fault { stage: Stage::Stage1, code: 0x21 };

    /// A granule protection fault that is reported as an abort of stage 1 or 2.
    pub const fn is_granule_protection(self) -> bool {
        matches!(self.code, 0x22..=0x28)
    }

    /// An External abort on a table walk, which is an MMU fault.
    pub const fn is_external_abort(self) -> bool {
        matches!(self.code, 0x10..=0x17)
    }
}

/// An External abort of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abort;

/// The addresses that the pointers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressSpace {
    /// Virtual addresses of the owner's translation regime.
    Virtual(Option<Owner>),
    /// Intermediate physical addresses in the owning Security state.
    Intermediate(Security),
    /// Physical addresses in the owning Security state.
    Physical(Security),
    /// Physical addresses of the space in TRBMAR_EL1.PAS: External mode.
    External(u8),
}

/// One byte that the unit writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    /// The address.
    pub address: u64,
    /// The byte.
    pub byte: u8,
    /// What the address is.
    pub space: AddressSpace,
    /// The access is Tag Checked. The unit makes Unchecked accesses. (RYGMLW)
    pub tag_checked: bool,
}

/// The memory of a trace buffer.
pub trait Memory {
    /// Translates an address when the unit accepts a byte for it.
    ///
    /// # Errors
    /// [`Fault`] where the unit cannot write there.
    fn check(&mut self, address: u64) -> Result<(), Fault>;

    /// Writes a byte.
    ///
    /// # Errors
    /// [`Abort`] where the memory system responds with an error.
    fn store(&mut self, store: Store) -> Result<(), Abort>;
}

/// Memory from one address on, where every other address faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes {
    start: u64,
    bytes: Vec<u8>,
}

impl Bytes {
    /// `len` bytes of zeros at `start`.
    pub fn new(start: u64, len: usize) -> Bytes {
        Bytes { start, bytes: vec![0; len] }
    }

    /// `len` bytes from `address` on; fewer where the memory ends.
    pub fn at(&self, address: u64, len: usize) -> &[u8] {
        let from = usize::try_from(address.wrapping_sub(self.start)).unwrap_or(usize::MAX);
        let rest = self.bytes.get(from..).unwrap_or_default();
        rest.get(..len).unwrap_or(rest)
    }

    /// Sets `len` bytes from `address` on to zero.
    pub fn clear(&mut self, address: u64, len: usize) {
        (0..len as u64).for_each(|n| {
            if let Some(slot) = self.slot(address.wrapping_add(n)) {
                *slot = 0;
            }
        });
    }

    /// All bytes.
    pub fn all(&self) -> &[u8] {
        &self.bytes
    }

    fn slot(&mut self, address: u64) -> Option<&mut u8> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        self.bytes.get_mut(at)
    }
}

impl Memory for Bytes {
    fn check(&mut self, address: u64) -> Result<(), Fault> {
        self.slot(address).map(|_| ()).ok_or(Fault::TRANSLATION)
    }

    fn store(&mut self, store: Store) -> Result<(), Abort> {
        let slot = self.slot(store.address).ok_or(Abort)?;
        *slot = store.byte;
        Ok(())
    }
}
