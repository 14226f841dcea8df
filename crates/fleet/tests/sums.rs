//! The sum of units, however a buffer is divided and in whatever order parts are merged, is what
//! decoding the whole buffer counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tracewright::analysis::coverage_runs::Digest;
use tracewright::capture::{Buffer, Bytes, Capture};
use tracewright::decode::{Jobs, Options};
use tracewright::index::{Index, Making, Shape};
use tracewright::{Trace, read_capture};
use tracewright_fleet::{
    BufferCounts, CaptureIdentity, FleetError, Job, Measured, Part, Payload, Plan, Planned,
    ProgramSums, Unit, divided,
};
use tracewright_testing::{Random, shared, short_or_long, times};

/// A capture whose buffers are indexed.
struct Case {
    name: String,
    trace: Trace,
    index: Index,
    identity: CaptureIdentity,
}

/// Captures with instructions: those of the repository, and others beside it.
fn paths() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    let own = ["ete", "etmv1", "etmv2", "etmv3", "etmv4", "etrace-1.0", "etrace-2.0", "itm"];
    let own = own.into_iter().chain(["etrace-draft", "ntrace-btm", "ntrace-htm", "ptm", "stm"]);
    let mut all: Vec<PathBuf> = own.map(|name| root.join(name).join("capture")).collect();
    for name in ["juno_r1_1", "tc2-ptm-rstk-t32", "Snowball", "bugfix-exact-match"] {
        all.extend(shared(&format!("conformance/arm/snapshots/{name}")));
    }
    all.extend(shared("captures/simpleperf-etm/perf_etm.data"));
    all.retain(|path| path.exists());
    all
}

/// The length of a segment, such that a buffer has many.
fn segment(capture: &Capture, random: &mut Random) -> u64 {
    let longest = capture.buffers.iter().map(Buffer::len).max().unwrap_or(0);
    (longest / (4 + random.below(60))).clamp(64, 1 << 14)
}

fn indexed(trace: &Trace, segment: u64) -> Index {
    let shape = Shape::new(segment, 4);
    let making = Making { shape, ..Making::default() };
    let mut bytes = Vec::new();
    let write = |part: &[u8], _: u64| {
        bytes.extend_from_slice(part);
        Ok(true)
    };
    trace.subject().make(trace.plans(), &making, write).expect("an index");
    Index::read(Bytes::from(bytes)).expect("an index")
}

impl Case {
    fn of(name: &str, capture: Capture, random: &mut Random) -> Option<Case> {
        let trace = Trace::decoded_with(capture, Options::default());
        if trace.plans().is_empty() {
            return None;
        }
        let index = indexed(&trace, segment(trace.capture(), random));
        let identity =
            CaptureIdentity::of(&trace, trace.plans(), Some(&index), &ProgramSums::default())
                .expect("data");
        Some(Case { name: name.to_owned(), trace, index, identity })
    }

    /// A plan whose borders are at random segments.
    fn plan(&self, job: &str, random: &mut Random) -> Plan {
        let borders = self.identity.buffers.iter().map(|own| {
            let mut all: Vec<usize> =
                (0..random.below(64)).map(|_| random.index(own.segments)).collect();
            all.extend([0, own.segments]);
            all.sort_unstable();
            all.dedup();
            all
        });
        let planned = Planned { identity: self.identity.clone(), borders: borders.collect() };
        // Each piece is a unit.
        Plan::new(job_of(job), vec![planned], 1).expect("one capture")
    }

    /// The part of one unit.
    fn compute(&self, plan: &Plan, unit: &Unit) -> Result<Part, FleetError> {
        let mut part = Part::new(plan, Payload::Counts(BTreeMap::new()));
        let jobs = Jobs::default();
        let mut states = Vec::new();
        for piece in &plan.pieces(unit) {
            let of = self.measured(piece.buffer, true, &jobs);
            let done = match plan.job.name.as_str() {
                "branch-list" => of.branch_list(piece, &mut part.payload)?,
                _ => of.counts(piece, &mut part.payload)?,
            };
            states.push(done.1);
        }
        part.add_unit(plan, unit, states)?;
        Ok(part)
    }

