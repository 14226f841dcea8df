//! One buffer on several threads: the output is that of one thread, in every view.
#![allow(dead_code, reason = "each test uses what fits it")]

use tracewright::capture::{self, Buffer, BufferRef, Capture, Dump};
use tracewright::decode::input::Parts;
use tracewright::decode::parallel::{self, Work};
use tracewright::decode::{
    CommittedListener, Jobs, Memory, Merge, Merging, Options, Plan, Planned, Session, Tally,
};
use tracewright::frames::{Framing, Numbering};
use tracewright::opencsd;
use tracewright::views::instructions::{Expand, Pcs, Text};
use tracewright::views::range_limit::RangeLimit;
use tracewright::views::sinks::{Checksum, Coverage, Edges};
use tracewright::views::{Stats, json, text};

use tracewright_testing::is_long;

use crate::case::Case;

/// The trace ID of a case's bytes in formatter frames.
pub const FRAMED_ID: u8 = 0x10;

/// Decodes a case, whose bytes, or formatter frames with them, are the `buffer`. Returns the counts
/// of the run on two threads.
pub fn of_case(
    case: &Case,
    buffer: &[u8],
    framing: Framing,
    step: usize,
    chunk: usize,
) -> Result<Work, String> {
    let (capture, plan, options) = planned(case, buffer, framing);
    same(&capture, &plan, &options, step, chunk)
}

/// A case, whose bytes, or formatter frames with them, are the `buffer`, as a capture.
pub fn planned(case: &Case, buffer: &[u8], framing: Framing) -> (Capture, Plan, Options) {
    let memory = case.image.regions().iter();
    let memory = memory.map(|r| Dump::new(r.name(), r.start(), r.run(r.start()).to_vec()));
    let (name, config) = ("case".to_owned(), case.config.clone());
    let capture = Capture {
        buffers: vec![Buffer::new("case", capture::Format::CoreSight, buffer.to_vec())],
        sources: vec![capture::Source {
            name: name.clone(),
            buffers: vec![BufferRef { buffer: 0, stream: None }],
            ..capture::Source::default()
        }],
        memory: memory.collect(),
        ..Capture::default()
    };
    let sources = vec![Planned::new(0, name, FRAMED_ID.into(), config)];
    let plan = Plan::with_sources(0, framing, sources);
    let options = Options { max_expansion: case.max_expansion, ..Options::default() };
    (capture, plan, options)
}

/// The bytes of output that are passed on at once: in parts of a segment, and whole segments.
const PARTS: usize = 64;
const WHOLE: usize = 1 << 20;

/// Decodes the buffer of `plan` on one thread and on several, fed `step` bytes at a time, in chunks
/// of `chunk` bytes. Returns the counts of the run on two threads.
pub fn same(
    capture: &Capture,
    plan: &Plan,
    options: &Options,
    step: usize,
    chunk: usize,
) -> Result<Work, String> {
    let jobs = |count, output| Jobs { count, step, chunk: chunk..=chunk, output };
    let (alone, _) = views(capture, plan, options, &jobs(1, WHOLE));
    let mut work = Work::default();
    // A short run takes three threads for some buffers.
    let three = is_long() || capture.buffers[plan.buffer].len() % 4 == 3;
    for (count, output) in
        [(2, PARTS), (2, WHOLE), (3, PARTS)].into_iter().take(2 + usize::from(three))
    {
        let (several, done) = views(capture, plan, options, &jobs(count, output));
        if let Some(n) = alone.iter().zip(&several).position(|(alone, several)| alone != several) {
            return Err(format!(
                "view {n} is not the same on {count} threads, in chunks of {chunk} by {step}:\n\
                 {}\non one:\n{}",
                String::from_utf8_lossy(&several[n]),
                String::from_utf8_lossy(&alone[n]),
            ));
        }
        if count == 2 {
            work = Work { prepared: work.prepared + done.prepared, ..done };
        }
    }
    Ok(work)
}

