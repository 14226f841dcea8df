//! The rules of the architecture: acceptance, modes, pointers, triggers, and the order of accesses.
//! Each test names the rules that it checks.

use super::super::{
    AbortHandling, AddressSpace, BadPointer, BadPointerReason, Cause, Class, Controls,
    EnabledWrites, Fault, Features, FillMode, Level, Limit, LowBits, MisalignedCounter, Mode,
    Owner, Pointers, Reg, Regime, Security, Signals, Status, Trbe, TriggerCount, TriggerMode,
    Unsynchronised,
};
use super::{BASE, Bench, pattern};

const FILL: Limit = Limit::fill(0);
const WRAP: Limit = FILL.with_fill(FillMode::Wrap);
const CIRCULAR: Limit = FILL.with_fill(FillMode::Circular);

/// RSDCKT: the mode, and which enable bit counts in it.
#[test]
fn modes_and_enables() {
    for (self_hosted, external, mode, e, xe) in [
        (true, false, Mode::SelfHosted, true, false),
        (true, true, Mode::SelfHosted, true, false),
        (false, true, Mode::External, false, true),
        (false, false, Mode::None, false, false),
    ] {
        let mut unit = Trbe::default();
        unit.controls.self_hosted = self_hosted;
        unit.features.external = external;
        assert_eq!(unit.mode(), mode);
        for (bit, enabled) in [(1, e), (1 << 6, xe)] {
            unit.limit = Limit(bit);
            assert_eq!(unit.is_enabled(), enabled, "{mode:?} {bit:#x}");
            // IYHJDQ, RJYTYH: the trace bus. RBSMLW, SYKCND: translation ahead of writes.
            assert_eq!(unit.may_use_trace_bus(), !enabled);
            assert_eq!(unit.may_translate(), enabled);
        }
    }
}

/// IYPSDY, IJYSQZ, RYMYQX, RLNTVR, ISQYCT: a running unit accepts what its internal buffer has room
/// for and rejects the rest; what is rejected can be offered again.
#[test]
fn accepts_and_rejects() {
    let mut bench = Bench::running(1, FILL, |unit| unit.features.capacity = 8);
    let bytes = pattern(12);
    let offer = bench.offer(&bytes);
    assert_eq!((offer.accepted, offer.rejected, offer.discarded), (8, 4, 0));
    assert_eq!(bench.unit.pending_bytes(), 8);
    bench.unit.drain(&mut bench.memory, 5);
    let again = bench.offer(&bytes[8..]);
    assert_eq!((again.accepted, again.rejected, again.discarded), (4, 0, 0));
    bench.barriers();
    assert_eq!(bench.stored(12), bytes);
}

/// RYMVZL: a stopped unit discards. RHNTLG: a disabled unit discards.
#[test]
fn discards() {
    let mut bench = Bench::running(1, FILL, |_| {});
    let offer = bench.offer(&pattern(0x1005));
    assert_eq!((offer.accepted, offer.discarded), (0x1000, 5));
    assert!(bench.unit.is_stopped());
    bench.switch_off();
    assert!(!bench.unit.is_stopped() && !bench.unit.is_enabled());
    assert_eq!(bench.offer(&[1, 2]).discarded, 2);
    assert_eq!(bench.stored(0x1000), pattern(0x1000));
}

/// RMBSHC: Fill mode stops at the Limit pointer, with WRAP, IRQ and the code of a full buffer, and
/// the pointer at the Base pointer. RVBDJZ: Wrap mode requests an interrupt and goes on. RGDSTS:
/// Circular Buffer mode goes on. All generate TRB_WRAP.
#[test]
fn at_the_limit() {
    let base = Status::WRAP | Status::IRQ;
    for (limit, status, beyond) in [
        (FILL, Status(base | Status::S).with_cause(Cause::Filled), 0),
        (WRAP, Status(base), 3),
        (CIRCULAR, Status(Status::WRAP), 3),
    ] {
        let mut bench = Bench::running(1, limit, |_| {});
        let bytes = pattern(0x1003);
        let offer = bench.offer(&bytes);
        assert_eq!(offer.accepted, 0x1000 + beyond);
        assert_eq!(bench.unit.signals(), Signals { wraps: 1, ..Signals::default() });
        bench.barriers();
        assert_eq!(bench.read(Reg::Status).known(), Some(status.0), "{limit:?}");
        assert_eq!(bench.read(Reg::Pointer).known(), Some(BASE + beyond as u64));
        assert_eq!(bench.unit.interrupt(), status.irq());
        assert_eq!(bench.stored(beyond), &bytes[0x1000..][..beyond]);
        assert_eq!(bench.broken(), Vec::<&str>::new());
    }
}

