//! Files as they were when they were opened, so that a change while they are read is noticed.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// A file that a capture was read from, with its state when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The path.
    pub path: PathBuf,
    /// The size in bytes.
    pub len: u64,
    /// The time of the last modification, where the system records it: in nanoseconds since 1970 on
    /// Unix, in its own unit elsewhere.
    pub modified: Option<i128>,
    /// The time of the last change of the file or of what the system records of it, in nanoseconds
    /// since 1970, on Unix. Programs cannot set it.
    pub changed: Option<i128>,
    /// The device and the number of the file on it, where the system has them.
    pub identity: Option<(u64, u64)>,
}

impl Stamp {
    /// The state that `about` describes.
    pub(crate) fn of(path: &Path, about: &Metadata) -> Stamp {
        Stamp {
            path: path.to_owned(),
            len: about.len(),
            modified: modified(about),
            changed: changed(about),
            identity: identity(about),
        }
    }

    /// The date of the last modification, such as `2026-11-28 19:30 UTC`; `None` where it is not
    /// known.
    pub fn date(&self) -> Option<String> {
        /// From 1601, in which Windows begins to count, to 1970.
        const SINCE_1601: i128 = 11_644_473_600;
        let seconds = match (self.modified?, cfg!(windows)) {
            (modified, false) => modified.div_euclid(1_000_000_000),
            (modified, true) => modified.div_euclid(10_000_000) - SINCE_1601,
        };
        date(i64::try_from(seconds).ok()?)
    }

    /// Whether the file has another size, another time of modification or is another file than
    /// when it was opened; or does not exist.
    pub fn is_changed(&self) -> bool {
        let now = std::fs::metadata(&self.path).map(|about| Stamp::of(&self.path, &about));
        // Another name or another permission is no change of what was read.
        now.ok().is_none_or(|now| Stamp { changed: self.changed, ..now } != *self)
    }
}

/// The date at a number of seconds after the beginning of 1970, in the Gregorian calendar.
fn date(seconds: i64) -> Option<String> {
    const DAY: i64 = 86_400;
    const LAST: i64 = 253_402_300_799;
    let (mut days, within) = (seconds / DAY, seconds % DAY);
    if !(0..=LAST).contains(&seconds) {
        return None;
    }
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut year = 1970;
    while days >= 365 + i64::from(is_leap(year)) {
        days -= 365 + i64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + i64::from(is_leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in months {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute) = (within / 3600, within / 60 % 60);
    Some(format!("{year}-{month:02}-{:02} {hour:02}:{minute:02} UTC", days + 1))
}

#[cfg(unix)]
fn identity(about: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((about.dev(), about.ino()))
}

#[cfg(unix)]
fn modified(about: &Metadata) -> Option<i128> {
    use std::os::unix::fs::MetadataExt;
    Some(i128::from(about.mtime()) * 1_000_000_000 + i128::from(about.mtime_nsec()))
}

#[cfg(unix)]
fn changed(about: &Metadata) -> Option<i128> {
    use std::os::unix::fs::MetadataExt;
    Some(i128::from(about.ctime()) * 1_000_000_000 + i128::from(about.ctime_nsec()))
}

#[cfg(not(unix))]
fn changed(_: &Metadata) -> Option<i128> {
    None
}

#[cfg(windows)]
fn modified(about: &Metadata) -> Option<i128> {
    Some(std::os::windows::fs::MetadataExt::last_write_time(about).into())
}

#[cfg(not(any(unix, windows)))]
fn modified(_: &Metadata) -> Option<i128> {
    None
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (seconds, want) in [
            (0, Some("1970-01-01 00:00 UTC")),
            (951_782_400, Some("2000-02-29 00:00 UTC")),
            (951_868_800, Some("2000-03-01 00:00 UTC")),
            (1_000_000_000, Some("2001-09-09 01:46 UTC")),
            (4_102_444_799, Some("2099-12-31 23:59 UTC")),
            (4_107_542_400, Some("2100-03-01 00:00 UTC")),
            (-1, None),
            (i64::MAX, None),
        ] {
            assert_eq!(date(seconds).as_deref(), want, "{seconds}");
        }
    }
}
