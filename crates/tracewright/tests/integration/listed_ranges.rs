//! The limit of the ranges that a listing has.

use std::path::Path;

use tracewright::decode::{Memory, Options, Plan, Session};
use tracewright::views::Source;
use tracewright::views::range_limit::RangeLimit;
use tracewright::views::{json, text};

/// With one range at once and one for each byte, a line stands for the further ranges of each
/// packet. All other lines are those of the whole listing.
#[test]
fn further_ranges_of_a_packet_are_one_line() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    let mut omitted = 0;
    for folder in ["ntrace-htm", "etrace-2.0", "etmv4"] {
        let capture = tracewright::read_capture(&root.join(folder).join("capture")).unwrap();
        let (options, memory) = (Options::default(), Memory::new(&capture));
        let plan = Plan::new(&capture, 0, &options).expect("a source");
        let sources = || Source::all(&capture, &plan, &memory);
        let buffer = &capture.buffers[0];
        let list = |limit: Option<RangeLimit>| {
            let limit = limit.unwrap_or(RangeLimit::new(sources().len(), 0));
            let shown = text::Shown { elements: true, packets: true, ..text::Shown::default() };
            let listing = text::Listing::new(Vec::new(), sources(), None, shown);
            let shown = json::Shown { elements: true, ..json::Shown::default() };
            let objects = json::Listing::new(Vec::new(), &plan, sources(), "", None, shown);
            let mut both = (listing.with_limit(limit.clone()), objects.with_limit(limit));
            let mut session = Session::new(&capture, &plan, &memory, &options).unwrap();
            session.run(buffer.parts(), &mut both);
            let text = String::from_utf8(tracewright::decode::Fork::take(&mut both.0)).unwrap();
            (text, String::from_utf8(tracewright::decode::Fork::take(&mut both.1)).unwrap())
        };
        let (whole, _) = list(None);
        assert!(!whole.contains("unlisted"), "{folder}");
        let (few, objects) = list(Some(RangeLimit::of(sources().len(), 1, 1)));
        let is_range = |line: &&str| line.contains(" range ");
        let is_unlisted = |line: &&str| line.contains(" unlisted ");
        let (all, ranges) = (whole.lines().filter(is_range), few.lines().filter(is_range));
        let (all, ranges): (Vec<_>, Vec<_>) = (all.collect(), ranges.collect());
        let mut rest = all.iter();
        assert!(ranges.iter().all(|line| rest.any(|other| other == line)), "{folder}");
        let others = |text: &str| -> Vec<String> {
            let others = text.lines().filter(|line| !is_range(line) && !is_unlisted(line));
            others.map(str::to_owned).collect()
        };
        assert_eq!(others(&whole), others(&few), "{folder}");
        let lines = few.lines().filter(is_unlisted).count();
        let kinds = objects.matches("\"kind\":\"unlisted\"").count();
        assert_eq!(kinds, lines, "{folder}");
        assert!(lines <= all.len() - ranges.len(), "{folder}");
        omitted += all.len() - ranges.len();
    }
    assert!(omitted > 0);
}