/// RBGBCJ: the pointer does not move while collection is stopped.
#[test]
fn pointer_of_a_stopped_unit() {
    let mut bench = Bench::idle(1, |_| {});
    bench.unit.write(Reg::Status, Status::S);
    bench.unit.synchronize();
    bench.enable(BASE + 0x1000, FILL);
    assert_eq!(bench.offer(&pattern(9)).discarded, 9);
    assert_eq!(bench.unit.pointers().current, BASE);
}

/// RMSPSD: out-of-range pointers, by each of the four conditions and the note.
#[test]
fn out_of_range() {
    let (base, limit) = (0x1000, 0x3000);
    for (base, limit, current, out) in [
        (base, limit, 0x1000, false),
        (base, limit, 0x2fff, false),
        (base, limit, 0xfff, true),
        (base, limit, 0x3000, true),
        (base, limit, 0x0100_0000_0000_2000, true),
        (base | 1 << 56, limit | 2 << 56, 0x2000 | 1 << 56, true),
        (base | 1 << 56, limit | 2 << 56, 0x2000 | 2 << 56, true),
        (0xffff_0000_0000_0000, 0xffff_0000_0000_2000, 0xffff_0000_0000_1fff, false),
        (0x3000, 0x3000, 0x3000, true),
        (0x3000, 0x1000, 0x2000, true),
    ] {
        let pointers = Pointers { base, limit, current };
        assert_eq!(pointers.is_out_of_range(), out, "{pointers:x?}");
    }
}

/// RXXZHM: a misaligned pointer. RJWWWM: it reads as unknown. RMGZWR: the unit does not use it.
#[test]
fn misaligned_pointer() {
    let mut bench = Bench::idle(1, |unit| unit.features.align = 6);
    for (value, known) in [(BASE + 0x40, true), (BASE + 0x41, false), (BASE + 0x80, true)] {
        bench.unit.write(Reg::Pointer, value);
        bench.unit.synchronize();
        assert_eq!(bench.read(Reg::Pointer).known(), known.then_some(value));
    }
    assert_eq!(bench.broken(), ["RJWWWM"]);
    bench.unit.write(Reg::Pointer, BASE + 0x41);
    bench.unit.synchronize();
    bench.enable(BASE + 0x1000, FILL);
    assert_eq!(bench.offer(&[1, 2, 3]).accepted, 3);
    assert_eq!(bench.unit.losses().bad_pointer, 3);
    assert_eq!(bench.broken(), ["RJWWWM", "RMGZWR"]);
}

/// RHXZZM, ISFTPM: a misaligned pointer that was read from the disabled unit is a restart value:
/// collection goes on where it ended, and nothing is lost.
#[test]
fn restart_value() {
    let mut bench = Bench::running(1, FILL, |unit| unit.features.align = 6);
    let bytes = pattern(150);
    bench.offer(&bytes[..75]);
    bench.switch_off();
    let saved = bench.read(Reg::Pointer).known().unwrap();
    assert_eq!(saved, BASE + 75);

    // Another context uses the unit.
    bench.unit.write(Reg::Pointer, BASE + 0x800);
    bench.unit.synchronize();
    bench.enable(BASE + 0x1000, FILL);
    bench.offer(&[0xee; 3]);
    bench.switch_off();

    bench.unit.write(Reg::Pointer, saved);
    bench.unit.synchronize();
    bench.enable(BASE + 0x1000, FILL);
    assert_eq!(bench.offer(&bytes[75..]).accepted, 75);
    bench.barriers();
    assert_eq!(bench.stored(150), bytes);
    assert_eq!(bench.broken(), Vec::<&str>::new());
}

/// RHXZZM: a value that is read while the unit is enabled is no restart value.
#[test]
fn no_restart_value_while_enabled() {
    let mut bench = Bench::running(1, FILL, |unit| unit.features.align = 6);
    bench.offer(&pattern(75));
    bench.barriers();
    let read = bench.read(Reg::Pointer).known().unwrap();
    bench.switch_off();
    bench.unit.write(Reg::Pointer, read);
    bench.unit.synchronize();
    assert_eq!(bench.read(Reg::Pointer).known(), None);
    assert_eq!(bench.broken(), ["RJWWWM"]);
}

