//! Several harts in one stream, each message with a source number: the elements of each hart are
//! those of its messages alone.

use std::path::Path;

use tracewright::Listener;
use tracewright::base::{Element, Parse, StepSink, Wire};
use tracewright::capture::{Buffer, BufferRef, Capture, Core, Dump, Format, Owner, Source};
use tracewright::decode::input::Parts;
use tracewright::decode::{
    Event, Jobs, Memory, Merge, Merging, Options, Plan, Session, Wants, Why, parallel,
};
use tracewright::frames::{Framing as Frames, Joiner};
use tracewright::image::Image;
use tracewright::logs::{Recorder, Recording};
use tracewright::protocols::etrace::config::{Framing, PARAMETERS, Profile};
use tracewright::protocols::etrace::packet::Payload;
use tracewright::protocols::etrace::{Packet, Params};
use tracewright::protocols::registry::AnyProtocol;
use tracewright::views::json;

use tracewright_testing::short_or_long;

use crate::decode::elf;
use crate::program::{Mix, Random, run};
use crate::run::{cache, elements, program};
use crate::streams::{self, Stream};

/// A hart: its program, its trace unit, and its messages.
struct Hart {
    image: std::sync::Arc<Image>,
    params: Params,
    messages: Vec<Vec<u8>>,
}

impl Hart {
    /// The packets of a stream, in messages with a source number.
    fn of(root: &Path, stream: &Stream, number: u16, width: u8, timestamp: u8) -> Hart {
        let mut params = stream.params;
        (params.link.framing, params.link.type_width) = (Framing::Encapsulated, 1);
        (params.link.source_width, params.link.source) = (width, number);
        params.link.timestamp_bytes = timestamp;
        let (mut at, mut messages) = (0, Vec::new());
        while let Parse::Packet(mut packet, len) =
            Packet::parse(&stream.bytes[at..], &stream.params)
        {
            packet.envelope.source = number;
            packet.envelope.timestamp = (timestamp > 0 && at % 3 != 0).then_some(at as u64 & 0xff);
            let mut message = Vec::new();
            packet.emit(&params, &mut message);
            messages.push(message);
            at += len;
        }
        assert_eq!(at, stream.bytes.len());
        Hart { image: program(elf(root, stream), stream.params.rv64), params, messages }
    }

    /// The elements of this hart's messages alone.
    fn alone(&self) -> Vec<(u64, Element)> {
        let mut emitted: Vec<(u64, Element)> = Vec::new();
        let bytes = self.messages.concat();
        elements(&bytes, &self.params, &mut cache(&self.image, &self.params), &mut emitted);
        emitted
    }
}

/// The messages of all harts in one stream, in random order. For each message of each hart: its
/// offset among the hart's own messages, and its offset in the stream.
fn mixed(harts: &[Hart], random: &mut Random) -> (Vec<u8>, Vec<Vec<(u64, u64)>>) {
    let mut next = vec![0; harts.len()];
    let mut own = vec![0u64; harts.len()];
    let (mut bytes, mut offsets) = (Vec::new(), vec![Vec::new(); harts.len()]);
    loop {
        let left = |n: &usize| next[*n] < harts[*n].messages.len();
        let open: Vec<usize> = (0..harts.len()).filter(left).collect();
        if open.is_empty() {
            return (bytes, offsets);
        }
        let n = random.pick(&open);
        for _ in 0..=random.below(3) {
            let Some(message) = harts[n].messages.get(next[n]) else { break };
            offsets[n].push((own[n], bytes.len() as u64));
            own[n] += message.len() as u64;
            bytes.extend_from_slice(message);
            next[n] += 1;
        }
    }
}

/// A capture of harts, each with its own program.
fn capture(harts: &[Hart], format: Format, bytes: Vec<u8>) -> Capture {
    let mut capture =
        Capture { buffers: vec![Buffer::new("ram", format, bytes)], ..Capture::default() };
    for (n, hart) in harts.iter().enumerate() {
        capture.cores.push(Core { name: format!("core{n}"), ..Core::default() });
        let known = PARAMETERS.iter().filter_map(|p| Some((p.name(), (p.get)(&hart.params)?)));
        capture.sources.push(Source {
            name: format!("hart{n}"),
            device_type: "etrace".to_owned(),
            registers: known.collect(),
            core: Some(n),
            buffers: vec![BufferRef { buffer: 0, stream: None }],
            ..Source::default()
        });
        for region in hart.image.regions() {
            let bytes = region.run(region.start()).to_vec();
            let dump = Dump::new(region.name(), region.start(), bytes);
            capture.memory.push(Dump { owner: Owner::Core(n), ..dump });
        }
    }
    capture
}

