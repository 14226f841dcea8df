//! Faults and External aborts, monitors, and External mode.

use super::super::{
    AbortHandling, BadPointer, Bytes, Cause, CounterAfterFault, Fault, Level, Limit, Monitor,
    MonitorKind, MonitorState, MonitorWrite, Reg, Stage, Status,
};
use super::{BASE, Bench, Faulty, pattern};

const FILL: Limit = Limit::fill(0);

fn faulty(pages: usize) -> Faulty {
    Faulty {
        bytes: Bytes::new(BASE, pages * 0x1000),
        faults: vec![(BASE + 0x1000, Fault::TRANSLATION)],
        aborts: Vec::new(),
    }
}

/// RFSPBK, IGVGPB: a fault stops collection with its class and code, and the pointer has the
/// address. ICRSGP: it leaves no fault value; when software has repaired the translation,
/// collection goes on there, and what came between is lost.
#[test]
fn mmu_fault_and_repair() {
    for (fault, cause) in [
        (Fault::TRANSLATION, Cause::Stage1(0x07)),
        (Fault { stage: Stage::Stage2, code: 0x0f }, Cause::Stage2(0x0f)),
        (Fault { stage: Stage::Granule, code: 0 }, Cause::GranuleCheck),
    ] {
        let mut memory = faulty(2);
        memory.faults[0].1 = fault;
        let mut bench = Bench::running(2, FILL, |_| {});
        let bytes = pattern(0x1010);
        let offer = bench.unit.offer(&bytes, &mut memory);
        assert_eq!((offer.accepted, offer.discarded), (0x1001, 15));
        assert_eq!(bench.unit.losses().faulted, 1);
        bench.barriers();
        let status = Status(bench.read(Reg::Status).known().unwrap());
        assert_eq!(status.cause(), Some(cause));
        assert!(status.irq() && status.stopped() && !status.wrapped());
        bench.switch_off();
        assert_eq!(bench.read(Reg::Pointer).known(), Some(BASE + 0x1000));

        memory.faults.clear();
        bench.unit.write(Reg::Status, 0);
        bench.unit.write(Reg::Pointer, BASE + 0x1000);
        bench.unit.synchronize();
        bench.enable(BASE + 0x2000, FILL);
        assert_eq!(bench.unit.offer(&[9; 4], &mut memory).accepted, 4);
        assert_eq!(bench.broken(), Vec::<&str>::new());
    }
}

/// ICRSGP, RBQTGW: after a fault the Trigger Counter may be one too low.
#[test]
fn counter_after_a_fault() {
    for (choice, left) in
        [(CounterAfterFault::Unchanged, 0x100), (CounterAfterFault::Decremented, 0xff)]
    {
        let mut memory = faulty(2);
        let mut bench = Bench::idle(2, |unit| unit.choices.counter_after_fault = choice);
        bench.unit.write(Reg::Counter, 0x1100);
        bench.unit.synchronize();
        bench.enable(BASE + 0x2000, FILL);
        bench.unit.trigger();
        bench.unit.offer(&pattern(0x1001), &mut memory);
        assert_eq!(bench.unit.counter, left);
    }
}

/// RFSPBK, RHLKSG: a fault of a unit that is stopped already changes no syndrome; the first event
/// counts.
#[test]
fn first_event_counts() {
    let mut bench = Bench::running(1, FILL, |_| {});
    bench.offer(&pattern(0x1000));
    bench.unit.fault(Fault::TRANSLATION);
    assert_eq!(bench.unit.status(Level::El1).cause(), Some(Cause::Filled));
}

/// RGQWBF: what an External abort of a write does, by what the unit implements, which is in
/// TRBIDR_EL1.EA.
#[test]
fn external_aborts() {
    for (handling, id, status, pointer, serrors) in [
        (AbortHandling::Ignored, 1, Status(0), 0x20, 0),
        (AbortHandling::SError, 2, Status(0), 0x20, 1),
        (AbortHandling::Synchronous, 0, abort_status(0x10), 8, 0),
        (AbortHandling::Asynchronous, 0, abort_status(0x11), 0x20, 0),
    ] {
        let mut memory = faulty(1);
        memory.aborts = vec![BASE + 8];
        let mut bench = Bench::running(1, FILL, |unit| unit.features.aborts = handling);
        bench.unit.offer(&pattern(0x20), &mut memory);
        bench.unit.prohibit(true);
        bench.unit.synchronize();
        bench.unit.trace_synchronize();
        bench.unit.data_synchronize(&mut memory);
        bench.unit.synchronize();
        assert_eq!(bench.read(Reg::Status).known(), Some(status.0), "{handling:?}");
        assert_eq!(bench.read(Reg::Pointer).known(), Some(BASE + pointer), "{handling:?}");
        assert_eq!(bench.unit.signals().serrors, serrors);
        assert_eq!(bench.read(Reg::Id).known().unwrap() >> 8 & 0xf, id);
        let lost = if status.stopped() { 0x20 - 8 } else { 1 };
        assert_eq!(bench.unit.losses().aborted, lost);
    }
}