/// RMGZWR: each outcome that the architecture allows for a pointer at the Limit pointer.
#[test]
fn outcomes_of_a_bad_pointer() {
    let outcome = |choice: BadPointer| {
        let mut bench = Bench::idle(2, |unit| unit.choices.bad_pointer = choice);
        // The limit is one page below the end of the memory.
        bench.unit.write(Reg::Pointer, BASE + 0x1000);
        bench.unit.synchronize();
        bench.enable(BASE + 0x1000, FILL);
        let offer = bench.offer(&[1, 2]);
        bench.barriers();
        assert_eq!(bench.broken().is_empty(), choice == BadPointer::Disabled);
        (offer, bench)
    };
    for choice in [BadPointer::Discard, BadPointer::AlignmentFault] {
        let (_, bench) = outcome(choice);
        assert_eq!(bench.unit.losses().bad_pointer, 2);
        assert_eq!(bench.memory.all(), &[0; 0x2000][..]);
    }
    let (offer, _) = outcome(BadPointer::Disabled);
    assert_eq!(offer.discarded, 2);
    for event in [false, true] {
        let (_, bench) = outcome(BadPointer::WrapBefore { event });
        assert_eq!(bench.stored(3), [1, 2, 0]);
        assert_eq!(bench.unit.signals().wraps, u64::from(event));
        let (_, bench) = outcome(BadPointer::WrapAfter { event });
        assert_eq!(
            (bench.stored(2), bench.memory.at(BASE + 0x1000, 2)),
            (&[2, 0][..], &[1, 0][..])
        );
        assert_eq!(bench.unit.losses().written_anywhere, 1);
        assert_eq!(bench.unit.status(Level::El1).wrapped(), event);
    }
    let (_, bench) = outcome(BadPointer::WriteAnywhere);
    assert_eq!(bench.memory.at(BASE + 0x1000, 2), [1, 2]);
    for (stop, wrap) in [(false, false), (true, false), (false, true), (true, true)] {
        let (offer, mut bench) = outcome(BadPointer::Event { stop, wrap });
        assert_eq!(offer.discarded, usize::from(stop));
        let status = bench.read(Reg::Status);
        assert_eq!((status.known(), status.bits & Status::IRQ), (None, Status::IRQ));
        assert_eq!(status.unknown, Status::SYNDROME);
    }
    // With FEAT_TRBE_EXC the reason is known.
    let mut bench = Bench::running(1, FILL, |unit| {
        unit.features.exceptions = true;
        unit.choices.bad_pointer = BadPointer::Event { stop: true, wrap: false };
    });
    bench.unit.pointer = BASE - 1;
    bench.offer(&[1]);
    assert_eq!(bench.unit.status(Level::El1).cause(), Some(Cause::Filled));
    // Any of four.
    for (reason, stopped, cause) in [
        (BadPointerReason::Full, true, Cause::Filled),
        (BadPointerReason::Wrap, false, Cause::NotAllowed),
        (BadPointerReason::NotAllowed, true, Cause::NotAllowed),
        (BadPointerReason::Fault(Fault::TRANSLATION), true, Cause::Stage1(7)),
    ] {
        let mut bench = Bench::running(1, FILL, |unit| {
            unit.features.exceptions = true;
            unit.choices.bad_pointer = BadPointer::Event { stop: true, wrap: true };
            unit.choices.bad_pointer_reason = reason;
        });
        bench.unit.pointer = BASE - 1;
        bench.offer(&[1]);
        let status = bench.unit.status(Level::El1);
        assert_eq!((status.stopped(), status.cause()), (stopped, Some(cause)), "{reason:?}");
        assert!(status.wrapped() && status.irq());
    }
}

/// RDJMDD: E is 1, FEAT_TRBE_EXT is not implemented, and self-hosted trace is disabled.
#[test]
fn writes_while_enabled_without_a_mode() {
    let mut bench = Bench::running(1, FILL, |_| ());
    bench.unit.controls.self_hosted = false;
    bench.unit.write(Reg::Base, BASE + 0x1000);
    assert_eq!(bench.broken(), ["RDJMDD"]);
}

