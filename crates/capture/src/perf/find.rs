//! The files of the recorded code: found by build identifier and path.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracewright_image::{Elf, Load, ModuleFile, ObjectFile, Segment, Symbols};

use super::features::same_build_id;
use crate::Bytes;
use crate::files::Files;

/// Where the files of the recorded code are searched for.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Files that have priority.
    pub binaries: Vec<PathBuf>,
    /// A folder with the files of the traced machine, at their paths.
    pub symfs: Option<PathBuf>,
    /// The cache of perf, usually `~/.debug`.
    pub cache: Option<PathBuf>,
}

/// A file with code.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) bytes: Bytes,
    pub(super) code: Code,
}

/// The code of a file.
#[derive(Clone, Debug)]
pub(super) enum Code {
    /// A program or a shared library.
    Elf(Arc<Elf>),
    /// A module of the kernel.
    Object(Arc<ObjectFile>),
    /// Anything else: bytes of memory.
    Raw,
}

impl Found {
    /// Reads the file at `path`: once, by whatever paths it is found.
    fn read(path: &Path, files: &mut Files) -> Result<Found, String> {
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let known = files.parsed.get(&real).and_then(|known| known.downcast_ref().cloned());
        let read: Result<Found, String> = known.unwrap_or_else(|| {
            let read = Found::parse(path, files);
            files.parsed.insert(real, Arc::new(read.clone()));
            read
        });
        Ok(Found { path: path.to_owned(), ..read? })
    }

    fn parse(path: &Path, files: &mut Files) -> Result<Found, String> {
        let bytes = files.open_named(path)?;
        let name = path.to_string_lossy();
        let code = match Elf::read(&bytes, name.as_ref(), Load::default()) {
            Ok(elf) => Code::Elf(Arc::new(elf)),
            Err(tracewright_image::ElfError::Relocatable) => {
                let object = ObjectFile::read(&bytes).map_err(|error| error.to_string())?;
                Code::Object(Arc::new(object))
            }
            Err(tracewright_image::ElfError::NotElf) => Code::Raw,
            Err(error) => return Err(error.to_string()),
        };
        Ok(Found { path: path.to_owned(), bytes, code })
    }

    /// The number of steps to find a mapping in the file.
    pub(super) fn steps(&self, kernel: bool) -> usize {
        match &self.code {
            Code::Elf(elf) if kernel => elf.segments.len() + elf.symbols.len(),
            Code::Elf(elf) => elf.segments.len(),
            // A copy of the code is made.
            Code::Object(object) => object.len() as usize + object.external(),
            Code::Raw => 1,
        }
    }

    /// The memory in bytes that the file takes.
    pub(super) fn memory(&self) -> usize {
        /// The size of files whose bytes are in memory.
        const SMALL: usize = 1 << 20;
        /// The bytes that a symbol or a segment takes.
        const EACH: usize = 128;
        let parts = match &self.code {
            Code::Elf(elf) => elf.segments.len() + elf.symbols.len(),
            Code::Object(object) => object.symbols.len() + object.external() + SMALL / EACH,
            Code::Raw => 0,
        };
        self.bytes.len().min(SMALL) + EACH * parts
    }

    fn build_id(&self) -> Option<&[u8]> {
        match &self.code {
            Code::Elf(elf) => elf.build_id.as_deref(),
            Code::Object(object) => object.build_id.as_deref(),
            Code::Raw => None,
        }
    }

    pub(super) fn segments(&self) -> Vec<Segment> {
        match &self.code {
            Code::Elf(elf) => elf.segments.clone(),
            Code::Object(_) | Code::Raw => Vec::new(),
        }
    }

    pub(super) fn symbols(&self) -> Symbols {
        match &self.code {
            Code::Elf(elf) => elf.symbols.clone(),
            Code::Object(object) => object.symbols.clone(),
            Code::Raw => Symbols::default(),
        }
    }
}