/// The output of each view of a buffer.
fn views(capture: &Capture, plan: &Plan, options: &Options, jobs: &Jobs) -> ([Vec<u8>; 8], Work) {
    let memory = Memory::new(capture);
    let session = |numbering| {
        let options = Options { numbering, ..options.clone() };
        Session::new(capture, plan, &memory, &options).expect("a plan of this capture")
    };
    let input = || Parts::new(capture.buffers[plan.buffer].parts());
    let sources = || tracewright::views::Source::all(capture, plan, &memory);
    let len = capture.buffers[plan.buffer].len();
    let mut shown: [Vec<u8>; 8] = Default::default();
    let [frames, packets, elements, people, programs, steps, counted, quiet] = &mut shown;

    // The number of chunks that joined in the listing whose state includes whether it has listed
    // undecodable bytes.
    let mut joined = 0;
    for (packets, bytes, out) in
        [(true, true, frames), (true, false, packets), (false, false, elements)]
    {
        let what =
            opencsd::Shown { packets, bytes, elements: true, packed: bytes, unpacked: bytes };
        let mut view = opencsd::Listing::new(Vec::new(), plan, what, false);
        let mut session = session(Numbering::Opencsd);
        let done =
            parallel::run(&mut session, &mut input(), &mut view, jobs, |mut output: Vec<u8>, _| {
                out.append(&mut output);
                true
            })
            .expect("bytes in memory can be read");
        out.append(&mut view.rest());
        if packets && !bytes {
            joined = done.joined;
        }
    }

    let what = text::Shown { packets: true, bytes: true, elements: true, ..Default::default() };
    let listing = text::Listing::new(Vec::new(), sources(), Some(len), what);
    let what = json::Shown { packets: true, elements: true, fields: false };
    let json = json::Listing::new(Vec::new(), plan, sources(), "case", Some(len), what);
    let expand = Expand::new(Text::new(Vec::new(), sources(), false), &sources());
    let sinks = Merging((Checksum::default(), (Edges::default(), Coverage::default())));
    let counts = (Merging((Stats::default(), Tally::default())), sinks);
    let mut all = ((listing, json), (CommittedListener::new(expand), counts));
    let (mut found, mut sums) = <((Stats, Tally), (Checksum, (Edges, Coverage)))>::default();
    let mut all_observed = session(Numbering::Capture);
    let work = parallel::run(&mut all_observed, &mut input(), &mut all, jobs, |output, _| {
        let ((mut text, mut json), (mut ran, (more, few))) = output;
        people.append(&mut text);
        programs.append(&mut json);
        steps.append(&mut ran);
        found.merge(more);
        sums.merge(few);
        true
    })
    .expect("bytes in memory can be read");
    counted.extend(found.0.table(&sources()).into_bytes());
    let (elements, edges) = (sums.0.elements(), sums.1.0.sorted());
    counted.extend(format!("{:?} {} {elements} {edges:?}", found.1, sums.0).into_bytes());

    // Each packet is wanted above, so that no blocks are steps there.
    let mut of_steps = Merging((Checksum::default(), (Edges::default(), Coverage::default())));
    let mut all = <(Checksum, (Edges, Coverage))>::default();
    let mut step_session = session(Numbering::Capture);
    parallel::run(&mut step_session, &mut input(), &mut of_steps, jobs, |output, _| {
        all.merge(output);
        true
    })
    .expect("bytes in memory can be read");
    assert_eq!(all, sums, "steps");
    // A listener without packets: packets are counted many at a time, and not listed. It has few
    // ranges for each byte.
    let what = text::Shown { packets: false, bytes: true, elements: true, ..Default::default() };
    let limit = RangeLimit::of(plan.sources.len(), 8, 2);
    let listing = text::Listing::new(Vec::new(), sources(), Some(len), what).with_limit(limit);
    let mut view = (listing, Merging(Tally::default()));
    let mut tally = Tally::default();
    let mut quiet_session = session(Numbering::Capture);
    parallel::run(&mut quiet_session, &mut input(), &mut view, jobs, |(mut output, counts), _| {
        quiet.append(&mut output);
        tally.merge(counts);
        true
    })
    .expect("bytes in memory can be read");
    assert_eq!(format!("{tally:?}"), format!("{:?}", found.1), "packets counted together");

    // Addresses: the lines of blocks by their numbers, and, where each packet is wanted, of ranges.
    let addresses = || Expand::new(Pcs::new(Vec::new()), &sources());
    let (mut by_block, mut by_range) = (Vec::new(), Vec::new());
    let (mut block_session, mut range_session) =
        (session(Numbering::Capture), session(Numbering::Capture));
    parallel::run(&mut block_session, &mut input(), &mut addresses(), jobs, |mut output, _| {
        by_block.append(&mut output);
        true
    })
    .expect("bytes in memory can be read");
    let mut view = (addresses(), Merging(Stats::default()));
    parallel::run(&mut range_session, &mut input(), &mut view, jobs, |(mut output, _), _| {
        by_range.append(&mut output);
        true
    })
    .expect("bytes in memory can be read");
    assert_eq!(by_block, by_range, "addresses by block");

    (shown, Work { joined: work.joined.min(joined), ..work })
}
