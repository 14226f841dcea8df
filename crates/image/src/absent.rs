//! Places where memory is missing.

use tracewright_base::{Isa, Miss, Realm};

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
    realm: Realm,
    /// How far behind it the first missing byte is.
    ahead: u32,
}

impl Place {
    const NONE: Place = Place { address: 0, realm: Realm::NONE, ahead: 0 };
}

/// As a power of two.
const ROOMS: u32 = 11;

impl Absent {
    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.rooms.fill([Place::NONE; 2]);
    }

    /// What is missing at `address` of `isa` in `realm`, where that is known.
    #[inline]
    pub(crate) fn find(&self, address: u64, isa: Isa, realm: Realm) -> Option<Miss> {
        let room = self.rooms.get(home(address, realm))?;
        let place = room.iter().find(|place| place.address == address && place.realm == realm)?;
        let address = address.wrapping_add(place.ahead.into()) & isa.address_mask();
        Some(Miss { address })
    }

    /// Keeps that `miss` is missing at `address`, which was not known.
    pub(crate) fn insert(&mut self, address: u64, isa: Isa, realm: Realm, miss: Miss) {
        let ahead = miss.address.wrapping_sub(address) & isa.address_mask();
        let Ok(ahead) = u32::try_from(ahead) else { return };
        if self.rooms.is_empty() {
            self.rooms = vec![[Place::NONE; 2]; 1 << ROOMS];
        }
        if let Some(room) = self.rooms.get_mut(home(address, realm)) {
            let [newer, _] = *room;
            *room = [Place { address, realm, ahead }, newer];
        }
    }
}

/// The room of a place.
#[inline]
fn home(address: u64, realm: Realm) -> usize {
    (hash(address, realm) >> (u64::BITS - ROOMS)) as usize
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
            (address, isa(n), Realm::new(isa(n), n as u8 % 2))
        };
        let miss = |n: u64| {
            let (address, isa, _) = place(n);
            Miss { address: address.wrapping_add(n % 4) & isa.address_mask() }
        };
        let find = |absent: &Absent, n| {
            let (address, isa, realm) = place(n);
            absent.find(address, isa, realm)
        };
        assert_eq!(find(&absent, 0), None);
        for n in 0..10_000 {
            let (address, isa, realm) = place(n);
            absent.insert(address, isa, realm, miss(n));
            assert_eq!(find(&absent, n), Some(miss(n)));
        }
        let kept = (0..10_000).filter_map(|n| find(&absent, n).map(|found| (n, found)));
        assert!(kept.clone().all(|(n, found)| found == miss(n)));
        assert!(kept.count() > 1 << ROOMS);
        // The top of the address space has the bottom behind it.
        let (top, realm) = (0xffff_fffe, Realm::new(Isa::T32, 0));
        absent.insert(top, Isa::T32, realm, Miss { address: 0 });
        assert_eq!(absent.find(top, Isa::T32, realm), Some(Miss { address: 0 }));
        absent.clear();
        assert!((0..10_000).all(|n| find(&absent, n).is_none()));
    }
}