fn abort_status(code: u8) -> Status {
    Status(Status::IRQ | Status::S | Status::EA).with_cause(Cause::Stage1(code))
}

/// SVKHHY step 7, RJPPZZ: an External abort is seen in TRBSR_EL1 after the DSB and a context
/// synchronization event behind it, not behind the TSB CSYNC.
#[test]
fn external_abort_is_seen_after_the_dsb() {
    for dsb_first in [true, false] {
        let mut memory = faulty(1);
        memory.aborts = vec![BASE];
        let mut bench =
            Bench::running(1, FILL, |unit| unit.features.aborts = AbortHandling::Asynchronous);
        bench.unit.offer(&pattern(4), &mut memory);
        bench.unit.prohibit(true);
        bench.unit.synchronize();
        bench.unit.trace_synchronize();
        if dsb_first {
            bench.unit.data_synchronize(&mut memory);
            bench.unit.synchronize();
            assert!(Status(bench.read(Reg::Status).known().unwrap()).external_abort());
        } else {
            bench.unit.synchronize();
            assert_eq!(bench.read(Reg::Status).known(), Some(0));
            bench.unit.data_synchronize(&mut memory);
            assert_eq!(bench.read(Reg::Status).known(), None);
        }
    }
}

/// RXZWXQ, IVRFQC: after an External abort, the pointer that is read is a fault value, with which
/// the unit must not run.
#[test]
fn fault_value() {
    let mut memory = faulty(1);
    memory.aborts = vec![BASE + 5];
    let mut bench = Bench::running(1, FILL, |unit| {
        unit.features.aborts = AbortHandling::Synchronous;
        unit.features.align = 4;
    });
    bench.unit.offer(&pattern(9), &mut memory);
    bench.unit.prohibit(true);
    bench.unit.synchronize();
    bench.unit.trace_synchronize();
    bench.unit.write(Reg::Limit, FILL.0 | (BASE + 0x1000));
    bench.unit.data_synchronize(&mut memory);
    bench.unit.synchronize();
    let value = bench.read(Reg::Pointer).known().unwrap();
    assert_eq!(value, BASE + 5);
    // It can be saved and restored: it reads back as it is.
    bench.unit.write(Reg::Pointer, value);
    bench.unit.synchronize();
    assert_eq!(bench.read(Reg::Pointer).known(), Some(value));
    assert_eq!(bench.broken(), Vec::<&str>::new());
    // Collection is stopped, so that nothing happens as long as S is restored with it.
    bench.enable(BASE + 0x1000, FILL);
    assert_eq!(bench.unit.offer(&[1], &mut memory).discarded, 1);
    assert_eq!(bench.broken(), Vec::<&str>::new());
    bench.switch_off();
    bench.unit.write(Reg::Status, 0);
    bench.unit.synchronize();
    bench.enable(BASE + 0x1000, FILL);
    bench.unit.offer(&[1], &mut memory);
    assert_eq!(bench.broken(), ["IVRFQC"]);
}

/// RDCVBN, RMDJNK: a write elsewhere has no effect on a monitor or a transaction. RNWSKV, RFVRXJ:
/// a write to the watched address has the effect of a store, or none; each of the two has its own
/// choice. The effect is that of the write to memory: accepted bytes have none before.
#[test]
fn monitors() {
    let as_store = [MonitorWrite::AsStore, MonitorWrite::NoEffect];
    for (kind, other) in [
        (MonitorKind::Exclusive, MonitorKind::Transaction),
        (MonitorKind::Transaction, MonitorKind::Exclusive),
    ] {
        for choice in as_store {
            let mut bench = Bench::running(1, FILL, |unit| {
                let of = |which| if which == kind { choice } else { MonitorWrite::NoEffect };
                unit.choices.exclusive = of(MonitorKind::Exclusive);
                unit.choices.transaction = of(MonitorKind::Transaction);
                let watched = [(kind, 0), (kind, 16), (kind, 15), (other, 0)];
                unit.monitors =
                    watched.map(|(kind, at)| Monitor::new(kind, BASE + at..BASE + at + 8)).to_vec();
            });
            let states = |bench: &Bench| {
                bench.unit.monitors.iter().map(|monitor| monitor.state).collect::<Vec<_>>()
            };
            assert_eq!(bench.offer(&pattern(16)).accepted, 16);
            assert_eq!(states(&bench), [MonitorState::Exclusive; 4], "accepted only");
            bench.unit.drain(&mut bench.memory, 15);
            let open = match choice {
                MonitorWrite::AsStore => MonitorState::Open,
                MonitorWrite::NoEffect => MonitorState::Exclusive,
            };
            let [quiet, seen] = [MonitorState::Exclusive, open];
            assert_eq!(states(&bench), [seen, quiet, quiet, quiet], "{kind:?} {choice:?}");
            // The last byte is the first of the third.
            bench.barriers();
            assert_eq!(states(&bench), [seen, quiet, seen, quiet], "{kind:?} {choice:?}");
        }
    }
}

