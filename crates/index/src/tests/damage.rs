//! Damaged, truncated and foreign indexes.

use tracewright_capture::Bytes;
use tracewright_testing::Random;

use super::{captures, making};
use crate::query::Query;
use crate::{Finder, Index, IndexError};

/// Whatever happens to an index, it is refused, or its answers are those without an index.
#[test]
fn damaged_indexes_give_no_wrong_answers() {
    let mut random = Random::new(3);
    let cases = captures();
    let wanted = ["/etmv4/", "/ptm/", "/etmv3/", "/itm/"];
    let cases: Vec<_> =
        cases.into_iter().filter(|case| wanted.iter().any(|w| case.name.contains(w))).collect();
    assert_eq!(cases.len(), wanted.len());
    let files: Vec<Vec<u8>> =
        cases.iter().map(|case| case.index_bytes(&making(case, true))).collect();
    let queries = ["count any", "count exception", "first gap", "last time 1"];
    let queries = queries.map(|text| Query::parse(&[text]).expect("a query"));
    let (mut refused, mut partial) = (0, 0);
    for n in 0..tracewright_testing::times(60) {
        let k = random.below(cases.len() as u64) as usize;
        let (case, whole) = (&cases[k], &files[k]);
        let mut bytes = whole.clone();
        let some = |random: &mut Random| random.below(whole.len() as u64) as usize;
        match n % 5 {
            0 => bytes.truncate(some(&mut random)),
            1 => bytes[some(&mut random)] ^= 1 << random.below(8),
            2 => {
                let (a, b) = (some(&mut random), some(&mut random));
                bytes.swap(a, b);
            }
            3 => {
                let (from, len) = (some(&mut random), random.below(200) as usize);
                let end = (from + len).min(bytes.len());
                bytes.drain(from..end);
            }
            // The index of another capture.
            _ => bytes.clone_from(&files[(k + 1 + random.below(3) as usize) % files.len()]),
        }
        let index = match Index::read(Bytes::from(bytes)) {
            Ok(index) => index,
            Err(_) => {
                refused += 1;
                continue;
            }
        };
        if let Err(error) = case.subject().check(&index, &case.plans) {
            assert!(!error.to_string().is_empty());
            refused += 1;
            continue;
        }
        partial += 1;
        for query in &queries {
            for plan in &case.plans {
                let find = |index| {
                    let finder = Finder::new(case.subject(), plan, index);
                    finder.expect("a finder").find(query).expect("an answer")
                };
                assert_eq!(find(Some(&index)), find(None), "{} {n}", case.name);
            }
        }
    }
    assert!(refused > 0 && partial > 0, "{refused} refused, {partial} used");
}

/// An index with any contents, whose checksums fit, is read without a panic.
#[test]
fn forged_indexes_do_no_harm() {
    let mut random = Random::new(5);
    let cases = captures();
    let files: Vec<Vec<u8>> =
        cases.iter().map(|case| case.index_bytes(&making(case, true))).collect();
    let queries = ["count exception", "first gap", "last time 1", "nth 9 any", "count address 0.."];
    let queries = queries.map(|text| Query::parse(&[text]).expect("a query"));
    let mut read = 0;
    for _ in 0..tracewright_testing::times(80) {
        let k = random.below(cases.len() as u64) as usize;
        let (case, mut bytes) = (&cases[k], files[k].clone());
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            let other = [random.below(256) as u8, 0, 0xff, bytes[at] ^ 0x80];
            bytes[at] = random.pick(&other);
        }
        crate::write_checksums(&mut bytes);
        let Ok(index) = Index::read(Bytes::from(bytes)) else { continue };
        read += 1;
        let _ = case.subject().check(&index, &case.plans);
        for plan in &case.plans {
            for query in &queries {
                if let Some(mut finder) = Finder::new(case.subject(), plan, Some(&index)) {
                    let _ = finder.find(query);
                }
            }
        }
    }
    assert!(read > 0);
}

/// A trace, registers or program memory that changed since the index was made.
#[test]
fn a_stale_index_is_refused() {
    for case in captures() {
        let index = case.index(&making(&case, false));
        let changed = |change: &dyn Fn(&mut tracewright_capture::Capture)| {
            let mut capture = case.capture.clone();
            change(&mut capture);
            let other = super::Case::of(case.name.clone(), capture);
            other.subject().check(&index, &other.plans)
        };
        let replace = |capture: &mut tracewright_capture::Capture, bytes: Vec<u8>| {
            capture.stamps.clear();
            let buffer = &mut capture.buffers[0];
            let (name, format) = (buffer.name.clone(), buffer.format.clone());
            *buffer = tracewright_capture::Buffer::new(name, format, bytes);
        };
        let bytes = case.capture.buffers[0].bytes().into_owned();
        let flipped = |at: usize| {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x10;
            bytes
        };
        assert_eq!(changed(&|_| {}), Ok(()), "{}", case.name);
        for other in [
            flipped(bytes.len() / 2),
            flipped(bytes.len() - 1),
            bytes[..bytes.len() - 1].to_vec(),
            [bytes.clone(), vec![0; 16]].concat(),
        ] {
            let checked = changed(&|capture| replace(capture, other.clone()));
            assert!(
                matches!(checked, Err(IndexError::OtherTrace { .. })),
                "{}: {checked:?}",
                case.name
            );
        }
        let registers = changed(&|capture| {
            let register = capture.sources.iter_mut().flat_map(|s| s.registers.0.iter_mut()).next();
            if let Some(register) = register {
                register.value ^= 0x100;
            }
        });
        let has_registers = case.capture.sources.iter().any(|s| !s.registers.0.is_empty());
        // The parameters of RISC-V are not registers of the capture.
        assert!(
            registers.is_err() || !has_registers || case.name.contains("etrace"),
            "{}",
            case.name
        );
        if !case.capture.memory.is_empty() {
            let memory = changed(&|capture| {
                capture.stamps.clear();
                let dump = &mut capture.memory[0];
                let mut bytes = dump.bytes.as_deref().unwrap_or_default().to_vec();
                if let Some(byte) = bytes.last_mut() {
                    *byte ^= 1;
                }
                dump.bytes = Some(bytes.into());
            });
            assert_eq!(memory, Err(IndexError::OtherMemory), "{}", case.name);
        }
    }
}