/// Finds files.
pub(super) struct Finder<'a> {
    search: &'a Search,
    /// The folder of the perf.data file.
    beside: PathBuf,
    files: &'a mut Files,
    /// The given files that could be read.
    given: Vec<Found>,
    pub(super) problems: Vec<String>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(search: &'a Search, path: &Path, files: &'a mut Files) -> Self {
        let mut problems = Vec::new();
        let mut given = Vec::new();
        for path in &search.binaries {
            match Found::read(path, files) {
                Ok(found) => given.push(found),
                Err(why) => problems.push(format!("{}: {why}; check the path", path.display())),
            }
        }
        let beside = path.parent().unwrap_or(Path::new("")).to_owned();
        Finder { search, beside, files, given, problems }
    }

    /// The file that was mapped from `path` and has the build identifier `id`, where that is
    /// recorded.
    pub(super) fn find(&mut self, path: &str, id: Option<&[u8]>) -> Option<Found> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let same_name = |found: &Found| {
            let file = found.path.file_name().map(|file| file.to_string_lossy().into_owned());
            file.is_some_and(|file| file == name || kernel(path) && file.starts_with("vmlinux"))
        };
        let same_id = |found: &Found| {
            id.zip(found.build_id()).is_some_and(|(id, own)| same_build_id(id, own))
        };
        if let Some(found) = self.given.iter().find(|found| same_id(found)) {
            return Some(found.clone());
        }
        if let Some(found) = self.given.iter().find(|found| same_name(found)) {
            if let Some((id, own)) = id.zip(found.build_id()) {
                self.problems.push(format!(
                    "{} has build ID {}, but {path} was recorded with {}; it is not used",
                    found.path.display(),
                    hex(own),
                    hex(id)
                ));
            } else {
                return Some(found.clone());
            }
        }
        // Paths in the file may name anything: what they name must have the build identifier.
        let must = |found: &Found| id.is_some() && same_id(found);
        let may = |found: &Found| id.is_none() || found.build_id().is_none() || same_id(found);
        if let Some(id) = id {
            for file in self.cached(id) {
                if let Ok(found) = Found::read(&file, self.files) {
                    return Some(found);
                }
            }
        }
        if let Some(symfs) = &self.search.symfs {
            let file = symfs.join(path.trim_start_matches('/'));
            if contained(path) {
                match Found::read(&file, self.files) {
                    Ok(found) if may(&found) => return Some(found),
                    Ok(_) => self.problems.push(format!(
                        "{} is not the file that was recorded: its build ID differs",
                        file.display()
                    )),
                    Err(_) => {}
                }
            }
        }
        let places = [self.beside.join(name), PathBuf::from(path)];
        let real = id.is_some() && !name.is_empty() && !path.starts_with('[');
        let mut places = places.iter().filter(|place| real && place.is_file());
        places.find_map(|place| Found::read(place, self.files).ok().filter(|found| must(found)))
    }

    /// The addresses of the kernel's symbols, from a list that was given (`/proc/kallsyms`), or is
    /// in the folder of the recording.
    pub(super) fn kallsyms(&mut self) -> Option<HashMap<String, u64>> {
        let named = |found: &&Found| {
            let name = found.path.file_name().map(|name| name.to_string_lossy().into_owned());
            matches!(found.code, Code::Raw) && name.is_some_and(|name| name.contains("kallsyms"))
        };
        let given = self.given.iter().find(named).map(|found| found.bytes.clone());
        let beside = self.beside.join("kcore_dir").join("kallsyms");
        let bytes = match given {
            Some(bytes) => bytes,
            None if beside.is_file() => self.files.open_named(&beside).ok()?,
            None => return None,
        };
        let text = String::from_utf8_lossy(&bytes);
        // `address type name`, and the module in brackets. Without rights all addresses are 0.
        let symbols = text.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok().filter(|at| *at != 0)?;
            Some((words.nth(1)?.to_owned(), address))
        });
        Some(symbols.collect())
    }

    /// The files of perf's cache with the build identifier `id`.
    fn cached(&self, id: &[u8]) -> Vec<PathBuf> {
        let Some(cache) = &self.search.cache else { return Vec::new() };
        let id = hex(id);
        let Some((first, rest)) = id.split_at_checked(2) else { return Vec::new() };
        let folder = cache.join(".build-id").join(first).join(rest);
        let names = ["elf", "vdso", "debug"].map(|name| folder.join(name));
        let plain = std::iter::once(folder.clone());
        names.into_iter().chain(plain).filter(|file| file.is_file()).collect()
    }
}

/// The description of a file that was mapped from `path` and has the build identifier `id`.
pub(super) fn module_file(
    path: &str,
    id: Option<&[u8]>,
    found: Option<&Found>,
    kernel: bool,
) -> ModuleFile {
    ModuleFile {
        path: path.to_owned(),
        build_id: id.map(<[u8]>::to_vec),
        found: found.map(|found| found.path.clone()),
        content: found.map(|found| found.bytes.clone()),
        symbols: Arc::new(found.map(Found::symbols).unwrap_or_default()),
        segments: found.map(Found::segments).unwrap_or_default(),
        movable: found.is_some_and(|found| matches!(&found.code, Code::Elf(e) if e.movable)),
        kernel,
    }
}

/// Whether a mapping of this name is the kernel itself.
pub(super) fn kernel(path: &str) -> bool {
    path.starts_with("[kernel.kallsyms]") || path.starts_with("[guest.kernel")
}

/// Whether `path` has no component that leaves a folder.
fn contained(path: &str) -> bool {
    !path.split('/').any(|part| part == "..") && !path.starts_with('[')
}

/// The bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
