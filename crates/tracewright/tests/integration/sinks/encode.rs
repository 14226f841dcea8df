//! Logs that are encoded into trace buffers, read back without options, and compared with the log.

use tracewright::base::Step;
use tracewright::capture::{Buffer, BufferRef, Format, Registers, Source};
use tracewright::encode::{FillMode, LogEncoder, SinkError, SinkKind, SinkSettings, Stored, write};
use tracewright::frames::{Framing, Joiner};
use tracewright::logs::{Assembler, Lookup, Recording};
use tracewright::protocols::encoders::AnyUnit;
use tracewright::protocols::registry::AnyProtocol::{self, Ete, Etmv4};
use tracewright::{Capture, Trace, open};
use tracewright_model::{Machine, Stimulus};

use super::{Folder, instructions, memory, program, state};

const INSTRUCTIONS: usize = 100_000;

/// A log, the trace buffer it was written to, and what the snapshot decodes to.
struct Encoded {
    /// The addresses of the executed instructions.
    log: Vec<u64>,
    /// The addresses of the decoded instructions.
    decoded: Vec<u64>,
    stored: Stored,
    trace: Trace,
}

impl Encoded {
    /// Where the decoded instructions may be in the log: they follow one another without a gap.
    fn places(&self) -> Vec<usize> {
        let Encoded { log, decoded, .. } = self;
        assert!(decoded.len() > 100, "{} instructions", decoded.len());
        let places = 0..=log.len() - decoded.len();
        let places = places.filter(|at| log[*at..][..decoded.len()] == decoded[..]);
        let places: Vec<_> = places.collect();
        assert!(!places.is_empty(), "the decoded instructions are a part of the log");
        places
    }

    /// The smallest number of executed instructions behind the last decoded one.
    fn behind(&self) -> usize {
        self.log.len() - self.decoded.len() - self.places().last().unwrap()
    }
}

fn encode(
    protocol: AnyProtocol,
    framing: Framing,
    sink: SinkSettings,
    stop: Option<u64>,
) -> Encoded {
    let program = program(7);
    let mut machine = Machine::new(&program, Stimulus { seed: 7, ..Stimulus::default() });
    let recording = Recording {
        protocol,
        registers: vec![("TRCSYNCPR".into(), 8)],
        texts: Vec::new(),
        framing,
        messages: false,
        core: AnyUnit::core(protocol).to_owned(),
        images: memory(&program),
    };
    let folder = Folder::new();
    let encoder = LogEncoder::new(recording, &folder.0, None, None).unwrap();
    let mut encoder = encoder.with_sink(sink);
    let mut log = Vec::new();
    machine.run(INSTRUCTIONS, |step| {
        if let Step::Retired(retired) = step
            && stop.is_none_or(|stop| (log.len() as u64) < stop)
        {
            log.push(retired.address);
        }
        encoder.step(0, step);
        encoder.spool().unwrap();
    });
    encoder.step(0, &Step::Halted);
    let mut assembler = Assembler::new(Lookup::new(program.image.clone()));
    let encoded = encoder.finish(&mut assembler).unwrap();
    write(protocol, &encoded.capture, &folder.0).unwrap();
    let trace = open(&folder.0).unwrap();
    assert_eq!(trace.capture(), &encoded.capture, "{:?}", trace.capture().notes);
    let decoded = instructions(&trace).remove(0).iter().map(|(address, _)| *address).collect();
    let [stored] = &encoded.stored[..] else { panic!("one buffer") };
    Encoded { log, decoded, stored: stored.clone(), trace }
}