/// The elements of each source, unknown IDs, and undecodable bytes of the link.
#[derive(Default)]
struct Recorded(Vec<Vec<(u64, Element)>>, Vec<(u16, usize)>, u64);

impl Listener for Recorded {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if source >= self.0.len() {
            self.0.resize(source + 1, Vec::new());
        }
        self.0[source].push((at, element));
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::UnknownId { id, len, .. } => self.1.push((*id, *len)),
            Event::Link { event: tracewright::frames::Event::Bad { len, .. }, .. } => {
                self.2 += u64::from(*len);
            }
            _ => {}
        }
    }

    fn wants(&self) -> Wants {
        Wants::EACH_PACKET
    }
}

fn decode(capture: &Capture, options: &Options) -> Recorded {
    let plan = Plan::new(capture, 0, options).expect("a plan");
    let memory = Memory::new(capture);
    let mut recorded = Recorded(vec![Vec::new(); plan.sources.len()], Vec::new(), 0);
    Session::new(capture, &plan, &memory, options)
        .unwrap()
        .run(capture.buffers[0].parts(), &mut recorded);
    recorded
}

impl Merge for Recorded {
    fn merge(&mut self, later: Recorded) {
        self.0.resize(later.0.len().max(self.0.len()), Vec::new());
        for (all, more) in self.0.iter_mut().zip(later.0) {
            all.extend(more);
        }
        self.1.extend(later.1);
        self.2 += later.2;
    }
}

/// The elements of each of `sources`, decoded on two threads in short steps.
fn by_two(capture: &Capture, sources: usize) -> Vec<Vec<(u64, Element)>> {
    let options = Options::default();
    let plan = Plan::new(capture, 0, &options).expect("a plan");
    let mut session = Session::new(capture, &plan, &Memory::new(capture), &options).unwrap();
    let mut recorded = Recorded::default();
    let jobs = Jobs { step: 32, chunk: 512..=512, ..Jobs::new(2) };
    let mut input = Parts::new(capture.buffers[0].parts());
    let listener = &mut Merging(Recorded::default());
    parallel::run(&mut session, &mut input, listener, &jobs, |output, _| {
        recorded.merge(output);
        true
    })
    .unwrap();
    recorded.0.resize(sources, Vec::new());
    recorded.0
}

/// The elements without offsets.
fn what(list: &[(u64, Element)]) -> Vec<Element> {
    list.iter().map(|(_, element)| *element).collect()
}

/// Golden streams of programs for RV32 and RV64 as harts of one stream.
fn golden(root: &Path, width: u8, numbers: &[u16], timestamp: u8) -> Vec<Hart> {
    let mut all = streams::reference(root);
    all.retain(|stream| (3_000..25_000).contains(&stream.bytes.len()));
    let step = all.len() / numbers.len();
    let harts = numbers.iter().zip(all.iter().step_by(step));
    harts.map(|(number, stream)| Hart::of(root, stream, *number, width, timestamp)).collect()
}

#[test]
fn message_by_message() {
    let Some(root) = streams::shared() else { return };
    let mut random = Random::new(5);
    for (width, numbers, timestamp) in [
        (1, &[0, 1][..], 0),
        (3, &[6, 1, 4], 2),
        (8, &[0, 255, 17], 0),
        (10, &[0x155, 0x3ff, 0], 1),
        (16, &[0xffff, 0x0100, 0x00ff], 8),
    ] {
        let harts = golden(&root, width, numbers, timestamp);
        let (bytes, offsets) = mixed(&harts, &mut random);
        let capture = capture(&harts, Format::Encapsulated, bytes);
        let recorded = decode(&capture, &Options::default());
        assert_eq!((recorded.1.len(), recorded.2), (0, 0), "no unknown IDs");
        let plan = Plan::new(&capture, 0, &Options::default()).unwrap();
        assert!(plan.sources.iter().map(|source| source.id).eq(numbers.iter().copied()));
        // Unknown IDs are reported with their numbers.
        let mut some = capture.clone();
        some.sources.truncate(1);
        let mut others: Vec<_> =
            decode(&some, &Options::default()).1.into_iter().map(|(number, _)| number).collect();
        others.sort_unstable();
        others.dedup();
        let mut want = numbers[1..].to_vec();
        want.sort_unstable();
        assert_eq!(others, want);
        let mut frames = Vec::new();
        let mut joiner = Joiner::new(Frames::Coresight);
        for (n, hart) in harts.iter().enumerate() {
            let mut want = hart.alone();
            for (at, _) in &mut want {
                let k = offsets[n].partition_point(|(own, _)| own <= at) - 1;
                *at = offsets[n][k].1;
            }
            assert!(want.len() > 100, "there is something to compare");
            assert!(recorded.0[n] == want, "width {width}, hart {n}");
            hart.messages.iter().for_each(|m| joiner.push(n as u8 + 1, m, &mut frames).unwrap());
        }
        joiner.finish(&mut frames);
        // The same units on a trace bus.
        let mut bus = capture.clone();
        bus.buffers = vec![Buffer::new("etr", Format::CoreSight, frames)];
        for (n, source) in bus.sources.iter_mut().enumerate() {
            source.registers.0.retain(|register| register.name != "trace_id");
            source.parameter("trace_id", &(n + 1).to_string());
        }
        let framed = decode(&bus, &Options::default());
        for (one, other) in recorded.0.iter().zip(&framed.0) {
            assert!(what(one) == what(other), "in frames");
        }
    }
}

