//! The address spaces of a piece of memory.

use std::error::Error;
use std::fmt;
use std::ops::{BitAnd, BitOr};
use std::str::FromStr;

use tracewright_base::{Security, Space};

/// A set of address spaces. EL0 executes in the memory of EL1.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpaceMask(u8);

impl SpaceMask {
    /// EL1 and EL0, Secure.
    pub const EL1S: SpaceMask = SpaceMask(0x01);
    /// EL1 and EL0, Non-secure.
    pub const EL1N: SpaceMask = SpaceMask(0x02);
    /// EL2, Non-secure.
    pub const EL2N: SpaceMask = SpaceMask(0x04);
    /// EL3 without FEAT_RME.
    pub const EL3: SpaceMask = SpaceMask(0x08);
    /// EL2, Secure.
    pub const EL2S: SpaceMask = SpaceMask(0x10);
    /// EL1 and EL0, Realm.
    pub const EL1R: SpaceMask = SpaceMask(0x20);
    /// EL2, Realm.
    pub const EL2R: SpaceMask = SpaceMask(0x40);
    /// Root: EL3 with FEAT_RME.
    pub const ROOT: SpaceMask = SpaceMask(0x80);
    /// Every Secure space, EL3 among them.
    pub const SECURE: SpaceMask = SpaceMask(0x19);
    /// Every Non-secure space.
    pub const NON_SECURE: SpaceMask = SpaceMask(0x06);
    /// Every Realm space.
    pub const REALM: SpaceMask = SpaceMask(0x60);
    /// Every space.
    pub const ANY: SpaceMask = SpaceMask(0xff);

    /// The words of the snapshot format, in upper or lower case, and their spaces.
    pub const WORDS: [(&'static str, SpaceMask); 17] = [
        ("EL1S", Self::EL1S),
        ("EL1N", Self::EL1N),
        ("EL1R", Self::EL1R),
        ("EL2S", Self::EL2S),
        ("EL2", Self::EL2N),
        ("EL2N", Self::EL2N),
        ("EL2R", Self::EL2R),
        ("EL3", Self::EL3),
        ("ROOT", Self::ROOT),
        ("S", Self::SECURE),
        ("N", Self::NON_SECURE),
        ("R", Self::REALM),
        ("ANY", Self::ANY),
        // Armv7 words: hypervisor, privileged, Non-secure privileged, Secure privileged.
        ("H", Self::EL2N),
        ("P", Self::EL1N),
        ("NP", Self::EL1N),
        ("SP", Self::EL1S),
    ];

    /// The spaces that `space` may be. An unknown exception level or security state matches any.
    pub const fn of(space: Space) -> SpaceMask {
        match (space.el(), space.security()) {
            (None, None) => Self::ANY,
            (None, Some(Security::Secure)) => Self::SECURE,
            (None, Some(Security::NonSecure)) => Self::NON_SECURE,
            (None | Some(3..), Some(Security::Realm)) => Self::REALM,
            (_, Some(Security::Root)) => Self::ROOT,
            (Some(0 | 1), None) => SpaceMask(0x23),
            (Some(0 | 1), Some(Security::Secure)) => Self::EL1S,
            (Some(0 | 1), Some(Security::NonSecure)) => Self::EL1N,
            (Some(0 | 1), Some(Security::Realm)) => Self::EL1R,
            (Some(2), None) => SpaceMask(0x54),
            (Some(2), Some(Security::Secure)) => Self::EL2S,
            (Some(2), Some(Security::NonSecure)) => Self::EL2N,
            (Some(2), Some(Security::Realm)) => Self::EL2R,
            (Some(3..), None) => SpaceMask(0x88),
            // Only the Secure and the Root state have an EL3.
            (Some(3..), Some(Security::Secure | Security::NonSecure)) => Self::EL3,
        }
    }

    /// Whether the two sets have a space in common.
    pub const fn meets(self, other: SpaceMask) -> bool {
        self.0 & other.0 != 0
    }

    /// The set as bits, in the order of the constants.
    pub const fn bits(self) -> u8 {
        self.0
    }
}

/// Memory belongs to every space by default.
impl Default for SpaceMask {
    fn default() -> Self {
        Self::ANY
    }
}

impl BitOr for SpaceMask {
    type Output = SpaceMask;

    fn bitor(self, other: SpaceMask) -> SpaceMask {
        SpaceMask(self.0 | other.0)
    }
}

impl BitAnd for SpaceMask {
    type Output = SpaceMask;

