//! Damaged, truncated and foreign indexes.

use tracewright_capture::Bytes;
use tracewright_decode::Plan;
use tracewright_testing::Random;

use super::windows::lines;
use super::{Case, captures, making};
use crate::error::FindError;
use crate::error::IndexError;
use crate::find::Finder;
use crate::format::{BATCH_HEAD, write_checksums};
use crate::index::Index;
use crate::query::Query;
use crate::view::{Player, View};
use crate::window::Window;
use crate::writer::Making;

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
        crate::format::write_checksums(&mut bytes);
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

/// Damage of each section of each batch alone: that of heads and totals ends the index, that of
/// summaries is found when they are read, and no answer is another one.
#[test]
fn damage_of_each_section_gives_no_wrong_answers() {
    let case = captures().into_iter().find(|case| case.name.contains("/etmv4/")).expect("a trace");
    let plan = &case.plans[0];
    let whole = case.index_bytes(&making(&case, true));
    let texts = ["count any", "last any", "first time 1", "nth 40 address 0..", "count exception"];
    let queries = texts.map(|text| Query::parse(&[text]).expect("a query"));
    let find = |index: Option<&Index>, query: &Query| {
        let mut finder = Finder::new(case.subject(), plan, index).expect("a finder");
        (finder.find(query).expect("an answer"), finder.damage().cloned())
    };
    let window = Window { element: Some(300..320), ..Window::default() };
    let listed = lines(&case, plan, &window, None, true);
    assert!(listed.0.len() >= 20);
    let wanted: Vec<_> = queries.iter().map(|query| find(None, query).0).collect();
    let head = 24 + u32::from_le_bytes(whole[12..16].try_into().expect("four bytes")) as usize;
    let (mut at, mut found) = (head, [0; 11]);
    while at < whole.len() {
        let number = |k: usize| {
            let bytes = whole[at + 12 + 4 * k..][..4].try_into().expect("four bytes");
            u32::from_le_bytes(bytes) as usize
        };
        let mut places = vec![(at, BATCH_HEAD)];
        for k in 0..10 {
            let (before, len) = places[k];
            places.push((before + len, number(k)));
        }
        for (section, (start, len)) in places.iter().copied().enumerate() {
            if len == 0 {
                continue;
            }
            let mut bytes = whole.clone();
            bytes[start + len / 2] ^= 4;
            let index = Index::read(Bytes::from(bytes)).expect("a head");
            assert_eq!(index.damage().is_some(), section < 2, "section {section}");
            let indexed = index.buffer(plan.buffer);
            assert!(lines(&case, plan, &window, indexed, true) == listed, "{section} at {at}");
            for (query, want) in queries.iter().zip(&wanted) {
                let (answer, damage) = find(Some(&index), query);
                assert_eq!(&answer, want, "section {section} at {at}");
                found[section] += usize::from(damage.is_some());
            }
        }
        at = places[10].0 + places[10].1;
    }
    assert!(found[2] > 0 && found[3] > 0 && found[4] > 0, "{found:?}");
    assert_eq!(found[..2], [0, 0]);
}