/// Selected harts, and unknown IDs.
#[test]
fn some_of_them() {
    let Some(root) = streams::shared() else { return };
    let harts = golden(&root, 4, &[2, 3, 9], 0);
    let (bytes, _) = mixed(&harts, &mut Random::new(3));
    let sizes = harts.iter().map(|hart| hart.messages.iter().map(Vec::len).sum::<usize>());
    let sizes: Vec<_> = sizes.collect();
    let mut capture = capture(&harts, Format::Encapsulated, bytes);
    let options = Options { ids: vec![3], ..Options::default() };
    let recorded = decode(&capture, &options);
    assert!(what(&recorded.0[0]) == what(&harts[1].alone()));
    let of =
        |id: u16| recorded.1.iter().filter(|(i, _)| *i == id).map(|(_, len)| len).sum::<usize>();
    assert_eq!((of(2), of(9)), (sizes[0], sizes[2]));
    // One of the IDs is unknown.
    capture.sources.remove(0);
    let recorded = decode(&capture, &Options::default());
    assert!(what(&recorded.0[0]) == what(&harts[1].alone()));
    assert!(what(&recorded.0[1]) == what(&harts[2].alone()));
    assert!(recorded.1.iter().all(|(id, _)| *id == 2));
    // Two sources have the same number, and a third has another `source_width`.
    let mut twice = capture.clone();
    twice.sources.push(twice.sources[0].clone());
    let mut other = twice.sources[0].clone();
    other.registers.0.iter_mut().filter(|r| r.name == "source_width").for_each(|r| r.value = 5);
    twice.sources.push(other);
    let plan = Plan::new(&twice, 0, &Options::default()).unwrap();
    let why: Vec<_> = plan.skipped.iter().map(|skipped| skipped.why).collect();
    assert_eq!(why, [Why::SameId(3), Why::OtherLink]);
    assert!(plan.skipped[1].message.contains("source_width"), "{}", plan.skipped[1].message);
}

/// A damaged payload affects only the hart of its message. After a damaged header each hart reports
/// that messages may be missing, and resumes at its next packet of format 3.
#[test]
fn damage() {
    let Some(root) = streams::shared() else { return };
    let harts = golden(&root, 4, &[2, 3, 9], 0);
    let mut random = Random::new(17);
    let (bytes, offsets) = mixed(&harts, &mut random);
    let clean = decode(&capture(&harts, Format::Encapsulated, bytes.clone()), &Options::default());
    let (mut inside, mut outside) = (0, 0);
    for round in 0..short_or_long(20, 60) {
        let hit = round % harts.len();
        let k = 20 + random.below(offsets[hit].len() as u64 - 40) as usize;
        let (message, at) = (&harts[hit].messages[k], offsets[hit][k].1 as usize);
        let mut damaged = bytes.clone();
        if round % 2 == 0 {
            // A reserved message type, or bits behind the last field: the message is not a packet.
            damaged[at + 2..at + message.len()].fill(0x5a);
            let got = decode(
                &capture(&harts, Format::Encapsulated, damaged.clone()),
                &Options::default(),
            );
            for n in (0..harts.len()).filter(|n| *n != hit) {
                assert!(got.0[n] == clean.0[n], "round {round}: hart {n} is not disturbed");
            }
            inside += usize::from(got.0[hit] != clean.0[hit]);
        } else {
            // The damage includes headers and lengths.
            let len = 1 + random.below(30) as usize;
            (at..at + len).for_each(|at| damaged[at] = random.next() as u8);
            let capture = capture(&harts, Format::Encapsulated, damaged);
            let got = decode(&capture, &Options::default());
            assert!(by_two(&capture, harts.len()) == got.0, "round {round}: two threads");
            for n in 0..harts.len() {
                let starts = harts[n].messages.iter().zip(&offsets[n]).filter(|(message, (_, at_))| {
                    let parsed = Packet::parse(message, &harts[n].params);
                    *at_ as usize > at + len + 600
                        && matches!(parsed, Parse::Packet(p, _) if matches!(p.payload, Payload::Start(_)))
                });
                let Some((_, (_, start))) = starts.into_iter().next() else { continue };
                let after = |list: &[(u64, Element)]| {
                    let from = list.partition_point(|(at, _)| at <= start);
                    list[from..].to_vec()
                };
                assert!(after(&got.0[n]) == after(&clean.0[n]), "round {round}: hart {n} is back");
                outside += 1;
            }
        }
    }
    println!("{inside} payloads were damaged, {outside} harts compared after damage to headers");
    assert!(inside > short_or_long(4, 15) && outside > short_or_long(8, 30));
}

