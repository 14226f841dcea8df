//! Coverage mapping of LLVM: the decisions and conditions of source text, which clang writes to the
//! sections `__llvm_covmap` and `__llvm_covfun` with `-fprofile-instr-generate -fcoverage-mapping
//! -fcoverage-mcdc`. The program of the file need not run. (LLVM, "LLVM Code Coverage Mapping
//! Format", versions 4 to 7)
//!
//! | file | contents |
//! |---|---|
//! | `files.rs` | the names of source files |
//! | `function.rs` | the regions of a function, and the decisions that they describe |
//! | `reader.rs` | numbers and counters |

mod files;
mod function;
mod reader;

use std::collections::HashSet;

use object::{CompressionFormat, Object, ObjectSection};
use tracewright_image::Bytes;

use files::Files;
use function::Function;
use reader::Reader;

/// The most bytes of a section for each byte that is compressed.
const RATIO: u64 = 256;
/// The most bytes of the paths of all decisions, and of conditions that are none.
const MOST_PATHS: usize = 1 << 28;

/// A place in a source file: line and column, both from 1.
pub type Place = (u32, u32);

/// A part of a source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region {
    /// Its first character.
    pub start: Place,
    /// What is behind its last character.
    pub end: Place,
}

impl Region {
    /// Whether all of `other` is in it.
    pub fn contains(&self, other: &Region) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether a place is in it.
    pub fn has(&self, place: Place) -> bool {
        self.start <= place && place < self.end
    }
}

/// A condition of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedCondition {
    /// Its text in the file, or the macro that has it.
    pub region: Region,
    /// The condition that is evaluated next where it is false and where it is true, by its position
    /// in the decision; `None` where the decision has its outcome.
    pub next: [Option<usize>; 2],
    /// It always has this value.
    pub constant: bool,
}

/// A decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedDecision {
    /// The path of the file, with the folder of compilation.
    pub file: String,
    /// Its text in the file, or the macro that has it.
    pub region: Region,
    /// Its conditions; the first one is evaluated first. Not empty.
    pub conditions: Vec<MappedCondition>,
    /// What is executed where a decision of one condition is false, and where it is true, as far as
    /// it is known.
    pub leads_to: [Vec<Region>; 2],
}

/// The decisions of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoverageMapping {
    /// In order of their files and places. Those of functions that several units have are there
    /// once.
    pub decisions: Vec<MappedDecision>,
    /// Decisions whose conditions are not known, or parts of them, by their places: clang describes
    /// none of which a condition contains another one.
    pub unknown: Vec<(String, Region)>,
}

/// Why a mapping cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MappingError {
    /// It is no object file, or its headers are damaged.
    NoObject,
    /// It has no section `__llvm_covmap`.
    None,
    /// It has a version that is not known.
    Version(u32),
    /// It is damaged.
    Damaged,
    /// It has more of something than is read.
    TooLarge,
}

impl CoverageMapping {
    /// The mapping of an object file or a program.
    ///
    /// # Errors
    /// [`MappingError`].
    pub fn of_elf(file: &Bytes) -> Result<CoverageMapping, MappingError> {
        let data: &[u8] = file;
        let file = object::File::parse(data).map_err(|_| MappingError::NoObject)?;
        let little = file.is_little_endian();
        let named = |name: &'static str| {
            let sections = file.sections().filter(move |section| section.name() == Ok(name));
            sections.map(|section| {
                let damaged = |_| MappingError::Damaged;
                let data = section.compressed_data().map_err(damaged)?;
                let most = (data.data.len() as u64).saturating_mul(RATIO);
                // The stated size is allocated at once.
                if data.format != CompressionFormat::None && data.uncompressed_size > most {
                    return Err(MappingError::TooLarge);
                }
                data.decompress().map_err(damaged)
            })
        };
        let mut names = Files::default();
        for section in named("__llvm_covmap") {
            names.add(Reader { bytes: &section?, little })?;
        }
        if names.all.is_empty() {
            return Err(MappingError::None);
        }
        let (mut mapping, mut paths) = (CoverageMapping::default(), 0usize);
        for section in named("__llvm_covfun") {
            let section = section?;
            let mut from = Reader { bytes: &section, little };
            while !from.bytes.is_empty() {
                // The hash of the name; length; the hash of the structure; that of the files.
                from.take(8).ok_or(MappingError::Damaged)?;
                let len = from.u32().ok_or(MappingError::Damaged)?;
                from.take(8).ok_or(MappingError::Damaged)?;
                let reference = from.u64().ok_or(MappingError::Damaged)?;
                let body = from.take(len as usize).ok_or(MappingError::Damaged)?;
                let files = names.of(reference).ok_or(MappingError::Damaged)?;
                let mut own = Reader { bytes: body, little };
                let function = Function::read(&mut own, files)?;
                paths = paths.saturating_add(function.paths());
                if paths > MOST_PATHS {
                    return Err(MappingError::TooLarge);
                }
                function.decisions(&mut mapping);
                // Records begin at multiples of 8.
                let used = section.len() - from.bytes.len();
                from.take((8 - used % 8) % 8 % (from.bytes.len() + 1));
            }
        }
        mapping.refuse_neighbours();
        let key = |own: &MappedDecision| (own.file.clone(), own.region);
        mapping.decisions.sort_by_key(key);
        mapping.decisions.dedup();
        mapping.unknown.sort();
        mapping.unknown.dedup();
        Ok(mapping)
    }
}

