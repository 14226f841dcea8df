//! What is held of each of many captures, by the bytes that are allocated.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write, pipe};
use std::sync::{Mutex, PoisonError};
use std::thread;

use peak_alloc::PeakAlloc;
use tracewright::analysis::coverage_runs::Digest;
use tracewright_fleet::{CaptureIdentity, Extent, Job, Part, Payload, Plan, PlanFile, Planned};

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// One test at a time: what it allocates is that of the process.
static ALONE: Mutex<()> = Mutex::new(());

/// Captures that are compared with eight times as many.
const FEW: usize = 800;

/// A capture with four buffers, as `perf record` makes them of four processors.
fn identity(n: usize) -> CaptureIdentity {
    let extent = |number| Extent {
        number,
        name: format!("processor {number}").into(),
        bytes: 100 + (n * 7919 + number * 104_729) as u64 % 900_000,
        segments: 1,
    };
    let [data, programs, options] =
        [&n.to_string(), "program", "options"].map(|own| Digest::of(own.as_bytes()));
    CaptureIdentity { data, programs, options, buffers: (0..4).map(extent).collect() }
}

fn job() -> Job {
    Job { name: "branch-list".to_owned(), divides: true }
}

/// The most bytes that `work` allocates for each of `count` captures, beyond those of few.
fn each(work: &dyn Fn(usize)) -> usize {
    let most = |count: usize| {
        let before = ALLOCATED.current_usage();
        ALLOCATED.reset_peak_usage();
        work(count);
        ALLOCATED.peak_usage() - before
    };
    // What is allocated once.
    most(FEW);
    (most(8 * FEW) - most(FEW)) / (7 * FEW)
}

fn empty() -> Payload {
    Payload::Counts(BTreeMap::new())
}

/// Writes a file at one end of a pipe, and reads it at the other.
fn through<T>(
    write: impl FnOnce(&mut dyn Write) + Send,
    read: impl FnOnce(&mut dyn BufRead) -> T,
) -> T {
    let (from, mut to) = pipe().expect("a pipe");
    thread::scope(|scope| {
        scope.spawn(move || write(&mut to));
        read(&mut BufReader::new(from))
    })
}

/// The part of a share of a list.
fn share(positions: std::ops::Range<usize>, total: usize) -> Part {
    let mut plan = Plan::of_list(job(), &Digest::of(b"a list"), total, positions.clone());
    let mut part = Part::new(&plan, empty());
    for n in positions {
        let unit = plan.admit(identity(n)).expect("buffers");
        part.add_unit(&plan, &unit, vec![None; 4]).expect("another capture");
        part.payload.count("key".to_owned(), 1);
    }
    part
}

/// The part of a plan, whose captures are forgotten when they were computed.
fn computed(mut plan: Plan) -> Part {
    let mut part = Part::new(&plan, empty());
    for unit in std::mem::take(&mut plan.units) {
        let states = vec![None; plan.pieces(&unit).len()];
        part.add_unit(&plan, &unit, states).expect("a unit");
        plan.forget(&unit);
        part.payload.count("key".to_owned(), 1);
    }
    part
}

/// What is held: identities, once, and the order of the units while these are written.
#[test]
fn a_part_takes_a_hundred_bytes_for_a_capture() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let worker =
        each(&|count| share(0..count, count).write_to(&mut std::io::sink()).expect("room"));
    let merge = each(&|count| {
        let (mut sum, shares) = (None::<Part>, 8);
        for k in 0..shares {
            let (begin, end) = (k * count / shares, (k + 1) * count / shares);
            let part = share(begin..end, count);
            match &mut sum {
                None => sum = Some(part),
                Some(sum) => sum.merge(part).expect("other captures"),
            }
        }
        let sum = sum.expect("a part");
        sum.complete(0).expect("all captures");
        sum.write_to(&mut std::io::sink()).expect("room");
    });
    let read = each(&|count| {
        let part = share(0..count, count);
        let again = through(
            |to| part.write_to(to).expect("room"),
            |from| Part::read_from(from).expect("a part"),
        );
        assert_eq!(again, part);
    });
    assert!(worker < 120 && merge < 120 && read < 230, "{worker} {merge} {read}");
}

#[test]
fn a_plan_takes_two_hundred_bytes_for_a_capture() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let plan = |count| {
        let planned =
            (0..count).map(|n| Planned { identity: identity(n), borders: vec![vec![0, 1]; 4] });
        Plan::new(job(), planned.collect(), tracewright_fleet::UNIT).expect("captures that differ")
    };
    let path = "/mnt/recordings/machine-17/perf-2.data";
    let write = |plan: &Plan, to: &mut dyn Write| {
        PlanFile::write_to(plan, &|_| Some(path), to).expect("room");
    };
    let (few, many) = (plan(FEW), plan(8 * FEW));
    let worker = each(&|count| {
        let plan = if count == FEW { &few } else { &many };
        let PlanFile(read) =
            through(|to| write(plan, to), |from| PlanFile::read_from(from).expect("a plan"));
        assert_eq!(read.captures.path(&identity(1).data), Some(path));
        computed(read).write_to(&mut std::io::sink()).expect("room");
    });
    let part = computed(few.clone());
    assert_eq!(part.units(), few.units.len());
    assert_eq!(Part::read(&part.write()).expect("a part"), part);
    part.complete(0).expect("all units");
    assert!(part.lacking_units(&few).is_empty());
    assert!(worker < 250, "{worker}");
}