/// A file of another version is refused with a sentence.
#[test]
fn another_version_is_refused() {
    let case = captures().into_iter().next().expect("a trace");
    let mut bytes = case.index_bytes(&making(&case, false));
    for version in [2, 4, 7] {
        bytes[8..10].copy_from_slice(&u16::to_le_bytes(version));
        crate::format::write_checksums(&mut bytes);
        let error = Index::read(Bytes::from(bytes.clone())).expect_err("another version");
        assert_eq!(error, IndexError::Version(version));
        let text = format!(
            "its format has version {version}, which this command does not read: make the index \
             again"
        );
        assert_eq!(error.to_string(), text);
    }
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

/// Program memory in files is compared where a file has another size, time or number, or where its
/// time of change is not known; other program memory always is.
#[cfg(unix)]
#[test]
fn files_are_compared_where_they_may_have_changed() {
    type Change<'a> = &'a dyn Fn(&mut tracewright_capture::Capture);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures");
    let case = super::Case::open(&folder.join("etmv4/capture"));
    let with = |changes: &[Change<'_>]| {
        let mut capture = case.capture.clone();
        changes.iter().for_each(|change| change(&mut capture));
        super::Case::of(case.name.clone(), capture)
    };
    let index = case.index(&crate::writer::Making::default());
    let check = |changes: &[Change<'_>]| {
        let other = with(changes);
        other.subject().check(&index, &other.plans)
    };
    let byte: Change<'_> = &|capture| {
        let dump = &mut capture.memory[0];
        let mut bytes = dump.bytes.as_deref().unwrap_or_default().to_vec();
        bytes[0] ^= 1;
        dump.bytes = Some(bytes.into());
    };
    // The bytes are not read.
    assert_eq!(check(&[byte]), Ok(()));
    let stamps: [Change<'_>; 4] = [
        &|capture| capture.stamps[0].len += 1,
        &|capture| capture.stamps[0].modified = capture.stamps[0].modified.map(|time| time + 1),
        &|capture| capture.stamps[0].changed = capture.stamps[0].changed.map(|time| time + 1),
        &|capture| capture.stamps[0].identity = Some((1, 2)),
    ];
    for stamp in stamps {
        assert_eq!(check(&[stamp]), Ok(()));
        assert_eq!(check(&[stamp, byte]), Err(IndexError::OtherMemory));
    }
    let other = Err(IndexError::OtherMemory);
    assert_eq!(check(&[&|capture| capture.memory[0].address += 4]), other, "another address");
    assert_eq!(check(&[&|capture| capture.memory[0].path.clear(), byte]), other, "not in a file");
    // The system records no time of change.
    let timeless: Change<'_> = &|capture| {
        capture.stamps.iter_mut().for_each(|stamp| stamp.changed = None);
    };
    let made = with(&[timeless]);
    let index = made.index(&crate::writer::Making::default());
    for changes in [&[timeless, byte][..], &[byte]] {
        let later = with(changes);
        assert_eq!(later.subject().check(&index, &later.plans), other);
    }
}

/// Damage of a section of a view is found when it is read, and the rest of the index is used.
#[test]
fn damaged_views_are_found() {
    let case = captures().into_iter().find(|case| case.name.contains("/etmv4/")).expect("a trace");
    let plan = &case.plans[0];
    let making = Making { view: true, ..making(&case, false) };
    let whole = case.index_bytes(&making);
    let head = 24 + u32::from_le_bytes(whole[12..16].try_into().expect("four bytes")) as usize;
    let (mut at, mut found) = (head, [0; 6]);
    while at < whole.len() {
        let number = |k: usize| {
            let bytes = whole[at + 12 + 4 * k..][..4].try_into().expect("four bytes");
            u32::from_le_bytes(bytes) as usize
        };
        let sections: Vec<usize> = (0..11).map(number).collect();
        for view in 0..6 {
            let start = at + BATCH_HEAD + sections[..5 + view].iter().sum::<usize>();
            for forged in [false, true] {
                let mut bytes = whole.clone();
                bytes[start + sections[5 + view] / 2] ^= 4;
                if forged {
                    write_checksums(&mut bytes);
                }
                let index = Index::read(Bytes::from(bytes)).expect("a head");
                assert_eq!(index.damage(), None);
                let all = read_view(&case, plan, &index);
                // Where no granule ends, the sums are never read.
                let unread = view == 3 && sections[8] == 2 * plan.sources.len();
                assert!(forged || unread || all.is_err(), "section {view}");
                found[view] += usize::from(all.is_err());
            }
        }
        at += BATCH_HEAD + sections.iter().sum::<usize>();
    }
    assert!(found.iter().all(|found| *found > 0), "{found:?}");
}

/// Reads all of a view, and plays parts of it.
fn read_view(case: &Case, plan: &Plan, index: &Index) -> Result<(), FindError> {
    let buffer = index.buffer(plan.buffer).expect("the buffer");
    let view = View::new(index, buffer)?.expect("a view");
    view.sums(0..u64::MAX)?;
    for source in 0..plan.sources.len() {
        for level in 0..view.shape().levels {
            view.tiles(source, level, 0..u64::MAX)?;
        }
        view.frames(source, 0..u64::MAX, 0)?;
        view.granules(source, 0..u64::MAX, |_| {})?;
        view.lengths(source)?;
    }
    let mut player = Player::new(case.subject(), plan, &view).expect("its own plan");
    for n in 0..buffer.len() {
        if let Some((_, saved)) = view.stacks(n)? {
            assert!(saved.threads.len() < 1000);
        }
        player.stack(buffer.position(n).elements, 0)?;
    }
    Ok(())
}