impl CoverageMapping {
    /// A condition in a line with one of a decision that is not described may belong to it.
    fn refuse_neighbours(&mut self) {
        let unknown = self.unknown.iter();
        let lines: HashSet<(String, u32)> =
            unknown.map(|(file, region)| (file.clone(), region.start.0)).collect();
        let is_near = |own: &MappedDecision| {
            own.conditions.len() == 1 && lines.contains(&(own.file.clone(), own.region.start.0))
        };
        let refused: Vec<_> = self.decisions.extract_if(.., |own| is_near(own)).collect();
        self.unknown.extend(refused.into_iter().map(|own| (own.file, own.region)));
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::{env, fs, process};

    use tracewright_testing::{Random, times, tool_since};

    use super::*;

    const SOURCE: &str = "\
#define BOTH(a, b) ((a) && (b))
int g(int);
int f(int a, int b, int c) {
  if (!a && (b || !c)) g(2);
  if (BOTH(a, c)) g(3);
  if (a) g(4); else g(5);
  switch (a) { case 1: g(1); break; case 2: case 3: g(2); break; default: g(3); }
  switch (b) { case 1: g(1); case 2: g(2); break; case 7: g(3); } switch (c) { case 4: g(4); }
  while (1) if (a && g(b)) break;
  while (a) { if (++b > 5) break; }
  if (a && 1) g(6);
  return a && g(b || c);
}
";

    /// A decision as text: place, conditions with what follows where they are false and true.
    fn text(decision: &MappedDecision) -> String {
        let MappedDecision { region: Region { start, end }, conditions, .. } = decision;
        let next = |next: Option<usize>| next.map_or("-".to_owned(), |n| n.to_string());
        let conditions = conditions.iter().map(|own| {
            let constant = if own.constant { "!" } else { "" };
            format!(" {}{constant}:{},{}", own.region.start.1, next(own.next[0]), next(own.next[1]))
        });
        format!("{}:{}-{}{}", start.0, start.1, end.1, conditions.collect::<String>())
    }

    #[test]
    fn decisions_of_clang() {
        let Some(clang) = tool_since(&[("clang-22", "clang-22"), ("clang", "clang")], (18, 1))
        else {
            return;
        };
        let path = env::temp_dir().join(format!("tracewright-mapping-{}", process::id()));
        fs::create_dir_all(&path).expect("a folder");
        fs::write(path.join("a.c"), SOURCE).expect("a source");
        for target in ["arm-none-eabi", "aarch64-linux-gnu", "aarch64_be-linux-gnu"] {
            let options =
                "-c -fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc a.c -o a.o";
            let made = Command::new(clang)
                .args(options.split(' '))
                .args(["-target", target])
                .current_dir(&path)
                .status();
            assert!(made.expect("it runs").success());
            let object = Bytes::from(fs::read(path.join("a.o")).expect("an object"));
            let mapping = CoverageMapping::of_elf(&object).expect("a mapping");
            let found: Vec<_> = mapping.decisions.iter().map(text).collect();
            let want = [
                "4:7-22 7:-,1 14:2,- 19:-,-",
                "5:7-11 7:-,1 7:-,-",
                "6:7-8 7:-,-",
                "9:17-26 17:-,1 22:-,-",
                "10:10-11 10:-,-",
                "10:19-26 19:-,-",
                "11:7-13 7:-,1 12!:-,-",
            ];
            assert_eq!(found, want, "{target}");
            let unknown = mapping.unknown.iter().map(|(_, region)| region.start);
            assert_eq!(unknown.collect::<Vec<_>>(), [(12, 10), (12, 15), (12, 17), (12, 22)]);
            let first = mapping.decisions.first().expect("a decision");
            assert_eq!(first.file, path.join("a.c").to_string_lossy());
            let [no, yes] = &mapping.decisions[2].leads_to;
            assert!(no.iter().any(|region| region.has((6, 21))), "{no:?}");
            assert!(yes.iter().any(|region| region.has((6, 10))), "{yes:?}");
        }
        damaged(&fs::read(path.join("a.o")).expect("an object"));
        fs::remove_dir_all(&path).expect("a folder");
    }

    /// Damaged objects have other decisions, or none.
    fn damaged(object: &[u8]) {
        let mut random = Random::new(3);
        let mut refused = 0;
        for _ in 0..times(2000) {
            let mut bytes = object.to_vec();
            for _ in 0..random.between(1, 4) {
                let at = random.index(bytes.len());
                bytes[at] = random.next() as u8;
            }
            bytes.truncate(bytes.len() - if random.one_in(4) { random.index(400) } else { 0 });
            refused += usize::from(CoverageMapping::of_elf(&Bytes::from(bytes)).is_err());
        }
        assert!(refused > 20, "{refused}");
    }

    #[test]
    fn damaged_mappings_are_refused() {
        assert_eq!(CoverageMapping::of_elf(&Bytes::from(vec![1, 2])), Err(MappingError::NoObject));
        let mut names = Files::default();
        let bytes = [0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 1];
        assert_eq!(names.add(Reader { bytes: &bytes, little: true }), Err(MappingError::Damaged));
        let bytes = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0];
        let version = Err(MappingError::Version(10));
        assert_eq!(names.add(Reader { bytes: &bytes, little: true }), version);
        assert_eq!(Reader { bytes: &[0xff; 11], little: true }.number(), None);
    }
}
