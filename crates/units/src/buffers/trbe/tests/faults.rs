//! Faults and External aborts, monitors, and External mode.

use super::super::{
    AbortHandling, Bytes, Cause, CounterAfterFault, Fault, Level, Limit, Monitor, MonitorState,
    MonitorWrite, Reg, Stage, Status,
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
/// a write to the watched address has the effect of a store, or none.
#[test]
fn monitors() {
    for (address, choice, state) in [
        (0xfff, MonitorWrite::AsStore, MonitorState::Exclusive),
        (0x1010, MonitorWrite::AsStore, MonitorState::Exclusive),
        (0x1000, MonitorWrite::AsStore, MonitorState::Open),
        (0x100f, MonitorWrite::AsStore, MonitorState::Open),
        (0x100f, MonitorWrite::NoEffect, MonitorState::Exclusive),
    ] {
        let mut monitor = Monitor::new(0x1000..0x1010);
        monitor.trace_written(address, choice);
        assert_eq!(monitor.state, state, "{address:#x} {choice:?}");
    }
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
