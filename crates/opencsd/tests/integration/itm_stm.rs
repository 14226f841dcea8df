//! Listings of ITM and STM captures against those of OpenCSD.

use std::path::Path;

use tracewright_decode::{Memory, Options, Plan, Session};
use tracewright_frames::Numbering;
use tracewright_opencsd::{Listing, Shown};
use tracewright_testing::{shared, text};

/// The lines of the first buffer of a snapshot, with or without its packets.
fn list(folder: &Path, packets: bool) -> String {
    let capture = tracewright_capture::open(folder).unwrap();
    let options = Options { numbering: Numbering::Opencsd, ..Options::default() };
    let plan = Plan::new(&capture, 0, &options).unwrap();
    let mut out = Vec::new();
    let shown = Shown { packets, bytes: true, elements: true, ..Shown::default() };
    let mut listing = Listing::new(&mut out, &plan, shown, false);
    let mut session = Session::new(&capture, &plan, &Memory::new(&capture), &options).unwrap();
    session.run(capture.buffers[0].parts(), &mut listing);
    listing.finish().unwrap();
    String::from_utf8(out).unwrap()
}

/// The compared lines of a text, without spaces at their ends.
fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with("Idx:")).map(str::trim_end).collect()
}

/// Offset and bytes of a line.
fn bytes(line: &str) -> (u64, Vec<u8>) {
    let offset = line.strip_prefix("Idx:").and_then(|l| l.split(';').next()).unwrap();
    let bytes = line.split_once('[').and_then(|(_, l)| l.split_once(']')).unwrap().0;
    let bytes = bytes.split_whitespace().map(|b| u8::from_str_radix(&b[2..], 16).unwrap());
    (offset.parse().unwrap(), bytes.collect())
}

#[test]
fn listings_equal_those_of_opencsd() {
    let Some(folder) = shared("conformance/arm") else { return };
    // In stm_only, OpenCSD reads past the end of 54 fragments: see
    // docs/differences-from-opencsd.md.
    for (name, differences) in [("itm_only_raw", 0), ("stm-issue-27", 0), ("stm_only", 54)] {
        let want = folder.join(format!("expected/{name}.decode.ppl.xz"));
        let want = text(&want);
        let got = list(&folder.join("snapshots").join(name), true);
        let (want, got) = (lines(&want), lines(&got));
        assert!(!want.is_empty(), "{name}");
        assert_eq!(want.len(), got.len(), "{name}: lines");

        let mut different = 0;
        for (k, (want, got)) in want.iter().zip(&got).enumerate().filter(|(_, (w, g))| w != g) {
            different += 1;
            assert!(want.ends_with("NOTSYNC:STM not synchronised"), "{name}\n{want}\n{got}");
            // The line begins with bytes 0xff that OpenCSD has left out of the line before.
            // OpenCSD's line ends with bytes of other sources.
            let ((want_at, want), (got_at, got)) = (bytes(want), bytes(got));
            let held = got.iter().take_while(|&&b| b == 0xff).count();
            let held = if want_at == got_at { 0..=0 } else { 1..=held };
            let own = held.map(|held| &got[held..]).find(|own| want.starts_with(own));
            assert!(own.is_some_and(|own| want.len() > own.len()), "line {k}");
        }
        assert_eq!(different, differences, "{name}");
    }
}

/// Where packets are not listed, the lines of software writes are the same: their master, their
/// page and their offset are those of the packets before them.
#[test]
fn software_writes_without_packets() {
    let Some(folder) = shared("conformance/arm") else { return };
    for (name, what) in [("itm_only_raw", "ITM_SWIT ("), ("stm_only", "_SWTRACE(")] {
        let want = text(&folder.join(format!("expected/{name}.decode.ppl.xz")));
        let got = list(&folder.join("snapshots").join(name), false);
        let writes = |text: &'_ str| {
            let lines = lines(text).into_iter().filter(|line| line.contains(what));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(writes(&want).len() > 5, "{name}");
        assert_eq!(writes(&got), writes(&want), "{name}");
    }
}