    fn measured<'a>(&'a self, buffer: usize, divides: bool, jobs: &'a Jobs) -> Measured<'a> {
        let mut plans = self.trace.plans().iter();
        let plan = plans.find(|plan| plan.buffer == buffer).expect("its plan");
        let index = divided(Some(&self.index), plan).filter(|_| divides);
        Measured { trace: &self.trace, plan, index, committed: false, jobs }
    }

    /// The counts, and those of the decoder with the places of what was first.
    fn shown(&self, payload: &Payload) -> (BTreeMap<String, u64>, Vec<String>) {
        let Payload::Counts(counts) = payload else { unreachable!("counts") };
        let buffers = self.identity.buffers.iter();
        let tallies = buffers.filter_map(|own| {
            let all = BufferCounts::take(&self.identity.data, own.number, payload)?;
            Some(format!("{:?}", all.tally))
        });
        let tallies = tallies.collect();
        let counts = counts.iter().filter(|(key, _)| !is_first(key));
        (counts.map(|(key, count)| (key.clone(), *count)).collect(), tallies)
    }

    /// What decoding whole buffers counts, on several threads and without the index.
    fn whole(&self, plan: &Plan) -> Payload {
        let mut all = Payload::Counts(BTreeMap::new());
        let jobs = Jobs { count: 2, ..Jobs::default() };
        for own in &self.identity.buffers {
            let piece = tracewright_fleet::Piece {
                capture: self.identity.data,
                buffer: own.number,
                segments: (0, own.segments),
            };
            let of = self.measured(own.number, false, &jobs);
            let done = match plan.job.name.as_str() {
                "branch-list" => of.branch_list(&piece, &mut all),
                _ => of.counts(&piece, &mut all),
            };
            done.expect("the whole buffer");
        }
        all
    }
}

/// A count of first places of a unit: there is one for each unit.
fn is_first(key: &str) -> bool {
    key.split(' ').nth(2) == Some("first")
}

fn job_of(name: &str) -> Job {
    Job { name: name.to_owned(), divides: true }
}

/// `capture` with short buffers several times; where it is `damaged`, with bytes that were changed
/// or lost.
fn longer(mut capture: Capture, damaged: bool, random: &mut Random) -> Capture {
    for buffer in &mut capture.buffers {
        let mut bytes = buffer.bytes().into_owned();
        if bytes.is_empty() {
            continue;
        }
        bytes = bytes.repeat(1 + 8000 / bytes.len());
        for _ in 0..if damaged { 1 + random.below(8) } else { 0 } {
            let n = random.index(bytes.len());
            bytes[n] ^= 1 << random.below(8);
        }
        if damaged && random.one_in(3) {
            let from = random.index(bytes.len());
            bytes.drain(from..(from + 1 + random.index(40)).min(bytes.len()));
        }
        *buffer = Buffer::new(buffer.name.clone(), buffer.format.clone(), bytes);
    }
    capture.stamps.clear();
    capture
}

/// Merges all in a random order and grouping, through files.
fn merged(mut parts: Vec<Part>, random: &mut Random) -> Part {
    while parts.len() > 1 {
        let mut one = parts.swap_remove(random.index(parts.len()));
        let other = parts.swap_remove(random.index(parts.len()));
        one.merge(other).expect("parts of one plan");
        let bytes = one.write();
        let read = Part::read(&bytes).expect("a part");
        assert_eq!((&read, read.write() == bytes), (&one, true));
        parts.push(read);
    }
    parts.pop().expect("a part")
}

#[test]
fn any_division_adds_up_to_the_whole() {
    let mut random = Random::new(5806);
    let paths = paths();
    let (mut units, mut active, mut firsts) = (0, 0, 0);
    for round in 0..times(short_or_long(2, 40)) {
        for path in &paths {
            let capture = read_capture(path).expect("a capture");
            let capture = longer(capture, round % 2 == 1, &mut random);
            let name = format!("{} round {round}", path.display());
            let Some(case) = Case::of(&name, capture, &mut random) else { continue };
            for job in ["counts", "branch-list"] {
                let plan = case.plan(job, &mut random);
                let mut parts = Vec::new();
                for unit in &plan.units {
                    let part = match case.compute(&plan, unit) {
                        Ok(part) => part,
                        Err(error) => panic!("{} {job} {unit:?}: {error}", case.name),
                    };
                    if random.one_in(4) {
                        // A second execution has the same bytes.
                        let again = case.compute(&plan, unit).expect("as before");
                        assert_eq!(again.write(), part.write(), "{}", case.name);
                    }
                    parts.push(part);
                }
                units += parts.len();
                let sum = merged(parts, &mut random);
                sum.complete(0).expect("all units");
                let whole = case.whole(&plan);
                assert_eq!(case.shown(&sum.payload), case.shown(&whole), "{} {job}", case.name);
                let Payload::Counts(counts) = whole else { unreachable!("counts") };
                firsts += counts.keys().filter(|key| is_first(key)).count();
                active += usize::from(counts.keys().any(|key| key.contains("executed")));
            }
        }
    }
    assert!(firsts > 10, "{firsts} places of what was first");
    assert!(units > 300 && active > 10, "{units} units, {active} captures with instructions");
}

