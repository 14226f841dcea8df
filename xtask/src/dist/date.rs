//! Dates of seconds since 1970, in UTC.

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// 1 January 1970 was a Thursday.
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// `Mon, 30 Nov 2026 18:07:16 +0000` (RFC 5322, section 3.3)
pub(super) fn mail(time: u64) -> String {
    let (year, month, day) = civil(time / 86_400);
    let weekday = DAYS[(time / 86_400 % 7) as usize];
    format!("{weekday}, {day:02} {} {year} {} +0000", MONTHS[month as usize - 1], clock(time))
}

/// `2026-11-30T18:07:16Z` (RFC 3339)
pub(super) fn iso(time: u64) -> String {
    let (year, month, day) = civil(time / 86_400);
    format!("{year}-{month:02}-{day:02}T{}Z", clock(time))
}

fn clock(time: u64) -> String {
    format!("{:02}:{:02}:{:02}", time / 3600 % 24, time / 60 % 60, time % 60)
}

/// Year, month and day of a number of days since 1970. Years begin in March: a leap day is the last
/// of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    let (year, rest) = years(days + 719_468);
    let month = (5 * rest + 2) / 153;
    let day = rest - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + u64::from(month <= 2), month, day)
}

/// Years, and days of the last one, of days since 1 March of the year 0.
fn years(days: u64) -> (u64, u64) {
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    (cycle * 400 + year, day - (365 * year + year / 4 - year / 100))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of `date -u -R --date=@N`.
    #[test]
    fn dates() {
        for (time, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 +0000"),
            (951_782_399, "Mon, 28 Feb 2000 23:59:59 +0000"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 +0000"),
            (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 +0000"),
            (1_709_251_200, "Fri, 01 Mar 2024 00:00:00 +0000"),
            (1_796_062_036, "Mon, 30 Nov 2026 18:07:16 +0000"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 +0000"),
        ] {
            assert_eq!(mail(time), text);
        }
        assert_eq!(iso(1_796_062_036), "2026-11-30T18:07:16Z");
    }
}
