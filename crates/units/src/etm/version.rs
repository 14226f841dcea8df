//! Versions of the ETM architecture.

use core::fmt;

/// A version of the architecture: ETMv1.0 to ETMv3.5.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u8);

impl Version {
    /// ETMv1.0
    pub const V1_0: Version = Version::new(1, 0);
    /// ETMv1.1
    pub const V1_1: Version = Version::new(1, 1);
    /// ETMv1.2
    pub const V1_2: Version = Version::new(1, 2);
    /// ETMv1.3
    pub const V1_3: Version = Version::new(1, 3);
    /// ETMv2.0
    pub const V2_0: Version = Version::new(2, 0);
    /// ETMv2.1
    pub const V2_1: Version = Version::new(2, 1);
    /// ETMv3.0
    pub const V3_0: Version = Version::new(3, 0);
    /// ETMv3.1
    pub const V3_1: Version = Version::new(3, 1);
    /// ETMv3.2
    pub const V3_2: Version = Version::new(3, 2);
    /// ETMv3.3
    pub const V3_3: Version = Version::new(3, 3);
    /// ETMv3.4
    pub const V3_4: Version = Version::new(3, 4);
    /// ETMv3.5
    pub const V3_5: Version = Version::new(3, 5);

    /// All versions, the oldest first.
    pub const ALL: [Version; 12] = [
        Version::V1_0,
        Version::V1_1,
        Version::V1_2,
        Version::V1_3,
        Version::V2_0,
        Version::V2_1,
        Version::V3_0,
        Version::V3_1,
        Version::V3_2,
        Version::V3_3,
        Version::V3_4,
        Version::V3_5,
    ];

    /// The version `major.minor`, of the numbers above.
    const fn new(major: u8, minor: u8) -> Version {
        Version(major * 16 + minor)
    }

    /// The major number: 1 to 3.
    pub const fn major(self) -> u8 {
        self.0 >> 4
    }

    /// The minor number: 0 to 5.
    pub const fn minor(self) -> u8 {
        self.0 & 0xf
    }

    /// Whether this is `version` or later. (For constant tables, in which `>=` is not possible.)
    pub const fn since(self, version: Version) -> bool {
        self.0 >= version.0
    }

    /// The version in ETMIDR, bits \[11:4]. `None` for a version that this model does not have, and
    /// for 0, which means that there is no unit.
    pub fn of_id(id: u32) -> Option<Version> {
        let version = Version::find((id >> 8 & 0xf) as u8 + 1, (id >> 4 & 0xf) as u8);
        version.filter(|_| id != 0)
    }

    fn find(major: u8, minor: u8) -> Option<Version> {
        Version::ALL.into_iter().find(|v| (v.major(), v.minor()) == (major, minor))
    }

    /// The version of the protocol number in ETMCCR, bits \[30:28], of a unit without ETMIDR.
    /// (IHI 0014, Table 3-10 and Table 3-47) `None` for number 6, which no unit has.
    pub const fn of_protocol(number: u32) -> Option<Version> {
        Some(match number {
            0 => Version::V1_0,
            1 => Version::V1_1,
            2 | 4 => Version::V1_2,
            3 | 5 | 7 => Version::V1_3,
            _ => return None,
        })
    }

    /// The version named `text`: `ETMv3.4`, `ETM3.4`, `etmv3`. A major version alone is its last
    /// minor version.
    pub fn named(text: &str) -> Option<Version> {
        let (prefix, rest) = (text.get(..3)?, text.get(3..)?);
        if !prefix.eq_ignore_ascii_case("etm") {
            return None;
        }
        let rest = rest.strip_prefix(['v', 'V']).unwrap_or(rest);
        let (major, minor) = rest.split_once('.').unwrap_or((rest, ""));
        let major: u8 = major.parse().ok()?;
        if minor.is_empty() {
            return Version::ALL.into_iter().rfind(|version| version.major() == major);
        }
        let minor: u8 = minor.parse().ok()?;
        Version::find(major, minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ETMv{}.{}", self.major(), self.minor())
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The versions in which something exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The first.
    pub first: Version,
    /// The last.
    pub last: Version,
}

impl Versions {
    /// All versions from `first` on.
    pub const fn from(first: Version) -> Versions {
        Versions { first, last: Version::V3_5 }
    }

    /// Whether `version` is one of them.
    pub const fn contains(self, version: Version) -> bool {
        version.since(self.first) && self.last.since(version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IHI 0014, Table 3-47.
    #[test]
    fn identification_registers() {
        for (id, version) in [
            (0x4100_0010, Version::V1_1),
            (0x4100_0020, Version::V1_2),
            (0x4100_0021, Version::V1_2),
            (0x4100_1000, Version::V1_0),
            (0x4100_1010, Version::V1_1),
            (0x4100_1020, Version::V1_2),
            (0x4100_1030, Version::V1_3),
            (0x4100_1031, Version::V1_3),
            (0x4100_1032, Version::V1_3),
            (0x4100_1220, Version::V3_2),
            (0x4100_2100, Version::V2_0),
            (0x4100_2200, Version::V3_0),
            (0x4100_3210, Version::V3_1),
            (0x4101_3211, Version::V3_1),
            (0x4101_3220, Version::V3_2),
            (0x4105_3220, Version::V3_2),
            (0x4109_3220, Version::V3_2),
            (0x4104_f230, Version::V3_3),
            (0x410c_f230, Version::V3_3),
            (0x4114_f240, Version::V3_4),
        ] {
            assert_eq!(Version::of_id(id), Some(version), "{id:#x}");
        }
        assert_eq!(Version::of_id(0x411c_f312), None, "a PTM");
        assert_eq!(Version::of_id(0), None, "no unit");
        assert_eq!(Version::of_id(0x4210_cf50), None, "no architecture has major number 16");
    }

    /// IHI 0014, Table 3-47, the last column.
    #[test]
    fn protocol_numbers() {
        let of = |number| Version::of_protocol(number).map(|v| (v.major(), v.minor()));
        let want = [(0, 0), (1, 1), (2, 2), (4, 2), (3, 3), (5, 3), (7, 3)];
        for (number, minor) in want {
            assert_eq!(of(number), Some((1, minor)), "protocol {number}");
        }
        assert_eq!(of(6), None);
    }

    #[test]
    fn names() {
        for (text, version) in [
            ("ETMv3.4", Some(Version::V3_4)),
            ("etm1.2", Some(Version::V1_2)),
            ("ETMv3", Some(Version::V3_5)),
            ("ETM2", Some(Version::V2_1)),
            ("ETMv4", None),
            ("ETMv3.9", None),
            ("PTM1.1", None),
        ] {
            assert_eq!(Version::named(text), version, "{text}");
        }
    }
}
