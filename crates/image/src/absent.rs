//! Addresses at which memory is missing.

use tracewright_base::{CodeSpace, Isa, Miss};

use crate::table::hash;

/// Addresses at which no instruction can be read, each with the first missing address. It is a
/// two-way set-associative cache with first-in, first-out replacement. A trace without its program
/// asks for each address again and again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Absent {
    /// 2 to the power of [`SETS`] of them, the newer entry first. Empty until the first entry.
    sets: Vec<[Entry; 2]>,
}

/// One address.
#[derive(Clone, Copy, Debug)]
struct Entry {
    address: u64,
    code_space: CodeSpace,
    /// The distance from it to the first missing byte.
    distance: u32,
}

impl Entry {
    const NONE: Entry = Entry { address: 0, code_space: CodeSpace::NONE, distance: 0 };
}

/// The binary logarithm of the number of sets.
const SETS: u32 = 11;

impl Absent {
    /// Removes all entries.
    pub(crate) fn clear(&mut self) {
        self.sets.fill([Entry::NONE; 2]);
    }

    /// The miss at `address` of `isa` in `code_space`, if it is stored.
    #[inline]
    pub(crate) fn find(&self, address: u64, isa: Isa, code_space: CodeSpace) -> Option<Miss> {
        let set = self.sets.get(index(address, code_space))?;
        let entry =
            set.iter().find(|entry| entry.address == address && entry.code_space == code_space)?;
        let address = address.wrapping_add(entry.distance.into()) & isa.address_mask();
        Some(Miss { address })
    }

    /// Stores the `miss` at `address`, which is not stored.
    pub(crate) fn insert(&mut self, address: u64, isa: Isa, code_space: CodeSpace, miss: Miss) {
        let distance = miss.address.wrapping_sub(address) & isa.address_mask();
        let Ok(distance) = u32::try_from(distance) else { return };
        if self.sets.is_empty() {
            self.sets = vec![[Entry::NONE; 2]; 1 << SETS];
        }
        if let Some(set) = self.sets.get_mut(index(address, code_space)) {
            let [newer, _] = *set;
            *set = [Entry { address, code_space, distance }, newer];
        }
    }
}

/// The set of an address.
#[inline]
fn index(address: u64, code_space: CodeSpace) -> usize {
    (hash(address, code_space) >> (u64::BITS - SETS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_misses_equal_inserted_misses() {
        let mut absent = Absent::default();
        let isa = |n: u64| if n.is_multiple_of(3) { Isa::T32 } else { Isa::A64 };
        let key = |n: u64| {
            let address = n.wrapping_mul(0x9e37_79b9_7f4a_7c14) & isa(n).address_mask();
            (address, isa(n), CodeSpace::new(isa(n), n as u8 % 2))
        };
        let miss = |n: u64| {
            let (address, isa, _) = key(n);
            Miss { address: address.wrapping_add(n % 4) & isa.address_mask() }
        };
        let find = |absent: &Absent, n| {
            let (address, isa, code_space) = key(n);
            absent.find(address, isa, code_space)
        };
        assert_eq!(find(&absent, 0), None);
        for n in 0..10_000 {
            let (address, isa, code_space) = key(n);
            absent.insert(address, isa, code_space, miss(n));
            assert_eq!(find(&absent, n), Some(miss(n)));
        }
        let stored = (0..10_000).filter_map(|n| find(&absent, n).map(|found| (n, found)));
        assert!(stored.clone().all(|(n, found)| found == miss(n)));
        assert!(stored.count() > 1 << SETS);
        // Address 0 follows the top of the address space.
        let (top, code_space) = (0xffff_fffe, CodeSpace::new(Isa::T32, 0));
        absent.insert(top, Isa::T32, code_space, Miss { address: 0 });
        assert_eq!(absent.find(top, Isa::T32, code_space), Some(Miss { address: 0 }));
        absent.clear();
        assert!((0..10_000).all(|n| find(&absent, n).is_none()));
    }
}