fn case(random: &mut Random) -> Case {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures/etmv4/capture");
    let capture = longer(read_capture(&root).expect("a capture"), false, random);
    Case::of("etmv4", capture, random).expect("a plan")
}

/// A plan of at least four units.
fn several(case: &Case, random: &mut Random) -> Plan {
    let mut plans = (0..100).map(|_| case.plan("counts", random));
    plans.find(|plan| plan.units.len() > 3).expect("many segments")
}

/// Changes the captures of a part, whose buffers are divided.
fn changed(part: &mut Part, change: &dyn Fn(&mut CaptureIdentity)) {
    let all = part.captures.iter().map(|mut own| {
        change(&mut own);
        own
    });
    part.captures = all.collect();
}

#[test]
fn parts_that_have_no_sum_are_refused() {
    let mut random = Random::new(11);
    let case = case(&mut random);
    let plan = several(&case, &mut random);
    let of = |n: usize| case.compute(&plan, &plan.units[n]).expect("a part");
    let refused = |mut one: Part, other: Part| one.merge(other).expect_err("no sum").to_string();

    let text = refused(of(1), of(1));
    assert!(text.contains("counted twice") && text.contains(&plan.units[1].id), "{text}");
    // Other borders: a part of a unit is shared.
    let other = several(&case, &mut Random::new(12));
    let whole = merged(
        other.units.iter().map(|unit| case.compute(&other, unit).expect("a part")).collect(),
        &mut random,
    );
    assert!(refused(of(1), whole).contains("counted twice"));

    let with = |change: &dyn Fn(&mut Part)| {
        let mut part = of(2);
        change(&mut part);
        refused(of(0), part)
    };
    let text = with(&|part| part.tool = "tracewright 9".into());
    assert!(text.contains("version") && text.contains("tracewright 9"), "{text}");
    assert!(with(&|part| part.job = "branch-list".into()).contains("branch-list"));
    let digest = plan.digest();
    let change = |part: &mut Part, programs: bool| {
        changed(part, &|own| {
            *(if programs { &mut own.programs } else { &mut own.options }) = digest;
        });
    };
    assert!(with(&|part| change(part, true)).contains("program"));
    assert!(with(&|part| change(part, false)).contains("options"));
    let text = with(&|part| part.total = 2);
    assert!(text.contains("plan") && text.contains("number of captures: 1 and 2"), "{text}");
    // The same data, divided in another way: there is an index, or another one.
    let segments = |part: &mut Part| {
        changed(part, &|own| own.buffers.iter_mut().for_each(|own| own.segments = 1));
    };
    let text = with(&|part| segments(part));
    let count = case.identity.buffers[0].segments;
    let divided = format!("divided in {count} segments, and not divided");
    assert!(text.contains(&divided) && !text.contains("Extent"), "{text}");
    let renamed = |part: &mut Part, change: &dyn Fn(&mut Part)| {
        changed(part, &|own| own.data = digest);
        part.plan = digest;
        change(part);
    };
    let text = with(&|part| renamed(part, &segments));
    assert!(text.contains(&divided), "{text}");
    let text = with(&|part| renamed(part, &|_| ()));
    assert!(text.contains("bytes of the trace"), "{text}");
    let longer = |part: &mut Part| {
        changed(part, &|own| own.buffers.iter_mut().for_each(|own| own.bytes += 1));
    };
    assert!(with(&|part| renamed(part, &longer)).contains("bytes of buffer"));
    let text = with(&|part| {
        part.captures.clear();
        part.pieces.clear();
        part.plan = Digest::of(b"another plan");
    });
    assert!(text.contains("no unit"), "{text}");

    // A unit that did not begin in the state in which the one before it ended.
    let mut next = of(1);
    for done in next.pieces.values_mut() {
        done.states = done.states.as_ref().map(|own| Box::new([digest, own[1]]));
    }
    let text = refused(of(0), next);
    assert!(text.contains(&plan.units[0].id) && text.contains("state"), "{text}");

    let mut sum = of(0);
    sum.merge(of(2)).expect("units that are not adjacent");
    let lacking = sum.complete(0).expect_err("units are lacking").to_string();
    let (begin, end) = plan.pieces(&plan.units[1])[0].segments;
    assert!(lacking.contains(&format!("segments {begin}..{end}")), "{lacking}");
}

