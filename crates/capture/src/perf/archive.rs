//! Libraries that are mapped from within an archive: an APK of Android has them without
//! compression, and they are not unpacked.
//! (simpleperf/read_apk.cpp:38 at f0b1ab0c, `FindElfInApkByOffset`: the entry without compression
//! whose bytes have the offset of the mapping; `GetUrlInApk`: its name is `ARCHIVE!/ENTRY`)

use std::sync::Arc;

use crate::Bytes;
use crate::levels::zip;

/// What is between the name of an archive and that of a member.
const WITHIN: &str = "!/";

/// The members of an archive that are not compressed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Archive(Arc<[Stored]>);

/// A member that is not compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// Its name in the archive.
    pub(super) name: String,
    /// The offset of its first byte in the archive.
    pub(super) start: u64,
    /// The number of its bytes.
    pub(super) len: u64,
}

impl Archive {
    /// Whether a file with these first bytes is an archive.
    pub(super) fn is_at(head: &[u8]) -> bool {
        head.starts_with(&zip::MAGIC)
    }

    /// Reads the directory of an archive.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(super) fn read(bytes: &Bytes) -> Result<Archive, String> {
        let archive = zip::Archive::read(bytes)?;
        let stored = archive.members.iter().filter_map(|member| {
            let (start, len) = archive.stored(member)?;
            Some(Stored { name: member.name.clone(), start, len })
        });
        Ok(Archive(stored.collect()))
    }

    /// The member that has byte `offset` of the archive.
    pub(super) fn at(&self, offset: u64) -> Option<&Stored> {
        let has = |m: &&Stored| offset.checked_sub(m.start).is_some_and(|at| at < m.len);
        self.0.iter().find(has)
    }

    /// The member with this name.
    pub(super) fn named(&self, name: &str) -> Option<&Stored> {
        self.0.iter().find(|member| member.name == name)
    }
}

/// Whether a mapping of `path` may be of a member of an archive.
pub(super) fn may_be(path: &str) -> bool {
    path.ends_with(".apk")
}

/// The name of a member of the archive at `path`.
pub(super) fn within(path: &str, member: &str) -> String {
    format!("{path}{WITHIN}{member}")
}

/// The path of an archive and the name of a member, from the name of the member.
pub(super) fn parts(path: &str) -> Option<(&str, &str)> {
    path.split_once(WITHIN)
}