/// RFRHXV: without EL3 the state is Non-secure, whatever SCR_EL3 would hold.
#[test]
fn stopped_by_el2_without_el3() {
    let mut bench = Bench::running(1, FILL, |unit| {
        unit.features.exceptions = true;
        (unit.features.el2, unit.features.el3) = (true, false);
        (unit.controls.scr_el3, unit.controls.trfcr_el2) = (0, 0b11 << 8);
    });
    assert!(bench.unit.is_running());
    *bench.unit.status_mut(Level::El2) = Status(Status::S);
    assert!(bench.unit.is_stopped());
    assert_eq!(bench.offer(&[1]).discarded, 1);
}

/// RHXZZM: a pointer that was out of range makes no restart value.
#[test]
fn no_restart_value_of_a_bad_pointer() {
    let mut bench = Bench::idle(1, |unit| {
        unit.features.align = 4;
        unit.choices.bad_pointer = BadPointer::WrapBefore { event: false };
    });
    bench.unit.write(Reg::Pointer, BASE + 0x8000);
    bench.unit.synchronize();
    bench.enable(BASE + 0x1000, FILL);
    bench.offer(&[1, 2, 3]);
    bench.barriers();
    bench.unit.write(Reg::Limit, 0);
    bench.unit.synchronize();
    let read = bench.read(Reg::Pointer).bits;
    assert_eq!(read, BASE + 3);
    bench.unit.write(Reg::Pointer, read);
    bench.unit.synchronize();
    assert_eq!(bench.unit.written_class(), Some(Class::Misaligned));
}

/// RXZWXQ: the Trigger Counter after an External abort is a fault value, also where software has
/// written the write pointer since.
#[test]
fn fault_value_of_the_counter() {
    let mut bench = Bench::idle(1, |unit| {
        unit.features.align = 4;
        unit.features.aborts = AbortHandling::Asynchronous;
    });
    bench.unit.write(Reg::Counter, 0x20);
    bench.unit.synchronize();
    bench.unit.counter = 0x1b;
    bench.unit.counter_origin.faulted = true;
    bench.unit.pointer_origin.faulted = true;
    bench.unit.write(Reg::Pointer, BASE);
    bench.unit.synchronize();
    bench.barriers();
    assert_eq!(bench.read(Reg::Counter).bits, 0x1b);
    bench.unit.write(Reg::Counter, 0x1b);
    bench.unit.synchronize();
    assert_eq!(bench.unit.written_counter_class(), Some(Class::Fault));
}

/// RMGZWR: a misaligned pointer may generate an Alignment fault.
#[test]
fn alignment_fault() {
    let mut bench = Bench::idle(1, |unit| {
        unit.features.align = 3;
        unit.choices.bad_pointer = BadPointer::AlignmentFault;
    });
    bench.unit.write(Reg::Pointer, BASE + 4);
    bench.unit.synchronize();
    bench.enable(BASE + 0x1000, FILL);
    let offer = bench.offer(&[1, 2]);
    assert_eq!((offer.accepted, offer.discarded), (1, 1));
    let status = bench.unit.status(Level::El1);
    assert_eq!((status.cause(), status.stopped()), (Some(Cause::Stage1(0x21)), true));
}

/// RMGZWR: the addresses that a write to a bad pointer reaches are of the space of the pointers.
#[test]
fn address_spaces() {
    let owner = |security, regime| Some(Owner { security, regime });
    let unit = |not_virtual: bool, el2: bool, edit: fn(&mut Controls)| {
        let mut unit = Trbe { limit: Limit(u64::from(not_virtual) << 5 | 1), ..Trbe::default() };
        unit.features = Features { el2, el3: true, v1p1: true, ..Features::default() };
        edit(&mut unit.controls);
        unit
    };
    let space = |nvm, el2, edit| unit(nvm, el2, edit).address_space();
    let el1 = owner(Security::NonSecure, Regime::El1);
    assert_eq!(space(false, true, |_| {}), AddressSpace::Virtual(el1));
    assert_eq!(space(true, true, |_| {}), AddressSpace::Intermediate(Security::NonSecure));
    assert_eq!(space(true, false, |_| {}), AddressSpace::Physical(Security::NonSecure));
    let by_el2 = |controls: &mut Controls| controls.mdcr_el2 = 0;
    assert_eq!(space(true, true, by_el2), AddressSpace::Physical(Security::NonSecure));
    let secure = |controls: &mut Controls| (controls.mdcr_el3, controls.scr_el3) = (0, 0);
    assert_eq!(space(true, true, secure), AddressSpace::Physical(Security::Secure));
    // RFTWWP: TRFCR_EL2.DnVM makes the pointers virtual.
    let disabled = |controls: &mut Controls| controls.trfcr_el2 = 1 << 11;
    assert_eq!(space(true, true, disabled), AddressSpace::Virtual(el1));
    // RNHTSY: External mode has physical addresses of the space in TRBMAR_EL1.PAS.
    let mut external = unit(false, true, |controls| controls.self_hosted = false);
    external.features.external = true;
    external.attributes = 0b11 << 10;
    assert_eq!(external.address_space(), AddressSpace::External(0b11));
}