/// A write that is aborted is none, and a write by a bad pointer is one.
#[test]
fn monitors_of_writes_that_fail() {
    let monitor = |at: u64| Monitor::new(MonitorKind::Exclusive, BASE + at..BASE + at + 1);
    let mut bench =
        Bench::running(1, FILL, |unit| unit.monitors = [monitor(0), monitor(1)].to_vec());
    let bytes = std::mem::replace(&mut bench.memory, Bytes::new(BASE, 0));
    let mut memory = Faulty { bytes, faults: Vec::new(), aborts: vec![BASE] };
    assert_eq!(bench.unit.offer(&[1, 2], &mut memory).accepted, 2);
    bench.unit.drain(&mut memory, usize::MAX);
    let states: Vec<_> = bench.unit.monitors.iter().map(|monitor| monitor.state).collect();
    assert_eq!(states, [MonitorState::Exclusive, MonitorState::Open]);

    let mut bench = Bench::idle(2, |unit| {
        unit.choices.bad_pointer = BadPointer::WriteAnywhere;
        unit.monitors = vec![monitor(0x1800)];
    });
    bench.unit.write(Reg::Pointer, BASE + 0x1800);
    bench.unit.synchronize();
    bench.enable(BASE + 0x1000, FILL);
    bench.offer(&[1]);
    assert_eq!(bench.unit.losses().written_anywhere, 1);
    assert_eq!(bench.unit.monitors[0].state, MonitorState::Open);
}

/// RCMYYF: in External mode, a physical address space that is not allowed stops collection with
/// EC 0 and BSC 0; nothing is written, and the pointer stays.
#[test]
fn external_space_not_allowed() {
    let mut bench = Bench::idle(1, |unit| {
        unit.features.external = true;
        unit.controls.self_hosted = false;
        unit.controls.allowed_spaces = [true, false, true, true];
    });
    bench.unit.write(Reg::Attributes, 0b01 << 10);
    bench.unit.synchronize();
    bench.unit.write(Reg::Limit, FILL.0 | (BASE + 0x1000) | 1 << 6);
    bench.unit.synchronize();
    let offer = bench.offer(&[1, 2]);
    assert_eq!((offer.accepted, offer.discarded, bench.unit.losses().faulted), (1, 1, 1));
    let status = bench.unit.status(Level::El1);
    assert_eq!((status.cause(), status.stopped()), (Some(Cause::NotAllowed), true));
    assert_eq!(bench.unit.pointers().current, BASE);
}

/// RWMPMV, IKMQKF: a Manual Stop flushes, then stops; DAT is 0 when all is in memory.
#[test]
fn manual_stop() {
    let mut bench = Bench::idle(1, |unit| {
        unit.features.external = true;
        unit.controls.self_hosted = false;
    });
    bench.unit.write(Reg::Limit, FILL.0 | (BASE + 0x1000) | 1 << 6);
    bench.unit.synchronize();
    bench.offer(&pattern(10));
    bench.unit.manual_stop();
    assert!(bench.unit.wants_flush());
    bench.offer(&pattern(2));
    bench.unit.flushed();
    let status = bench.unit.external_status();
    assert_eq!((status.cause(), status.data_pending()), (Some(Cause::ManualStop), true));
    bench.unit.drain(&mut bench.memory, usize::MAX);
    let status = bench.unit.external_status();
    assert!(status.stopped() && !status.data_pending());
    assert_eq!(bench.stored(12), [pattern(10), pattern(2)].concat());
    // In Self-hosted mode the register does nothing.
    let mut bench = Bench::running(1, FILL, |_| {});
    bench.unit.manual_stop();
    assert!(!bench.unit.wants_flush());
}
