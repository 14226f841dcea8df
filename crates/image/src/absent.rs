//! Places where memory is missing.

use tracewright_base::{CodeSpace, Isa, Miss};

use crate::table::hash;

/// Places where not even one instruction can be read, each with the first address that is missing. Two may share a
/// room; a third takes that of the one that came first. Of a trace of which the program is not there, each address
/// is asked for again and again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Absent {
    /// [`ROOMS`] of them, or none until there is a place.
    rooms: Vec<[Place; 2]>,
}

/// One place.
#[derive(Clone, Copy, Debug)]
struct Place {
    address: u64,
    code_space: CodeSpace,
    /// How far behind it the first missing byte is.
    ahead: u32,
}

impl Place {
    const NONE: Place = Place { address: 0, code_space: CodeSpace::NONE, ahead: 0 };
}

/// As a power of two.
const ROOMS: u32 = 11;

impl Absent {
    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.rooms.fill([Place::NONE; 2]);
    }

    /// What is missing at `address` of `isa` in `code_space`, where that is known.
    #[inline]
    pub(crate) fn find(&self, address: u64, isa: Isa, code_space: CodeSpace) -> Option<Miss> {
        let room = self.rooms.get(home(address, code_space))?;
        let place =
            room.iter().find(|place| place.address == address && place.code_space == code_space)?;
        let address = address.wrapping_add(place.ahead.into()) & isa.address_mask();
        Some(Miss { address })
    }

    /// Keeps that `miss` is missing at `address`, which was not known.
    pub(crate) fn insert(&mut self, address: u64, isa: Isa, code_space: CodeSpace, miss: Miss) {
        let ahead = miss.address.wrapping_sub(address) & isa.address_mask();
        let Ok(ahead) = u32::try_from(ahead) else { return };
        if self.rooms.is_empty() {
            self.rooms = vec![[Place::NONE; 2]; 1 << ROOMS];
        }
        if let Some(room) = self.rooms.get_mut(home(address, code_space)) {
            let [newer, _] = *room;
            *room = [Place { address, code_space, ahead }, newer];
        }
    }
}

/// The room of a place.
#[inline]
fn home(address: u64, code_space: CodeSpace) -> usize {
    (hash(address, code_space) >> (u64::BITS - ROOMS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_was_put_in() {
        let mut absent = Absent::default();
        let isa = |n: u64| if n.is_multiple_of(3) { Isa::T32 } else { Isa::A64 };
        let place = |n: u64| {
            let address = n.wrapping_mul(0x9e37_79b9_7f4a_7c14) & isa(n).address_mask();
            (address, isa(n), CodeSpace::new(isa(n), n as u8 % 2))
        };
        let miss = |n: u64| {
            let (address, isa, _) = place(n);
            Miss { address: address.wrapping_add(n % 4) & isa.address_mask() }
        };
        let find = |absent: &Absent, n| {
            let (address, isa, code_space) = place(n);
            absent.find(address, isa, code_space)
        };
        assert_eq!(find(&absent, 0), None);
        for n in 0..10_000 {
            let (address, isa, code_space) = place(n);
            absent.insert(address, isa, code_space, miss(n));
            assert_eq!(find(&absent, n), Some(miss(n)));
        }
        let kept = (0..10_000).filter_map(|n| find(&absent, n).map(|found| (n, found)));
        assert!(kept.clone().all(|(n, found)| found == miss(n)));
        assert!(kept.count() > 1 << ROOMS);
        // The top of the address space has the bottom behind it.
        let (top, code_space) = (0xffff_fffe, CodeSpace::new(Isa::T32, 0));
        absent.insert(top, Isa::T32, code_space, Miss { address: 0 });
        assert_eq!(absent.find(top, Isa::T32, code_space), Some(Miss { address: 0 }));
        absent.clear();
        assert!((0..10_000).all(|n| find(&absent, n).is_none()));
    }
}
