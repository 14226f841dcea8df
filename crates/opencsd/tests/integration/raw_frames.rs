//! Lines of raw frames against those of OpenCSD.

use tracewright_frames::{Event, Frame, Framing, Link, Split, Splitter};
use tracewright_opencsd::frames::RawFrames;
use tracewright_testing::{shared, text};

struct Listing {
    frames: RawFrames,
    out: String,
}

impl Split for Listing {
    const FRAGMENTS: bool = true;

    fn piece(&mut self, _id: u16, _at: u64, _fragment: bool, _bytes: &[u8]) {}

    fn event(&mut self, at: u64, event: Event) {
        self.frames.event(at, event, &mut self.out);
    }

    fn frame(&mut self, _frame: &Frame<'_>) {
        self.frames.frame(&mut self.out);
    }

    fn packed(&mut self, at: u64, bytes: &[u8]) {
        self.frames.packed(at, bytes, &mut self.out);
    }

    fn fragment(&mut self, id: Option<u8>, at: u64, bytes: &[u8]) {
        self.frames.fragment(id, at, bytes, &mut self.out);
    }
}

fn list(framing: Framing, bytes: &[u8], step: usize) -> String {
    let mut splitter = Splitter::new(Link::new(framing).opencsd());
    let mut listing = Listing { frames: RawFrames::new(framing, true, true), out: String::new() };
    for (k, part) in bytes.chunks(step).enumerate() {
        splitter.split((k * step) as u64, part, &mut listing);
    }
    splitter.finish(&mut listing);
    listing.frames.finish(&mut listing.out);
    listing.out
}

#[test]
fn dstream_listing_equals_that_of_opencsd() {
    let Some(folder) = shared("conformance/arm") else { return };
    let want = text(&folder.join("expected/a55-test-tpiu.dstream-raw.ppl.xz"));
    // The lines of frames: those of packets and the messages of the lister are left out.
    let is_frame = |line: &&str| {
        let hex = line
            .as_bytes()
            .first_chunk::<3>()
            .is_some_and(|[a, b, c]| a.is_ascii_hexdigit() && b.is_ascii_hexdigit() && *c == b' ');
        hex || line.starts_with("Frame Data") || line.starts_with("DSTREAM")
    };
    let mut want: Vec<_> = want.lines().filter(is_frame).collect();
    // At the end of the file OpenCSD lists the last footer again.
    assert_eq!(want.pop(), want.last().copied());
    assert!(want.len() > 6000, "{} lines", want.len());

    let bytes = std::fs::read(folder.join("snapshots/a55-test-tpiu/DSTREAM_0.bin")).unwrap();
    for step in [bytes.len(), 512, 7] {
        let got = list(Framing::Dstream, &bytes, step);
        for (k, (got, want)) in got.lines().zip(&want).enumerate() {
            assert_eq!(got, *want, "line {k}, {step} bytes at a time");
        }
        assert_eq!(got.lines().count(), want.len());
    }
}

#[test]
fn lines() {
    #[rustfmt::skip]
    let bytes = [
        0xff, 0xff, 0xff, 0x7f,
        0x21, 0x01, 0x02, 0x03,  0x23, 0x04, 0x25, 0x05,  0x01, 0x07, 0x00, 0x00,  0x00, 0x00, 0x00, 0b0001_1001,
        0xff, 0xff, 0xff, 0x7f, 0x00, 0x00,
    ];
    let want = "\
Frame Data; Index      0;    RAW_PACKED; ff ff ff 7f 21 01 02 03 23 04 25 05 01 07 00 00 
00 00 00 19 
Frame Data; Index      4;   ID_DATA[????]; 01 
Frame Data; Index      4;   ID_DATA[0x10]; 02 03 
Frame Data; Index      8;   ID_DATA[0x11]; 04 05 
Frame Data; Index     10;   ID_DATA[0x12]; 07 
Frame Data; Index     12;   ID_DATA[0x00]; 00 00 00 00 00 
Frame Data; Index     20;    RAW_PACKED; ff ff ff 7f 00 00 
";
    assert_eq!(list(Framing::Tpiu, &bytes, bytes.len()), want);
}