/// A ring buffer that wrapped begins at any byte of a message.
#[test]
fn rings() {
    let Some(root) = streams::shared() else { return };
    for (width, numbers) in [(4, [2, 3, 9]), (2, [0, 1, 2])] {
        let mut harts = golden(&root, width, &numbers, 0);
        let mut random = Random::new(23);
        let (bytes, offsets) = mixed(&harts, &mut random);
        let clean =
            decode(&capture(&harts, Format::Encapsulated, bytes.clone()), &Options::default());
        for hart in &mut harts {
            hart.params.link.aligned = false;
        }
        let mut compared = 0;
        for _ in 0..short_or_long(8, 20) {
            let lost = random.below(bytes.len() as u64 * 2 / 3) as usize;
            let rest = bytes[lost..].to_vec();
            let got = decode(&capture(&harts, Format::Encapsulated, rest), &Options::default());
            for n in 0..harts.len() {
                let starts = harts[n].messages.iter().zip(&offsets[n]).filter(|(message, (_, at))| {
                    let parsed = Packet::parse(message, &harts[n].params);
                    *at as usize > lost + 600
                        && matches!(parsed, Parse::Packet(p, _) if matches!(p.payload, Payload::Start(_)))
                });
                let Some((_, (_, start))) = starts.into_iter().next() else { continue };
                let after = |list: &[(u64, Element)], lost: u64| {
                    let from = list.partition_point(|(at, _)| at + lost <= *start);
                    list[from..].iter().map(|(at, e)| (at + lost, *e)).collect::<Vec<_>>()
                };
                assert!(
                    after(&got.0[n], lost as u64) == after(&clean.0[n], 0),
                    "from {lost}, hart {n}"
                );
                compared += 1;
            }
        }
        assert!(compared > short_or_long(8, 20), "{compared}");
    }
}

/// The output does not depend on the number of threads.
#[test]
fn threads() {
    let Some(root) = streams::shared() else { return };
    let harts = golden(&root, 4, &[2, 3, 9], 0);
    let mut random = Random::new(29);
    let (mut bytes, _) = mixed(&harts, &mut random);
    for round in 0..2 {
        let capture = capture(&harts, Format::Encapsulated, bytes.clone());
        let plan = Plan::new(&capture, 0, &Options::default()).unwrap();
        let memory = Memory::new(&capture);
        let mut one: Option<Vec<u8>> = None;
        for count in [1, 2, 3, 8] {
            let jobs = Jobs { count, step: 512, chunk: 2048..=2048, ..Jobs::new(count) };
            let sources = tracewright::views::Source::all(&capture, &plan, &memory);
            let what = json::Shown { packets: true, elements: true, fields: false };
            let mut view = json::Listing::new(Vec::new(), &plan, sources, "ram", None, what);
            let mut session = Session::new(&capture, &plan, &memory, &Options::default()).unwrap();
            let mut emitted: Vec<u8> = Vec::new();
            let input = &mut Parts::new(capture.buffers[0].parts());
            let work =
                parallel::run(&mut session, input, &mut view, &jobs, |mut more: Vec<u8>, _| {
                    emitted.append(&mut more);
                    true
                })
                .unwrap();
            assert!(count == 1 || work.chunks > 3, "{work:?}");
            match &one {
                None => one = Some(emitted),
                Some(one) => assert!(*one == emitted, "round {round}: {count} threads"),
            }
        }
        // The next round decodes a damaged stream.
        for _ in 0..20 {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.next() as u8;
        }
    }
}

