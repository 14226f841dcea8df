//! Cases that begin with an execution log: the trace unit must emit the case's bytes, and these
//! must decode to the executed instructions and exceptions of the log.

use std::sync::Arc;

use tracewright::base::{Code, Element, Isa, OffsetMap, Pc, Piece, Step};
use tracewright::image::{Cache, CacheOptions, Image};
use tracewright::logs::{Assembler, Format, Lookup, Reader};
use tracewright::protocols::encoders::AnyUnit;
use tracewright::protocols::registry::AnyConfig;

use crate::case::Case;

/// The bytes that the trace unit emits for the case's steps, and the steps.
pub fn encode(case: &Case) -> Result<(Vec<u8>, Vec<Step>), String> {
    let mut steps = Vec::new();
    let image = Arc::new(case.image.clone());
    let mut assembler = Assembler::new(Lookup::with(image, case.config.riscv()));
    assembler.isa = case.isa;
    let mut push = |_: u16, step: &Step| steps.push(*step);
    let mut reader = Reader::new(Format::Csv, case.isa);
    let mut read = reader.feed(case.steps.as_bytes(), &mut |e| assembler.entry(&e, &mut push));
    if read.is_ok() {
        read = reader.finish(&mut |e| assembler.entry(&e, &mut push));
    }
    read.map_err(|error| format!("steps, {error}"))?;
    assembler.finish(&mut push);
    let protocol = case.protocol.ok_or("no protocol")?;
    let register = |name: &str| {
        case.registers.iter().find(|(known, _)| known == name).map(|&(_, value)| value)
    };
    let unit = AnyUnit::new(protocol, case.core, &register).map_err(|e| e.to_string())?;
    let mut unit = unit.ok_or("no trace unit of this protocol")?;
    // If a register is not in the case, it is absent for a decoder, and has its usual value for the
    // unit. The unit encodes steps, and so does not need the meaning of opcodes.
    let mut config = unit.config();
    if let (AnyConfig::Etrace(unit), AnyConfig::Etrace(case)) = (&mut config, &case.config) {
        unit.extensions = case.extensions;
    }
    if format!("{config:?}") != format!("{:?}", case.config) {
        let usual = AnyUnit::usual(protocol).iter().map(|&(name, _)| name);
        let absent: Vec<&str> = usual.filter(|name| register(name).is_none()).collect();
        return Err(format!("config must name {}, too", absent.join(", ")));
    }
    let mut bytes = Vec::new();
    unit.steps(&steps, &mut bytes);
    unit.finish(&mut bytes);
    Ok((bytes, steps))
}

/// Addresses of instructions in order; all ones for an exception.
type Ran = Vec<u64>;

const EXCEPTION: u64 = u64::MAX;

fn wanted(steps: &[Step]) -> Ran {
    let mut off = false;
    let mut ran = Vec::new();
    for step in steps {
        match step {
            Step::Off => off = true,
            Step::On => off = false,
            Step::Retired(retired) if !off => ran.push(retired.address),
            Step::Exception(taken) if !off => {
                if taken.cancels {
                    ran.pop();
                }
                ran.push(EXCEPTION);
            }
            _ => {}
        }
    }
    ran
}

fn decoded(case: &Case, bytes: &[u8]) -> Result<Ran, String> {
    let image: Arc<Image> = Arc::new(case.image.clone());
    let max_expansion = case.max_expansion;
    let riscv = case.config.riscv();
    let options = CacheOptions { riscv, max_expansion, ..CacheOptions::default() };
    let mut cache = Cache::new(image, case.config.waypoints(), options);
    let mut stream = case.config.stream();
    let mut elements: Vec<(u64, Element)> = Vec::new();
    let pieces = [Piece { start: 0, at: 0, fragment: true }];
    let offsets = OffsetMap::new(&pieces);
    let taken = stream.feed(bytes, &offsets, &mut cache, &mut elements);
    stream.finish(&bytes[taken..], &offsets, &mut cache, &mut elements);
    let mut ran = Vec::new();
    for (at, element) in elements {
        match element {
            Element::Range(range) => {
                let mut address = range.start;
                for n in 0..range.instructions {
                    ran.push(address);
                    let isa: Isa = range.last.isa;
                    let found = cache.instruction(Pc { address, isa, ..Pc::default() });
                    let found = found.map_err(|miss| format!("{at}: instruction {n}: {miss:?}"))?;
                    address += u64::from(found.size);
                }
            }
            Element::Exception(_) => ran.push(EXCEPTION),
            Element::Inconsistency(_) | Element::Undecodable { .. } | Element::NoCode { .. } => {
                return Err(format!("{at}: {element}"));
            }
            _ => {}
        }
    }
    Ok(ran)
}

/// Checks that the unit emits the case's bytes, and that these decode to the steps. Steps before an
/// overflow may be lost, and sequential code after the last waypoint is not reported.
pub fn check(case: &Case) -> Result<(), String> {
    let (bytes, steps) = encode(case)?;
    if bytes != case.bytes {
        let same = bytes.iter().zip(&case.bytes).take_while(|(a, b)| a == b).count();
        let rest = |bytes: &[u8]| {
            let rest = bytes.get(same..).unwrap_or_default().iter().take(16);
            rest.map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
        };
        return Err(format!(
            "the unit emits {} bytes; from {same} on\n    want {}\n    got  {}",
            bytes.len(),
            rest(&case.bytes),
            rest(&bytes)
        ));
    }
    let (want, got) = (wanted(&steps), decoded(case, &bytes)?);
    let lossy = steps.contains(&Step::Overflow);
    let good = match lossy {
        true => {
            let mut all = want.iter();
            got.iter().all(|ran| all.any(|want| want == ran))
        }
        false => want.starts_with(&got),
    };
    let hidden = |step: &&Step| match step {
        Step::Retired(retired) => {
            retired.next == retired.address + u64::from(retired.instruction.size)
        }
        Step::Exception(_) => false,
        _ => true,
    };
    let tail = steps.iter().rev().take_while(hidden);
    let tail = tail.filter(|step| matches!(step, Step::Retired(_))).count();
    if good && !got.is_empty() && (lossy || got.len() + tail >= want.len()) {
        return Ok(());
    }
    Err(format!("the decoded execution differs\n    want {want:x?}\n    got  {got:x?}"))
}
