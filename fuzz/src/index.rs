//! What must hold of any bytes as an index.

use tracewright::capture::{Buffer, BufferRef, Bytes, Capture, Format, Source};
use tracewright::decode::{Memory, Options, Plan};
use tracewright::index::view::{Player, View};
use tracewright::index::{
    Answer, Finder, Index, Making, Query, Shape, Subject, window, write_checksums,
};
use tracewright::views::text;

/// The trace: writes to stimulus ports of an ITM with timestamps, after a synchronisation packet.
fn capture() -> Capture {
    let mut trace = Vec::new();
    for n in 0..40u8 {
        if n % 5 == 0 {
            trace.extend([0, 0, 0, 0, 0, 0x80]);
        }
        trace.extend([(n % 4) << 3 | 1, n, 0xd0, n & 0x7f]);
    }
    Capture {
        buffers: vec![Buffer::new("swo", Format::SourceData, trace)],
        sources: vec![Source {
            device_type: "ITM".into(),
            buffers: vec![BufferRef { buffer: 0, stream: None }],
            ..Source::default()
        }],
        ..Capture::default()
    }
}

/// The index of the trace, as it is written.
pub fn whole() -> Vec<u8> {
    let capture = capture();
    with(&capture, |subject, plans| {
        let shape = Shape::new(64, 2);
        let making = Making { shape, full: true, view: true, jobs: 1, ..Making::default() };
        let mut file = Vec::new();
        let write = |bytes: &[u8], _| {
            file.extend_from_slice(bytes);
            Ok(true)
        };
        subject.make(plans, &making, write).expect("bytes in memory");
        file
    })
}

fn with<T>(capture: &Capture, then: impl FnOnce(Subject<'_>, &[Plan]) -> T) -> T {
    let (memory, options) = (Memory::new(capture), Options::default());
    let plans: Vec<Plan> = Plan::new(capture, 0, &options).into_iter().collect();
    then(Subject { capture, memory: &memory, options: &options }, &plans)
}

/// Reads all of the view, and plays the beginning.
fn read_view(subject: Subject<'_>, plan: &Plan, index: &Index) {
    let Some(buffer) = index.buffer(0) else { return };
    let Ok(Some(view)) = View::new(index, buffer) else { return };
    for source in 0..2 {
        for level in 0..view.shape().levels {
            let _ = view.tiles(source, level, 0..u64::MAX);
        }
        let _ = (view.frames(source, 0..u64::MAX, 0), view.sums(3..200));
        let _ = view.lengths(source);
    }
    if let Some(mut player) = Player::new(subject, plan, &view) {
        for number in [0, 7, 40] {
            let _ = player.stack(number, 0);
        }
        let _ = player.sums(10..150);
        let _ = player.detail(70..120, 100, |_| {});
    }
}

/// The first byte: bit \[0], the checksums are made to fit. Then an index.
///
/// No panic. An index that is accepted, and whose checksums were not changed, gives the answers of
/// the trace.
pub fn index(data: &[u8]) {
    let Some((&how, bytes)) = data.split_first() else { return };
    let mut bytes = bytes.to_vec();
    let forged = how & 1 != 0;
    if forged {
        write_checksums(&mut bytes);
    }
    let Ok(index) = Index::read(Bytes::from(bytes)) else { return };
    let capture = capture();
    with(&capture, |subject, plans| {
        let fits = subject.check(&index, plans).is_ok();
        for plan in plans {
            for text in ["count write", "first write 2", "last time 5", "nth 3 any", "all gap"] {
                let query = Query::parse(&[text]).expect("a query");
                let answer = |index: Option<&Index>| {
                    let finder = Finder::new(subject, plan, index);
                    finder.and_then(|mut finder| finder.find(&query).ok())
                };
                let found: Option<Answer> = answer(Some(&index));
                if fits && !forged {
                    assert_eq!(found, answer(None), "{text}");
                }
            }
            let select = window::Window { offset: Some(70..120), ..Default::default() };
            let list = |index: Option<&Index>| {
                let session = subject.session(plan).ok()?;
                let sources = tracewright::views::Source::all(&capture, plan, subject.memory);
                let shown = text::Shown { packets: true, elements: true, ..Default::default() };
                let view = text::Listing::new(Vec::new(), sources, None, shown);
                let (buffer, mut lines) = (&capture.buffers[0], Vec::new());
                let indexed = index.and_then(|index| index.buffer(0));
                let mut write = |part: Vec<u8>| {
                    lines.extend(part);
                    true
                };
                let begin = &mut |_, _| {};
                window::run(session, buffer, &select, indexed, view, begin, &mut write).ok()?;
                Some(lines)
            };
            read_view(subject, plan, &index);
            let listed = list(Some(&index));
            if fits && !forged {
                assert_eq!(listed, list(None));
            }
        }
    });
}