/// The output does not depend on the chunks of the input.
#[test]
fn pieces() {
    let Some(root) = streams::shared() else { return };
    let harts = golden(&root, 6, &[2, 33], 1);
    let mut random = Random::new(31);
    let (mut bytes, _) = mixed(&harts, &mut random);
    bytes.truncate(6_000);
    for at in [100, 2_000, 2_050, 4_000] {
        bytes[at] ^= 0x3f;
    }
    let capture = capture(&harts, Format::Encapsulated, bytes.clone());
    let whole = decode(&capture, &Options::default());
    let plan = Plan::new(&capture, 0, &Options::default()).unwrap();
    let memory = Memory::new(&capture);
    for most in [1, 2, 7, 100] {
        let mut recorded = Recorded(vec![Vec::new(); 2], Vec::new(), 0);
        let mut session = Session::new(&capture, &plan, &memory, &Options::default()).unwrap();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (part, after) = rest.split_at(rest.len().min(1 + random.below(most) as usize));
            session.feed(part, &mut recorded);
            rest = after;
        }
        session.finish(&mut recorded);
        assert!(recorded.0 == whole.0 && recorded.2 == whole.2, "pieces of {most}");
    }
}

/// Software models of trace units share a stream: the elements of each hart are those of a separate
/// buffer.
#[test]
fn encoded() {
    for (seed, profile, width) in
        [(1, Profile::Spec, 0), (2, Profile::ReferenceFlow, 2), (3, Profile::Siemens, 12)]
    {
        let mix = Mix {
            rv64: seed != 2,
            traps: 40,
            nested: false,
            astray: 0,
            levels: true,
            contexts: 0,
            vectored: false,
            ..Mix::default()
        };
        let runs: Vec<_> = (0..3).map(|n| run(seed * 100 + n, 300, 4_000, mix)).collect();
        let mut registers = vec![
            ("version".to_owned(), profile.version().number()),
            ("profile".to_owned(), profile.number()),
            ("xlen".to_owned(), if mix.rv64 { 64 } else { 32 }),
        ];
        if width > 0 {
            registers.push(("source_width".to_owned(), width));
            registers.push(("source".to_owned(), 1));
        }
        let record = |messages: bool| {
            let mut recorder = Recorder::new(Recording {
                protocol: AnyProtocol::Etrace,
                registers: registers.clone(),
                texts: Vec::new(),
                framing: Frames::Raw,
                messages,
                core: String::new(),
                images: Vec::new(),
            })
            .expect("a recorder");
            for k in 0..runs.iter().map(|run| run.steps.len()).max().unwrap_or(0) {
                for (n, run) in runs.iter().enumerate() {
                    if let Some(step) = run.steps.get(k) {
                        recorder.step(n as u16, step);
                    }
                }
            }
            recorder.finish().expect("a capture")
        };
        let own = |capture: &mut Capture| {
            for (n, run) in runs.iter().enumerate() {
                capture.cores.push(Core { name: format!("core{n}"), ..Core::default() });
                capture.sources[n].core = Some(n);
                for region in run.image.regions() {
                    let bytes = region.run(region.start()).to_vec();
                    let dump = Dump::new(region.name(), region.start(), bytes);
                    capture.memory.push(Dump { owner: Owner::Core(n), ..dump });
                }
            }
        };
        let (mut shared, mut apart) = (record(true), record(false));
        assert_eq!((shared.buffers.len(), apart.buffers.len()), (1, 3));
        assert_eq!(shared.buffers[0].format, Format::Encapsulated);
        own(&mut shared);
        own(&mut apart);
        let recorded = decode(&shared, &Options::default());
        for n in 0..3 {
            let plan = Plan::new(&apart, n, &Options::default()).unwrap();
            let memory = Memory::new(&apart);
            let mut alone = Recorded(vec![Vec::new()], Vec::new(), 0);
            Session::new(&apart, &plan, &memory, &Options::default())
                .unwrap()
                .run(apart.buffers[n].parts(), &mut alone);
            assert!(what(&recorded.0[n]).len() > 200);
            assert!(what(&recorded.0[n]) == what(&alone.0[0]), "{profile}, hart {n}");
        }
        let source = |n: usize| shared.sources[n].register("source");
        let first = u64::from(width > 0);
        assert_eq!([0, 1, 2].map(source), [0, 1, 2].map(|n| Some(n + first)));
    }
    // Three harts do not fit into one bit.
    let recording = Recording {
        protocol: AnyProtocol::Etrace,
        registers: vec![("source_width".to_owned(), 1), ("source".to_owned(), 2)],
        texts: Vec::new(),
        framing: Frames::Raw,
        messages: true,
        core: String::new(),
        images: Vec::new(),
    };
    let wrong = Recorder::new(recording).expect_err("no room").to_string();
    assert!(wrong.contains("does not fit into source_width = 1"), "{wrong}");
}