/// Each kind of buffer that the trace fits into has all of it. The trace of a TRBE has no trace ID.
/// (RPHSKP)
#[test]
fn all_of_it() {
    for (protocol, framing, kind) in [
        (Ete, Framing::Raw, SinkKind::Trbe),
        (Etmv4, Framing::Coresight, SinkKind::Etr),
        (Etmv4, Framing::Coresight, SinkKind::Etb),
        (Etmv4, Framing::Raw, SinkKind::Etb),
    ] {
        let sink = SinkSettings::new(kind, 1 << 20, FillMode::Fill).unwrap();
        let encoded = encode(protocol, framing, sink, None);
        assert_eq!(encoded.decoded, encoded.log, "{kind:?}");
        assert_eq!((encoded.stored.discarded, state(&encoded.trace).1), (0, vec![]));
    }
}

/// A buffer that wraps has the end of the execution; it begins in the middle of a packet.
#[test]
fn the_end_of_it() {
    for (protocol, framing, kind, mode) in [
        (Ete, Framing::Raw, SinkKind::Trbe, FillMode::Circular),
        (Ete, Framing::Raw, SinkKind::Trbe, FillMode::Wrap),
        (Etmv4, Framing::Coresight, SinkKind::Etr, FillMode::Circular),
        (Etmv4, Framing::Coresight, SinkKind::Etb, FillMode::Circular),
        (Etmv4, Framing::Raw, SinkKind::Etr, FillMode::Circular),
    ] {
        let sink = SinkSettings::new(kind, 4096, mode).unwrap();
        let encoded = encode(protocol, framing, sink, None);
        let name = format!("{kind:?} {mode:?} {framing:?}");
        assert!(encoded.stored.accepted > 2 * 4096, "{name}: {:?}", encoded.stored);
        assert_eq!(encoded.behind(), 0, "{name}");
        let (state, lost) = state(&encoded.trace);
        assert_eq!(lost, ["trace before the oldest byte was overwritten"], "{name}");
        assert!(state.iter().any(|text| text.contains("4096 bytes, wrapped")), "{state:?}");
        let len = encoded.trace.capture().buffers[0].len();
        assert!((4096 - 16..=4096).contains(&len), "{len}");
    }
}

/// A buffer that stops when it is full has the start of the execution.
#[test]
fn the_start_of_it() {
    for (protocol, framing, kind) in [
        (Ete, Framing::Raw, SinkKind::Trbe),
        (Etmv4, Framing::Coresight, SinkKind::Etr),
        (Etmv4, Framing::Coresight, SinkKind::Etb),
    ] {
        let sink = SinkSettings::new(kind, 4096, FillMode::Fill).unwrap();
        let encoded = encode(protocol, framing, sink, None);
        assert_eq!(encoded.places()[0], 0, "{kind:?}");
        assert!(encoded.decoded.len() < INSTRUCTIONS && encoded.stored.discarded > 0);
        assert_eq!(encoded.stored.accepted, 4096);
    }
    let sink = SinkSettings::new(SinkKind::Trbe, 4096, FillMode::Fill).unwrap();
    let (state, lost) = state(&encode(Ete, Framing::Raw, sink, None).trace);
    assert!(state.iter().any(|text| text == "collection stopped: the buffer is full"), "{state:?}");
    assert_eq!(lost.len(), 1, "{lost:?}");
}

/// A trigger stops a buffer with the trace around it.
#[test]
fn around_a_trigger() {
    let at = 60_000;
    for (protocol, framing, kind) in [
        (Ete, Framing::Raw, SinkKind::Trbe),
        (Etmv4, Framing::Coresight, SinkKind::Etr),
        (Etmv4, Framing::Raw, SinkKind::Etb),
    ] {
        let sink = SinkSettings::new(kind, 4096, FillMode::Circular).unwrap();
        let sink = sink.with_trigger(at as u64, 1024).unwrap();
        let encoded = encode(protocol, framing, sink, None);
        let (places, len) = (encoded.places(), encoded.decoded.len());
        let around = places.iter().any(|first| (*first..first + len).contains(&at));
        assert!(around && len < INSTRUCTIONS / 2, "{kind:?}: {len} from one of {places:?}");
        assert!(encoded.stored.discarded > 0);
        let (state, _) = state(&encoded.trace);
        let stopped = ["collection stopped: Trigger Event", "stopped by a trigger"];
        assert!(state.iter().any(|text| stopped.contains(&text.as_str())), "{state:?}");
    }
}