/// RYGMLW: accesses to the buffer are Unchecked.
#[test]
fn unchecked_accesses() {
    let mut bench = Bench::running(1, FILL, |_| {});
    bench.offer(&[1, 2]);
    assert!(bench.unit.in_flight.iter().all(|store| !store.tag_checked));
}

/// RCPDDM: a misaligned Trigger Counter reads as unknown, and whether it generates a Trigger Event
/// is open. RXXZHM covers it. A restart value is none of that (RHXZZM).
#[test]
fn misaligned_counter() {
    for (choice, events) in
        [(MisalignedCounter::Generated, 1), (MisalignedCounter::NotGenerated, 0)]
    {
        let mut bench = Bench::idle(1, |unit| {
            unit.features.align = 4;
            unit.choices.misaligned_counter = choice;
        });
        bench.unit.write(Reg::Counter, 3);
        bench.unit.synchronize();
        assert_eq!(bench.read(Reg::Counter).known(), None);
        assert_eq!(bench.broken(), ["RCPDDM"]);
        bench.enable(BASE + 0x1000, FILL);
        bench.unit.trigger();
        bench.offer(&pattern(16));
        assert_eq!(bench.unit.signals().triggers, events);
    }
    let mut bench = Bench::idle(1, |unit| unit.features.align = 4);
    bench.unit.write(Reg::Counter, 0x20);
    bench.unit.synchronize();
    bench.enable(BASE + 0x1000, FILL);
    bench.unit.trigger();
    bench.offer(&pattern(5));
    bench.switch_off();
    assert_eq!(bench.read(Reg::Counter).known(), Some(0x1b));
    bench.unit.write(Reg::Counter, 0x1b);
    bench.unit.synchronize();
    assert_eq!(bench.read(Reg::Counter).known(), Some(0x1b));
    assert_eq!(bench.broken(), Vec::<&str>::new());
}

/// IYSXXN: the bits below the alignment may be zero whatever is written.
#[test]
fn low_bits() {
    let mut bench = Bench::idle(1, |unit| {
        unit.features.align = 4;
        unit.choices.low_bits = LowBits::Zero;
    });
    bench.unit.write(Reg::Pointer, BASE + 0x2f);
    bench.unit.write(Reg::Counter, 0x1f);
    bench.unit.synchronize();
    assert_eq!(bench.read(Reg::Pointer).known(), Some(BASE + 0x20));
    assert_eq!(bench.read(Reg::Counter).known(), Some(0x10));
}

/// RDJMDD: while the unit is enabled, each of the registers may ignore a write; TRBLIMITR_EL1 takes
/// one that disables the unit, and TRBCR takes any.
#[test]
fn writes_while_enabled() {
    for (choice, taken) in [(EnabledWrites::Ignored, false), (EnabledWrites::Taken, true)] {
        for register in Reg::WRITABLE {
            let mut bench = Bench::running(1, FILL, |unit| unit.choices.enabled_writes = choice);
            let before = bench.read(register).known().unwrap();
            let value = before ^ 0x3000;
            bench.unit.write(register, value);
            bench.unit.synchronize();
            let after = bench.read(register).known().unwrap();
            assert_eq!(after, if taken { value } else { before }, "{register}");
            assert_eq!(bench.broken(), ["RDJMDD"], "{register}");
        }
    }
    let mut bench = Bench::running(1, FILL, |_| {});
    bench.unit.write(Reg::Limit, (BASE + 0x1000) & !1);
    bench.unit.synchronize();
    assert!(!bench.unit.is_enabled());
    assert_eq!(bench.broken(), Vec::<&str>::new());
}