#[test]
fn damaged_files_are_refused() {
    let mut random = Random::new(3);
    let case = case(&mut random);
    let plan = several(&case, &mut random);
    let bytes = case.compute(&plan, &plan.units[0]).expect("a part").write();
    assert!(Part::read(&bytes).is_ok());
    for _ in 0..300 {
        let mut other = bytes.clone();
        match random.below(3) {
            0 => other.truncate(random.index(bytes.len())),
            1 => other[random.index(bytes.len())] ^= 1 << random.below(8),
            _ => {
                other.remove(random.index(bytes.len()));
            }
        }
        assert!(Part::read(&other).is_err() || other == bytes);
    }
    // The first and the last line are complete, also where the digest is that of the bytes.
    let text = String::from_utf8(bytes).expect("text");
    let again = |text: &str, change: &dyn Fn(&str) -> String| {
        let (before, last) = text.trim_end().rsplit_once('\n').expect("lines");
        let (_, digest) = last.split_once("sha256").expect("a digest");
        let own = Digest::of(format!("{before}\n").as_bytes()).to_string();
        let last = last.replace(digest, &format!("\":\"{own}\"}}"));
        Part::read(format!("{before}\n{}\n", change(&last)).as_bytes())
    };
    let same = |last: &str| last.to_owned();
    assert!(again(&text, &same).is_ok());
    let lines = text.lines().count() - 1;
    for other in [format!("\"lines\":{}", lines + 1), "\"lines\":null".into(), "\"x\":1".into()] {
        let change = |last: &str| last.replace(&format!("\"lines\":{lines}"), &other);
        let error = again(&text, &change).expect_err("another number").to_string();
        assert!(error.contains("number of lines"), "{error}");
    }
    for other in ["\"version\":1,", "\"version\":4,", "\"version\":\"2\",", ""] {
        let text = text.replacen("\"version\":5,", other, 1);
        let error = again(&text, &same).expect_err("another version").to_string();
        assert!(error.contains("version 5 is known"), "{error}");
    }
}

/// A worker with other data, or with another program, has no part.
#[test]
fn a_worker_compares_what_it_decodes_with_the_index() {
    let mut random = Random::new(21);
    let case = case(&mut random);
    let plan = several(&case, &mut random);
    let segment = case.index.buffers()[0].segment(0).expect("a segment").len;
    let read = |change: &dyn Fn(&mut Capture)| {
        let mut capture = case.trace.capture().clone();
        change(&mut capture);
        let trace = Trace::decoded_with(capture, Options::default());
        Case {
            name: case.name.clone(),
            trace,
            index: indexed(&case.trace, segment),
            identity: case.identity.clone(),
        }
    };
    let failures = |other: &Case| {
        let units = plan.units.iter();
        let errors = units.filter_map(|unit| other.compute(&plan, unit).err());
        errors.map(|error| error.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(failures(&read(&|_| ())), Vec::<String>::new());
    let changed = read(&|capture| {
        let buffer = &mut capture.buffers[plan.pieces(&plan.units[0])[0].buffer];
        let mut bytes = buffer.bytes().into_owned();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        *buffer = Buffer::new(buffer.name.clone(), buffer.format.clone(), bytes);
    });
    let found = failures(&changed);
    assert!(found.iter().any(|text| text.contains("the bytes are not those")), "{found:?}");
    // No program memory: each element is another one.
    let found = failures(&read(&|capture| capture.memory.clear()));
    assert!(found.iter().any(|text| text.contains("program memory")), "{found:?}");
}