    fn bitand(self, other: SpaceMask) -> SpaceMask {
        SpaceMask(self.0 & other.0)
    }
}

impl fmt::Display for SpaceMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((word, _)) = Self::WORDS.iter().find(|(_, mask)| mask == self) {
            return f.write_str(word);
        }
        let mut first = true;
        for (word, mask) in Self::WORDS {
            // "EL2" is a synonym of "EL2N".
            if mask.0.count_ones() == 1 && self.meets(mask) && word.len() > 2 && word != "EL2N" {
                write!(f, "{}{word}", if first { "" } else { "+" })?;
                first = false;
            }
        }
        if first { f.write_str("none") } else { Ok(()) }
    }
}

impl fmt::Debug for SpaceMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A word that is not an address space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownSpace(pub String);

impl fmt::Display for UnknownSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no address space: it may be", self.0)?;
        for (word, _) in SpaceMask::WORDS {
            write!(f, " {word}")?;
        }
        Ok(())
    }
}

impl Error for UnknownSpace {}

impl FromStr for SpaceMask {
    type Err = UnknownSpace;

    fn from_str(word: &str) -> Result<Self, UnknownSpace> {
        let word = word.trim();
        Self::WORDS
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(word))
            .map(|(_, mask)| *mask)
            .ok_or_else(|| UnknownSpace(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words and masks of OpenCSD.
    #[test]
    fn words_are_parsed() {
        for (word, bits) in [
            ("EL1S", 0x01),
            ("EL1N", 0x02),
            ("EL2", 0x04),
            ("EL2N", 0x04),
            ("EL3", 0x08),
            ("EL2S", 0x10),
            ("EL1R", 0x20),
            ("EL2R", 0x40),
            ("ROOT", 0x80),
            ("S", 0x19),
            ("N", 0x06),
            ("R", 0x60),
            ("ANY", 0xff),
            ("H", 0x04),
            ("P", 0x02),
            ("NP", 0x02),
            ("SP", 0x01),
            (" el1n ", 0x02),
        ] {
            assert_eq!(word.parse::<SpaceMask>().map(SpaceMask::bits), Ok(bits), "{word}");
        }
    }

    #[test]
    fn an_unknown_word_is_reported_with_the_known_words() {
        let error = "EL4".parse::<SpaceMask>().unwrap_err().to_string();
        assert!(error.starts_with("`EL4` is no address space"), "{error}");
        for (word, _) in SpaceMask::WORDS {
            assert!(error.split(' ').any(|w| w == word), "{word} in {error}");
        }
    }

    #[test]
    fn masks_are_displayed_as_words() {
        for (mask, text) in [
            (SpaceMask::EL2N, "EL2"),
            (SpaceMask::SECURE, "S"),
            (SpaceMask::ANY, "ANY"),
            (SpaceMask::EL3 | SpaceMask::ROOT, "EL3+ROOT"),
            (SpaceMask::EL1N | SpaceMask::EL2N | SpaceMask::EL3, "EL1N+EL2+EL3"),
            (SpaceMask::EL1N & SpaceMask::EL1S, "none"),
        ] {
            assert_eq!(mask.to_string(), text);
        }
    }

    #[test]
    fn unknown_states_match_any() {
        use Security::*;
        for (el, security, bits) in [
            (None, None, 0xff),
            (None, Some(Secure), 0x19),
            (None, Some(NonSecure), 0x06),
            (None, Some(Realm), 0x60),
            (None, Some(Root), 0x80),
            (Some(0), Some(Secure), 0x01),
            (Some(1), Some(Secure), 0x01),
            (Some(2), Some(Secure), 0x10),
            (Some(3), Some(Secure), 0x08),
            (Some(0), Some(NonSecure), 0x02),
            (Some(1), Some(NonSecure), 0x02),
            (Some(2), Some(NonSecure), 0x04),
            (Some(3), Some(NonSecure), 0x08),
            (Some(0), Some(Realm), 0x20),
            (Some(2), Some(Realm), 0x40),
            (Some(3), Some(Root), 0x80),
            (Some(0), None, 0x23),
            (Some(1), None, 0x23),
            (Some(2), None, 0x54),
            (Some(3), None, 0x88),
        ] {
            let space = Space::new(el, security);
            assert_eq!(SpaceMask::of(space).bits(), bits, "{space}");
        }
    }
}