/// RDJMDD: in External mode XE counts, and E does not. Writes to TRBCR are not affected.
#[test]
fn writes_while_enabled_externally() {
    let mut bench = Bench::idle(1, |unit| {
        unit.features.external = true;
        unit.controls.self_hosted = false;
        unit.controls.allowed_spaces = [true; 4];
    });
    bench.unit.write(Reg::Limit, (BASE + 0x1000) | 1);
    bench.unit.synchronize();
    bench.unit.write(Reg::Pointer, BASE + 8);
    bench.unit.synchronize();
    assert_eq!((bench.read(Reg::Pointer).known(), bench.broken()), (Some(BASE + 8), vec![]));
    bench.unit.write(Reg::Limit, (BASE + 0x1000) | 1 << 6);
    bench.unit.synchronize();
    bench.unit.write(Reg::Pointer, BASE);
    bench.unit.synchronize();
    assert_eq!(bench.broken(), ["RDJMDD"]);
    bench.offer(&[7]);
    bench.unit.manual_stop();
    bench.unit.flushed();
    assert_eq!(bench.unit.status(Level::El1).cause(), Some(Cause::ManualStop));
}

/// SDSSHH, SPKLXF: the enable must be ordered with writes to the other registers.
#[test]
fn enable_unordered() {
    for (choice, pointer) in [(EnabledWrites::Ignored, BASE), (EnabledWrites::Taken, BASE + 0x10)] {
        let mut bench = Bench::idle(1, |unit| unit.choices.enabled_writes = choice);
        bench.unit.write(Reg::Pointer, BASE + 0x10);
        bench.unit.write(Reg::Limit, FILL.0 | (BASE + 0x1000) | 1);
        bench.unit.synchronize();
        assert_eq!(bench.broken(), ["SDSSHH"]);
        assert_eq!(bench.unit.pointers().current, pointer);
    }
}

/// RBFJKD, RMJQXM, SYPWVJ: a trace operation sees direct writes after a context synchronization
/// event; without one it sees the old or the new values.
#[test]
fn trace_before_synchronization() {
    for (choice, accepted) in [(Unsynchronised::Old, 0), (Unsynchronised::New, 4)] {
        let mut bench = Bench::idle(1, |unit| unit.choices.unsynchronised = choice);
        bench.unit.write(Reg::Limit, FILL.0 | (BASE + 0x1000) | 1);
        assert_eq!(bench.offer(&pattern(4)).accepted, accepted);
        assert_eq!(bench.broken(), ["RBFJKD"]);
    }
}

/// RVTNCS, SVKHHY, SFMBCL: a direct read sees what trace operations wrote after a context
/// synchronization event, a TSB CSYNC and a second context synchronization event, and not before;
/// also where tracing is not prohibited.
#[test]
fn reads_too_early() {
    type Step = fn(&mut Bench);
    let cse: Step = |bench| bench.unit.synchronize();
    let tsb: Step = |bench| bench.unit.trace_synchronize();
    for (steps, known) in [
        (&[][..], false),
        (&[cse][..], false),
        (&[tsb][..], false),
        (&[cse, tsb][..], false),
        (&[tsb, cse][..], false),
        (&[cse, cse, cse][..], false),
        (&[tsb, cse, tsb][..], false),
        (&[cse, tsb, cse][..], true),
        (&[tsb, cse, tsb, cse][..], true),
    ] {
        for register in [Reg::Pointer, Reg::Status, Reg::Counter] {
            let mut bench = Bench::running(1, FILL, |_| {});
            bench.offer(&pattern(4));
            steps.iter().for_each(|step| step(&mut bench));
            assert_eq!(bench.read(register).known().is_some(), known, "{}", steps.len());
            assert_eq!(bench.broken().first(), (!known).then_some(&"RVTNCS"));
        }
        // Registers that trace operations do not write are known at any time.
        let mut bench = Bench::running(1, FILL, |_| {});
        bench.offer(&pattern(4));
        assert_eq!(bench.read(Reg::Base).known(), Some(BASE));
    }
}