/// Tracing that stops has the execution up to there.
#[test]
fn up_to_a_stop() {
    for (protocol, framing, kind) in
        [(Ete, Framing::Raw, SinkKind::Trbe), (Etmv4, Framing::Coresight, SinkKind::Etr)]
    {
        let sink = SinkSettings::new(kind, 4096, FillMode::Circular).unwrap().with_stop(70_000);
        let encoded = encode(protocol, framing, sink, Some(70_000));
        assert!(encoded.log.len() == 70_000 && encoded.stored.accepted > 4096);
        // Instructions behind the last branch have no trace.
        assert!(encoded.behind() < 50, "{}", encoded.behind());
    }
}

#[test]
fn impossible_buffers() {
    for (kind, size, mode, error) in [
        (SinkKind::Trbe, 0, FillMode::Fill, SinkError::Size(4096)),
        (SinkKind::Trbe, 4095, FillMode::Fill, SinkError::Size(4096)),
        (SinkKind::Trbe, u64::MAX, FillMode::Fill, SinkError::Size(4096)),
        (SinkKind::Etr, 8, FillMode::Fill, SinkError::Size(16)),
        (SinkKind::Etb, 64, FillMode::Wrap, SinkError::Mode),
    ] {
        assert_eq!(SinkSettings::new(kind, size, mode).unwrap_err(), error);
    }
    let etb = SinkSettings::new(SinkKind::Etb, 64, FillMode::Fill).unwrap();
    assert_eq!(etb.with_trigger(1, 3).unwrap_err(), SinkError::Delay);
}

/// Two sessions in one buffer: of a TRBE with Ignore packets (0x70) between them, as drivers fill
/// gaps; of an ETR with a driver's barrier in place of the first frame of the second.
#[test]
fn several_sessions() {
    let program = program(3);
    let mut machine = Machine::new(&program, Stimulus { seed: 3, ..Stimulus::default() });
    for (protocol, format) in [(Ete, Format::SourceData), (Etmv4, Format::CoreSight)] {
        let (mut log, mut bytes) = (Vec::new(), Vec::new());
        let mut context = None;
        let mut registers = Registers::default();
        for session in 0..2 {
            let mut unit = AnyUnit::new(protocol, None, &|_| None).unwrap().unwrap();
            registers = Registers::from_iter(AnyUnit::usual(protocol).iter().copied());
            let mut trace = Vec::new();
            context.iter().for_each(|step| unit.step(step, &mut trace));
            machine.run(3000, |step| {
                match step {
                    Step::Retired(retired) => log.push(retired.address),
                    Step::Context(_) => context = Some(*step),
                    _ => {}
                }
                unit.step(step, &mut trace);
            });
            unit.step(&Step::Halted, &mut trace);
            unit.finish(&mut trace);
            if format == Format::SourceData {
                bytes.extend_from_slice(&trace);
                bytes.extend_from_slice(&[0x70; 37]);
            } else {
                if session == 1 {
                    bytes.extend([0xff, 0xff, 0xff, 0x7f].repeat(4));
                }
                let mut joiner = Joiner::new(Framing::Coresight);
                joiner.push(unit.config().trace_id(), &trace, &mut bytes).unwrap();
                joiner.finish(&mut bytes);
            }
        }
        let capture = Capture {
            buffers: vec![Buffer::new("buffer", format, bytes)],
            sources: vec![Source {
                name: "unit".into(),
                device_type: protocol.about().names[0].into(),
                registers,
                buffers: vec![BufferRef { buffer: 0, stream: None }],
                ..Source::default()
            }],
            memory: memory(&program),
            ..Capture::default()
        };
        let decoded = instructions(&Trace::new(capture)).remove(0);
        let decoded: Vec<_> = decoded.iter().map(|(address, _)| *address).collect();
        assert_eq!(decoded, log, "{protocol:?}");
    }
}
