//! Faults and inconsistencies as numbers, for files.

use crate::context::Space;
use crate::fault::{Fault, Inconsistency};

/// Both directions of a table from the names of variants without fields to numbers.
macro_rules! words {
    ($type:ident, $len:literal, $none:expr, { $($number:literal $name:ident,)* },
     { $($value:pat => $of_value:expr, $words:pat => $of_words:expr;)* }) => {
        impl $type {
            /// Its numbers: which it is, and its fields, else 0.
            pub const fn words(self) -> [u64; $len] {
                const fn plain(number: u64) -> [u64; $len] {
                    let mut words = $none;
                    words[0] = number;
                    words
                }
                match self {
                    $($type::$name => plain($number),)*
                    $($value => $of_value,)*
                }
            }

            /// The one with these [`words`]($type::words).
            pub const fn of_words(words: [u64; $len]) -> Option<$type> {
                let [number, fields @ ..] = words;
                let mut n = 0;
                let mut plain = true;
                while n < fields.len() {
                    plain &= fields[n] == 0;
                    n += 1;
                }
                match words {
                    $($words => $of_words,)*
                    _ if !plain => None,
                    _ => match number {
                        $($number => Some($type::$name),)*
                        _ => None,
                    },
                }
            }
        }
    };
}

words!(Fault, 2, [0; 2], {
    1 Unsynchronised,
    2 NoSuchPins,
    3 Sequence,
    4 Overlong,
    5 BytesAfterFields,
    6 FieldsAfterBytes,
    7 Truncated,
    8 Frame,
}, {
    Fault::Reserved(header) => [16, header as u64],
    [16, header @ 0..=0xff] => Some(Fault::Reserved(header as u8));
    Fault::ReservedForConfig(header) => [17, header as u64],
    [17, header @ 0..=0xff] => Some(Fault::ReservedForConfig(header as u8));
    Fault::Opaque(header) => [18, header as u64],
    [18, header @ 0..=0xff] => Some(Fault::Opaque(header as u8));
});

words!(Inconsistency, 3, [0; 3], {
    1 NoAddress,
    2 CommitOfNothing,
    3 CancelOfNothing,
    4 MispredictOfNothing,
    5 ReturnStackEmpty,
    6 UnconditionalNotTaken,
    7 AddressNotReached,
    8 InvalidOpcode,
    9 UnsupportedIsa,
    10 Unexpected,
    11 Unresolved,
    12 Ambiguous,
    13 TrappedOrRetired,
    14 ContextOrException,
    15 TooManyBranches,
    16 ExpansionLimit,
    17 CountMismatch,
    18 OutcomeMismatch,
}, {
    Inconsistency::Misaligned { address, space } => [32, address, space.index() as u64],
    [32, address, space @ 0..=0x3f] => match Space::of_index(space as usize) {
        Some(space) => Some(Inconsistency::Misaligned { address, space }),
        None => None,
    };
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Security;

    #[test]
    fn words_are_read_as_they_were_written() {
        let (mut faults, mut inconsistencies) = (0, 0);
        for number in 0..64 {
            for field in [0, 7, 0xff, 0x100] {
                if let Some(fault) = Fault::of_words([number, field]) {
                    assert_eq!(fault.words(), [number, field]);
                    faults += 1;
                }
                for space in 0..=64 {
                    if let Some(own) = Inconsistency::of_words([number, field, space]) {
                        assert_eq!(own.words(), [number, field, space]);
                        inconsistencies += 1;
                    }
                }
            }
        }
        // Of each field, three values are valid; of each address, 25 memories.
        assert_eq!((faults, inconsistencies), (8 + 3 * 3, 18 + 4 * 25));
        let space = Space::new(Some(1), Some(Security::Root));
        let own = Inconsistency::Misaligned { address: u64::MAX, space };
        assert_eq!(Inconsistency::of_words(own.words()), Some(own));
        assert_eq!(Fault::of_words(Fault::Opaque(9).words()), Some(Fault::Opaque(9)));
    }
}