/// RZCDDS: a direct write after a context synchronization event and a TSB CSYNC follows what trace
/// operations wrote; an earlier one leaves the register unknown.
#[test]
fn writes_too_early() {
    for (barriers, known) in [(false, None), (true, Some(BASE + 0x20))] {
        let mut bench = Bench::running(1, FILL, |_| {});
        bench.offer(&pattern(4));
        if barriers {
            bench.switch_off();
        } else {
            bench.unit.write(Reg::Limit, BASE + 0x1000);
            bench.unit.write(Reg::Integration, 0);
        }
        bench.unit.write(Reg::Pointer, BASE + 0x20);
        bench.barriers();
        assert_eq!(bench.read(Reg::Pointer).known(), known);
        assert_eq!(bench.broken().contains(&"RZCDDS"), !barriers);
    }
}

/// RMRVPT, RVLWDM, RNSFRQ: the bytes are in memory after a TSB CSYNC and a DSB, in that order.
#[test]
fn memory_is_complete_after_a_dsb() {
    let mut bench = Bench::running(1, FILL, |_| {});
    let bytes = pattern(40);
    bench.offer(&bytes);
    bench.unit.data_synchronize(&mut bench.memory);
    assert_eq!(bench.stored(40), [0; 40]);
    bench.unit.prohibit(true);
    bench.unit.synchronize();
    bench.unit.data_synchronize(&mut bench.memory);
    assert_eq!(bench.stored(40), [0; 40]);
    bench.unit.trace_synchronize();
    assert!(!bench.unit.is_complete());
    bench.unit.data_synchronize(&mut bench.memory);
    bench.unit.synchronize();
    assert!(bench.unit.is_complete());
    assert_eq!(bench.stored(40), bytes);
}

/// RKSQJW, RDHLQG, RBQTGW, RLMQHK: the Trigger Counter counts bytes after a Detected Trigger; the
/// Trigger Event stops collection, requests an interrupt, or does nothing, by the mode.
#[test]
fn trigger_modes() {
    for (mode, irq, stops) in [
        (TriggerMode::Stop, true, true),
        (TriggerMode::Irq, true, false),
        (TriggerMode::Ignore, false, false),
    ] {
        for counter in [0, 1, 16] {
            let mut bench = Bench::idle(1, |_| {});
            bench.unit.write(Reg::Counter, counter);
            bench.unit.synchronize();
            bench.enable(BASE + 0x1000, FILL.with_trigger(mode));
            bench.offer(&pattern(5));
            assert!(!bench.unit.status(Level::El1).triggered());
            bench.unit.trigger();
            bench.offer(&pattern(counter as usize));
            assert_eq!(bench.unit.signals().triggers, 1, "{mode:?} {counter}");
            assert_eq!(bench.unit.wants_flush(), irq);
            // RRXRRWP: collection goes on until the trace unit has flushed.
            assert_eq!(bench.offer(&[0xaa; 3]).accepted, 3);
            bench.unit.flushed();
            let status = bench.unit.status(Level::El1);
            assert_eq!((status.irq(), status.stopped(), status.triggered()), (irq, stops, true));
            assert_eq!(bench.offer(&[1]).discarded, usize::from(stops));
            let cause = if stops { Cause::Triggered } else { Cause::NotAllowed };
            assert_eq!(status.cause(), Some(cause));
        }
    }
}

/// IZGFSK: no second Trigger Event while TRG is set, and none in a disabled unit. RMWWHM: one in a
/// stopped unit changes nothing but TRB_TRIG.
#[test]
fn no_trigger_event() {
    let mut bench = Bench::running(1, FILL.with_trigger(TriggerMode::Stop), |_| {});
    bench.unit.trigger();
    bench.unit.flushed();
    bench.unit.trigger();
    assert_eq!(bench.unit.signals().triggers, 1);
    bench.switch_off();
    bench.unit.write(Reg::Status, 0);
    bench.unit.synchronize();
    bench.unit.trigger();
    assert_eq!(bench.unit.signals().triggers, 1);
    assert_eq!(bench.unit.status(Level::El1), Status(0));

    let mut bench = Bench::running(1, FILL.with_trigger(TriggerMode::Stop), |_| {});
    bench.offer(&pattern(0x1000));
    let full = bench.unit.status(Level::El1);
    bench.unit.trigger();
    assert_eq!(bench.unit.status(Level::El1).0, full.0 | Status::TRG);
    assert!(bench.unit.signals().triggers == 1 && !bench.unit.wants_flush());
}

/// IJLZDN, IVPLRF: a flush may fill the buffer; then the Trigger Event is not recorded.
#[test]
fn full_before_the_flush_ends() {
    let mut bench = Bench::running(1, FILL.with_trigger(TriggerMode::Stop), |_| {});
    bench.unit.trigger();
    bench.offer(&pattern(0x1000));
    bench.unit.flushed();
    assert_eq!(bench.unit.status(Level::El1).cause(), Some(Cause::Filled));
}

