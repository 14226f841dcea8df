//! Cases that begin with what a processor did: the trace unit must write the case's bytes, and what they say
//! must be what ran.

use std::sync::Arc;

use tracewright::base::{Code, Element, Isa, OffsetMap, Pc, Piece, Step};
use tracewright::image::{Cache, CacheOptions, Image};
use tracewright::logs::{Assembler, Format, Lookup, Reader};
use tracewright::protocols::encoders::AnyUnit;
use tracewright::protocols::registry::AnyConfig;

use crate::case::Case;

/// What the trace unit writes of the case's steps, and the steps.
pub fn encode(case: &Case) -> Result<(Vec<u8>, Vec<Step>), String> {
    let mut steps = Vec::new();
    let image = Arc::new(case.image.clone());
    let mut assembler = Assembler::new(Lookup::with(image, case.config.riscv()));
    assembler.isa = case.isa;
    let mut say = |_: u16, step: &Step| steps.push(*step);
    let mut reader = Reader::new(Format::Csv, case.isa);
    let mut read = reader.feed(case.steps.as_bytes(), &mut |e| assembler.entry(&e, &mut say));
    if read.is_ok() {
        read = reader.finish(&mut |e| assembler.entry(&e, &mut say));
    }
    read.map_err(|error| format!("steps, {error}"))?;
    assembler.finish(&mut say);
    let protocol = case.protocol.ok_or("no protocol")?;
    let register = |name: &str| {
        case.registers.iter().find(|(known, _)| known == name).map(|&(_, value)| value)
    };
    let unit = AnyUnit::new(protocol, case.core, &register).map_err(|e| e.to_string())?;
    let mut unit = unit.ok_or("no trace unit of this protocol")?;
    // A decoder takes a register that the case does not name for absent, the unit for a usual one.
    // What opcodes mean the unit is not told: it takes steps.
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

fn said(case: &Case, bytes: &[u8]) -> Result<Ran, String> {
    let image: Arc<Image> = Arc::new(case.image.clone());
    let options = CacheOptions { riscv: case.config.riscv(), ..CacheOptions::default() };
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

/// Whether the unit writes the case's bytes, and whether these say what ran. An overflow loses what came
/// before it, and straight code after the last waypoint is not said.
pub fn check(case: &Case) -> Result<(), String> {
    let (bytes, steps) = encode(case)?;
    if bytes != case.bytes {
        let same = bytes.iter().zip(&case.bytes).take_while(|(a, b)| a == b).count();
        let rest = |bytes: &[u8]| {
            let rest = bytes.get(same..).unwrap_or_default().iter().take(16);
            rest.map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
        };
        return Err(format!(
            "the unit writes {} bytes; from {same} on\n    want {}\n    got  {}",
            bytes.len(),
            rest(&case.bytes),
            rest(&bytes)
        ));
    }
    let (want, got) = (wanted(&steps), said(case, &bytes)?);
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
    Err(format!("what ran comes back otherwise\n    want {want:x?}\n    got  {got:x?}"))
}
