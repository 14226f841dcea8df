//! A barrier between two traces of a buffer: each view states where the second one begins.

use tracewright_capture::{Buffer, BufferRef, Capture, Format, Registers, Source};
use tracewright_decode::{Memory, Options, Plan, Session};
use tracewright_frames::{Framing, Joiner, sync};
use tracewright_opencsd as opencsd;
use tracewright_views::{self as views, instructions, text};

/// An ETMv4: A-Sync, Trace Info, Trace On, an address with context, and the header of a timestamp;
/// then a barrier, the rest of the timestamp, and the same again.
fn capture() -> Capture {
    let trace =
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0, 0x04, 0x82, 0, 8, 0, 0, 0x11, 0xf7, 0x02];
    let mut bytes = Vec::new();
    for part in [&trace[..], &[&[0x85, 0x03], &trace[..]].concat()] {
        let mut joiner = Joiner::new(Framing::Coresight);
        joiner.push(0x10, part, &mut bytes).unwrap();
        joiner.finish(&mut bytes);
        bytes.extend(sync::BARRIER);
    }
    let registers = [
        ("TRCIDR0", 0x2800_0ea1),
        ("TRCIDR1", 0x4100_f420),
        ("TRCIDR2", 0x488),
        ("TRCCONFIGR", 0x801),
        ("TRCTRACEIDR", 0x10),
    ];
    Capture {
        buffers: vec![Buffer::new("ETR", Format::CoreSight, bytes)],
        sources: vec![Source {
            device_type: "ETM4.2".into(),
            registers: Registers::from_iter(registers),
            buffers: vec![BufferRef { buffer: 0, stream: None }],
            ..Source::default()
        }],
        ..Capture::default()
    }
}

/// A plan, its session and its sources.
fn planned(capture: &Capture) -> (Plan, Session, Vec<views::Source>) {
    let (options, memory) = (Options::default(), Memory::new(capture));
    let plan = Plan::new(capture, 0, &options).unwrap();
    let session = Session::new(capture, &plan, &memory, &options).unwrap();
    let sources = views::Source::all(capture, &plan, &memory);
    (plan, session, sources)
}

/// OpenCSD resets its decoders: the state is reported at the first packet that follows.
#[test]
fn opencsd() {
    let capture = capture();
    for packets in [false, true] {
        let (plan, mut session, _) = planned(&capture);
        let shown = opencsd::Shown { packets, elements: true, ..Default::default() };
        let mut out = Vec::new();
        let mut listing = opencsd::Listing::new(&mut out, &plan, shown, false);
        session.run(capture.buffers[0].parts(), &mut listing);
        listing.finish().unwrap();
        let text = String::from_utf8(out).unwrap();
        let states: Vec<&str> = text.lines().filter(|line| line.contains("NO_SYNC(")).collect();
        let [begins, again] = states[..] else { panic!("{text}") };
        assert!(begins.ends_with("OCSD_GEN_TRC_ELEM_NO_SYNC( [init-decoder])"), "{text}");
        assert!(again.ends_with("OCSD_GEN_TRC_ELEM_NO_SYNC( [reset-decoder])"), "{text}");
        assert!(!text.contains("BAD_PACKET"), "{text}");
        assert_eq!(text.matches("EO_TRACE").count(), 1, "{text}");
    }
}

/// The end of the first trace is a line of the text listing and of the instructions.
#[test]
fn text() {
    let capture = capture();
    let (_, mut session, sources) = planned(&capture);
    let shown = text::Shown { elements: true, ..Default::default() };
    let mut out = Vec::new();
    let mut listing = text::Listing::new(&mut out, sources, None, shown);
    session.run(capture.buffers[0].parts(), &mut listing);
    listing.finish().unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.matches("start of trace").count(), 2, "{text}");
    assert_eq!(text.matches("reset").count(), 2, "{text}");

    let (_, mut session, sources) = planned(&capture);
    let mut out = Vec::new();
    let view = instructions::Text::new(&mut out, sources.clone(), false);
    let mut listing = instructions::Expand::new(view, &sources);
    session.run(capture.buffers[0].parts(), &mut listing);
    listing.view.finish().unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("reset"), "{text}");
}