/// RQFGNQ, IQQKZF: a unit that writes in blocks counts the block that it collects as a whole.
#[test]
fn counting_in_blocks() {
    for (choice, left) in [(TriggerCount::Exact, 32), (TriggerCount::Blocks, 27)] {
        let mut bench = Bench::idle(1, |unit| {
            unit.features.align = 4;
            unit.choices.trigger_count = choice;
        });
        bench.unit.write(Reg::Counter, 32);
        bench.unit.synchronize();
        bench.enable(BASE + 0x1000, FILL);
        bench.offer(&pattern(5));
        bench.unit.trigger();
        assert_eq!(bench.unit.counter, left);
    }
}

/// SNFQZJ, recipe 1: Wrap mode with the pointer part of the way requests an interrupt at the
/// watermark, goes on, and loses the oldest bytes; the oldest byte is at the pointer.
#[test]
fn watermark_in_wrap_mode() {
    let watermark = 0x300;
    let mut bench = Bench::idle(1, |_| {});
    bench.unit.write(Reg::Pointer, BASE + 0x1000 - watermark);
    bench.unit.synchronize();
    bench.enable(BASE + 0x1000, WRAP);
    bench.offer(&pattern(watermark as usize - 1));
    assert!(!bench.unit.interrupt());
    bench.offer(&[0x77]);
    assert!(bench.unit.interrupt() && bench.unit.signals().wraps == 1);
    let more = pattern(0x1100);
    assert_eq!(bench.offer(&more).accepted, 0x1100);
    bench.barriers();
    assert_eq!(bench.read(Reg::Pointer).known(), Some(BASE + 0x100));
    assert_eq!(bench.memory.at(BASE + 0x100, 8), &more[0x100..0x108]);
    assert_eq!(bench.stored(8), &more[0x1000..0x1008]);
}

/// SNFQZJ, recipe 2: Fill mode with TRG set and the Trigger Counter at the watermark requests an
/// interrupt there and goes on; the newest bytes are lost.
#[test]
fn watermark_by_trigger() {
    let mut bench = Bench::idle(1, |_| {});
    bench.unit.write(Reg::Counter, 0x400);
    bench.unit.write(Reg::Status, Status::TRG);
    bench.unit.synchronize();
    bench.enable(BASE + 0x1000, FILL.with_trigger(TriggerMode::Irq));
    bench.offer(&pattern(0x3ff));
    assert!(!bench.unit.interrupt() && !bench.unit.wants_flush());
    bench.offer(&[0x77]);
    bench.unit.flushed();
    assert!(bench.unit.interrupt() && bench.unit.signals().triggers == 1);
    assert_eq!(bench.offer(&pattern(0x1000)).accepted, 0xc00);
    assert!(bench.unit.is_stopped());
}

/// VSCDV: TRBSR_EL1.IRQ drives the interrupt unless exceptions are enabled at each level.
#[test]
fn interrupt_or_exception() {
    let enabled = |trbee: u64, ee2: u64, ee1: u64| {
        let mut unit = Trbe { status: [Status(Status::IRQ); 3], ..Trbe::default() };
        unit.features = Features { exceptions: true, el2: true, el3: true, ..Features::default() };
        unit.controls.mdcr_el3 |= trbee << 53;
        unit.controls.trfcr_el2 = ee2 << 8;
        unit.controls.trfcr_el1 = ee1 << 8;
        unit.interrupt()
    };
    assert!(enabled(0, 3, 3) && enabled(3, 0, 3) && enabled(3, 3, 0));
    assert!(!enabled(1, 1, 3) && !enabled(3, 3, 3));
    let unit = Trbe { status: [Status(Status::IRQ), Status(0), Status(0)], ..Trbe::default() };
    assert!(unit.interrupt());
}

/// D24.4.3: reserved modes are reported; the model takes Fill mode and Stop on trigger.
#[test]
fn reserved_modes() {
    let mut bench = Bench::running(1, Limit(0b10 << 1 | 0b10 << 3), |_| {});
    assert_eq!(bench.offer(&pattern(0x1001)).discarded, 1);
    assert_eq!(bench.broken(), ["D24.4.3"]);
}
