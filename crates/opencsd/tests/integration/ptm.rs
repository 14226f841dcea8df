//! Listings of PTM captures against those of OpenCSD.

use std::collections::BTreeMap;
use std::path::Path;

use tracewright_base::Element;
use tracewright_decode::{Listener, Memory, Options, Plan, Session};
use tracewright_frames::Numbering;
use tracewright_opencsd::{Listing, Shown};
use tracewright_testing::{shared, text};

/// Decodes the first buffer of a snapshot, with OpenCSD's offsets.
fn decode<L: Listener>(folder: &Path, make: impl FnOnce(&Plan) -> L) -> L {
    let capture = tracewright_capture::open(folder).unwrap();
    let options = Options { numbering: Numbering::Opencsd, ..Options::default() };
    let plan = Plan::new(&capture, 0, &options).unwrap();
    let mut listener = make(&plan);
    let mut session = Session::new(&capture, &plan, &Memory::new(&capture), &options).unwrap();
    session.run(capture.buffers[0].parts(), &mut listener);
    listener
}

/// The lines of some trace IDs: `ID:13;`, without spaces at their ends.
fn lines<'a>(text: &'a str, ids: &'a [&str]) -> impl Iterator<Item = &'a str> {
    text.lines()
        .filter(move |line| line.starts_with("Idx:") && ids.iter().any(|id| line.contains(id)))
        .map(str::trim_end)
}

#[test]
fn listings_equal_those_of_opencsd() {
    let Some(folder) = shared("conformance/arm") else { return };
    for (name, ids, differences) in [
        ("tc2-ptm-rstk-t32", &[" ID:0;", " ID:2;"], &[][..]),
        // OpenCSD counts a byte twice: see docs/differences-from-opencsd.md.
        (
            "Snowball",
            &[" ID:10;", " ID:11;"],
            &[("Idx:4670; ID:11; [0xc0 ", "Idx:4672; ID:11; [0xc0 ")],
        ),
        // OpenCSD does not decode the IT block: see the same page.
        ("TC2", &[" ID:13;", " ID:14;"], &[]),
    ] {
        let want = folder.join(format!("expected/{name}.decode.ppl.xz"));
        let want = text(&want);
        let mut got = Vec::new();
        let shown = Shown { packets: true, bytes: true, elements: true, ..Shown::default() };
        let snapshot = folder.join("snapshots").join(name);
        decode(&snapshot, |plan| Listing::new(&mut got, plan, shown, false)).finish().unwrap();
        let got = String::from_utf8(got).unwrap();

        let (want, got) = (lines(&want, ids), lines(&got, ids));
        let (want, got): (Vec<_>, Vec<_>) = (want.collect(), got.collect());
        assert!(!want.is_empty(), "{name}");
        assert_eq!(want.len(), got.len(), "{name}: lines");
        let mut left = differences.iter();
        for (want, got) in want.iter().zip(&got).filter(|(want, got)| want != got) {
            let Some((a, b)) = left.next() else { panic!("{name}\n{want}\n{got}") };
            assert!(want.starts_with(a) && got.starts_with(b), "{name}\n{want}\n{got}");
        }
        assert_eq!(left.next(), None, "{name}: a known difference is gone");
    }
}

/// For each source: the last timestamp, and the cycles since.
#[derive(Default)]
struct Clock {
    sources: BTreeMap<usize, (Option<u64>, u64)>,
    intervals: usize,
}

impl Listener for Clock {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        let (last, cycles) = self.sources.entry(source).or_default();
        match element {
            Element::Range(range) => *cycles += u64::from(range.cycles.get().unwrap_or(0)),
            Element::Cycles(Some(count)) => *cycles += u64::from(count),
            Element::Timestamp { value, .. } => {
                if let Some(last) = *last {
                    assert_eq!(value - last, *cycles, "source {source}, at {at}");
                    self.intervals += 1;
                }
                (*last, *cycles) = (Some(value), 0);
            }
            _ => {}
        }
    }
}

/// In the Snowball capture, timestamps count processor cycles: the cycle counts between two
/// timestamps add up to their exact difference, after the Gray code is decoded.
#[test]
fn cycle_counts_add_up_to_the_time() {
    let Some(folder) = shared("conformance/arm") else { return };
    let clock = decode(&folder.join("snapshots/Snowball"), |_| Clock::default());
    assert_eq!(clock.intervals, 19);
}

/// After a reserved header, OpenCSD reports the loss at once, and waits for an A-sync and an I-sync
/// packet.
#[test]
fn a_bad_packet_is_reported_at_once() {
    let folder = std::env::temp_dir().join(format!("tracewright-ptm-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in [
        (
            "snapshot.ini",
            "[snapshot]\nversion=1.0\n[device_list]\na=a.ini\n[trace]\nmetadata=t.ini\n",
        ),
        (
            "a.ini",
            "[device]\nname=P\nclass=trace_source\ntype=PFT1.1\n[regs]\nETMCR=0\nETMCCER=0\nETMIDR=0\nETMTRACEIDR=2\n",
        ),
        (
            "t.ini",
            "[trace_buffers]\nbuffers=b\n[b]\nname=B\nfile=b.bin\nformat=source_data\n[source_buffers]\nP=B\n",
        ),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let head = [0, 0, 0, 0, 0, 0x80, 0x08, 0x00, 0x80, 0x00, 0x00, 0x01];
    std::fs::write(folder.join("b.bin"), [&head[..], &[0x10, 0xc0], &head, &[0x0c]].concat())
        .unwrap();
    let mut got = Vec::new();
    let shown = Shown { packets: true, bytes: true, elements: true, ..Shown::default() };
    decode(&folder, |plan| Listing::new(&mut got, plan, shown, false)).finish().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let got = String::from_utf8(got).unwrap();
    let got: Vec<_> = lines(&got, &[" ID:0;", " ID:2;"]).skip(5).collect();
    assert_eq!(
        got,
        [
            "Idx:12; ID:0; [0x10 ];\tRESERVED : Reserved Packet Header;",
            "Idx:12; ID:2; OCSD_GEN_TRC_ELEM_NO_SYNC( [bad-packet])",
            "Idx:13; ID:0; [0xc0 ];\tNOTSYNC : PTM Not Synchronised;",
            "Idx:14; ID:0; [0x00 0x00 0x00 0x00 0x00 0x80 ];\tASYNC : Alignment Synchronisation Packet;",
            "Idx:20; ID:0; [0x08 0x00 0x80 0x00 0x00 0x01 ];\tISYNC : Instruction Synchronisation packet; \
         (Periodic); Addr=0x00008000; S;  ISA=ARM(32);",
            "Idx:20; ID:2; OCSD_GEN_TRC_ELEM_TRACE_ON( [begin or filter])",
            "Idx:20; ID:2; OCSD_GEN_TRC_ELEM_PE_CONTEXT((ISA=A32) S; 32-bit; )",
            "Idx:26; ID:0; [0x0c ];\tTRIGGER : Trigger Event packet;",
            "Idx:26; ID:2; OCSD_GEN_TRC_ELEM_EVENT( Trigger; )",
            "Idx:26; ID:2; OCSD_GEN_TRC_ELEM_EO_TRACE( [end-of-trace])",
        ]
    );
}
