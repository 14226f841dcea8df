//! The files of the recorded code: found by build identifier and path.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracewright_image::{Elf, Load, ModuleFile, ObjectFile, Segment, Symbols};

use super::archive::{self, Archive};
use super::features::same_build_id;
use super::jitdump::JitDump;
use super::kernel::{KernelSymbols, guest, kernel, module_name};
use super::{folders, packed, perf_map};
use crate::Bytes;
use crate::access::Access;
use crate::files::Files;
use crate::open_files::OpenFiles;

/// Where the files of the recorded code are searched for.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Files that have priority.
    pub binaries: Vec<PathBuf>,
    /// A folder with the files of the traced machine, at their paths.
    pub symfs: Option<PathBuf>,
    /// The cache of perf, usually `~/.debug`.
    pub cache: Option<PathBuf>,
    /// The root of the folders of this machine in which files are searched for by build identifier,
    /// usually `/`: `/usr/lib/debug`, `/boot`, `/lib/modules`. A recorded path is below it, too.
    pub system: Option<PathBuf>,
    /// The file with the code of the kernel of guests.
    pub guest_kernel: Option<PathBuf>,
    /// A folder with the files of guests, at their paths.
    pub guest_symfs: Option<PathBuf>,
    /// Where the code of a kernel module is in memory is assumed to be as in its file, if the
    /// capture and the kernel's symbols do not state it.
    pub assume_module_layout: bool,
    /// Where these files and the capture are: on the disk, or in memory.
    pub files: Files,
}

impl Search {
    /// The files that are opened.
    pub(super) fn open_files(&self) -> OpenFiles {
        OpenFiles::of(Access::of(self.files.clone()))
    }
}

/// A file with code.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) bytes: Bytes,
    pub(super) code: Code,
    /// The separate file with its symbols and debug information.
    pub(super) debug: Option<Arc<Found>>,
    /// It is such a file itself.
    debug_only: bool,
}

/// The code of a file.
#[derive(Clone, Debug)]
pub(super) enum Code {
    /// A program or a shared library.
    Elf(Arc<Elf>),
    /// A module of the kernel.
    Object(Arc<ObjectFile>),
    /// Generated code, and the times at which it was written to memory.
    Jit(Arc<JitDump>),
    /// An archive with libraries that are mapped from within it.
    Archive(Archive),
    /// Anything else: bytes of memory.
    Raw,
}

impl Found {
    /// Reads the file at `path`: once, by whatever paths it is found.
    fn read(path: &Path, files: &mut OpenFiles) -> Result<Found, String> {
        let real = files.source().canonical(path).unwrap_or_else(|| path.to_owned());
        let known = files.parsed.get(&real).and_then(|known| known.downcast_ref().cloned());
        let read: Result<Found, String> = known.unwrap_or_else(|| {
            let read = Found::parse(path, files);
            files.parsed.insert(real, Arc::new(read.clone()));
            read
        });
        Ok(Found { path: path.to_owned(), ..read? })
    }

    fn parse(path: &Path, files: &mut OpenFiles) -> Result<Found, String> {
        let bytes = files.open_named(path)?;
        let bytes = packed::unpack(&bytes).unwrap_or(Ok(bytes))?;
        Found::of_bytes(path, bytes)
    }

    fn of_bytes(path: &Path, bytes: Bytes) -> Result<Found, String> {
        let debug_only = Elf::is_debug_only(&bytes);
        let name = path.to_string_lossy();
        let head = bytes.head(4);
        let code = match Elf::read(&bytes, name.as_ref(), Load::default()) {
            _ if JitDump::is_at(&head) => Code::Jit(Arc::new(JitDump::read(&bytes)?)),
            _ if Archive::is_at(&head) => Code::Archive(Archive::read(&bytes)?),
            Ok(elf) => Code::Elf(Arc::new(elf)),
            Err(tracewright_image::ElfError::Relocatable) => {
                let object = ObjectFile::read(&bytes).map_err(|error| error.to_string())?;
                Code::Object(Arc::new(object))
            }
            Err(tracewright_image::ElfError::NotElf) => Code::Raw,
            Err(error) => return Err(error.to_string()),
        };
        Ok(Found { path: path.to_owned(), bytes, code, debug: None, debug_only })
    }

    /// The number of steps to find a mapping in the file.
    pub(super) fn steps(&self, kernel: bool) -> usize {
        /// The bytes of a file for each of its symbols, at the least what usual files have.
        const SYMBOL: usize = 64;
        match &self.code {
            // All symbols are searched for the one that the mapping is named for.
            Code::Elf(elf) if kernel => elf.segments.len() + self.bytes.len() / SYMBOL,
            Code::Elf(elf) => elf.segments.len(),
            // A copy of the code is made.
            Code::Object(object) => object.len() as usize + object.external(),
            Code::Jit(_) | Code::Archive(_) | Code::Raw => 1,
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
            Code::Jit(dump) => dump.loaded.len(),
            Code::Archive(_) | Code::Raw => 0,
        };
        self.bytes.len().min(SMALL) + EACH * parts
    }

    fn build_id(&self) -> Option<&[u8]> {
        match &self.code {
            Code::Elf(elf) => elf.build_id.as_deref(),
            Code::Object(object) => object.build_id.as_deref(),
            Code::Jit(_) | Code::Archive(_) | Code::Raw => None,
        }
    }

    /// The process of whose generated functions the file has the names.
    fn named_process(&self) -> Option<u32> {
        let name = self.path.file_name().filter(|_| matches!(self.code, Code::Raw))?;
        perf_map::process_of(&name.to_string_lossy())
    }

    pub(super) fn segments(&self) -> Vec<Segment> {
        match &self.code {
            Code::Elf(elf) => elf.segments.clone(),
            _ => Vec::new(),
        }
    }

    /// The file with the most symbols: itself, or that with its debug information.
    pub(super) fn symbol_file(&self) -> &Bytes {
        self.debug.as_ref().map_or(&self.bytes, |debug| &debug.bytes)
    }

    pub(super) fn symbols(&self) -> Symbols {
        let of_debug = self.debug.as_ref().map(|debug| debug.symbols());
        let own = self.own_symbols();
        of_debug.filter(|symbols| symbols.len() > own.len()).unwrap_or(own)
    }

    fn own_symbols(&self) -> Symbols {
        match &self.code {
            Code::Elf(elf) => elf.symbols.clone(),
            Code::Object(object) => object.symbols.clone(),
            Code::Jit(_) | Code::Archive(_) | Code::Raw => Symbols::default(),
        }
    }
}

/// The files that are found for a mapping.
#[derive(Default)]
struct Matches {
    code: Option<Found>,
    debug: Option<Found>,
}

impl Matches {
    /// Adds a file. The first one of its kind counts.
    fn add(&mut self, found: Found) {
        let known = if found.debug_only { &mut self.debug } else { &mut self.code };
        known.get_or_insert(found);
    }

    /// Adds the first of the files at `paths` that is the one `is` accepts.
    fn search(
        &mut self,
        paths: impl IntoIterator<Item = PathBuf>,
        files: &mut OpenFiles,
        is: impl Fn(&Found) -> bool,
    ) {
        for path in paths {
            if self.code.is_some() && self.debug.is_some() {
                return;
            }
            if files.source().is_file(&path)
                && let Ok(found) = Found::read(&path, files)
                && is(&found)
            {
                self.add(found);
            }
        }
    }
}

/// What the kernel appends to the path of a mapped file that has no name any more.
/// (Linux 6.1.192, fs/d_path.c:287, `d_path`)
const DELETED: &str = " (deleted)";

/// Finds files.
pub(super) struct Finder<'a> {
    search: &'a Search,
    /// The folder of the perf.data file.
    beside: PathBuf,
    files: &'a mut OpenFiles,
    /// The given files that could be read.
    given: Vec<Found>,
    /// The indices of those among them that were used, or reported.
    used: BTreeSet<usize>,
    /// The kernel of guests.
    guest: Option<Found>,
    /// The trace distinguishes guests from the host.
    pub(super) knows_guests: bool,
    /// Files without a recorded build identifier that have the name of a file that was not found.
    beside_capture: BTreeMap<String, PathBuf>,
    pub(super) problems: Vec<String>,
    /// The version of the recorded kernel; empty where it is not known.
    pub(super) release: String,
}

impl<'a> Finder<'a> {
    pub(super) fn new(search: &'a Search, path: &Path, files: &'a mut OpenFiles) -> Self {
        let mut problems = Vec::new();
        let mut given = Vec::new();
        for path in &search.binaries {
            match Found::read(path, files) {
                Ok(found) => given.push(found),
                Err(why) => problems.push(format!("{}: {why}; check the path", path.display())),
            }
        }
        let guest = search.guest_kernel.as_ref().and_then(|path| match Found::read(path, files) {
            Ok(found) => Some(found),
            Err(why) => {
                problems.push(format!("{}: {why}; check the path", path.display()));
                None
            }
        });
        let beside = path.parent().unwrap_or(Path::new("")).to_owned();
        let (used, release) = (BTreeSet::new(), String::new());
        Finder {
            search,
            beside,
            files,
            given,
            used,
            guest,
            knows_guests: false,
            beside_capture: BTreeMap::new(),
            problems,
            release,
        }
    }

    /// Whether files of guests were given.
    pub(super) fn has_guest_files(&self) -> bool {
        self.guest.is_some() || self.search.guest_symfs.is_some()
    }

    /// The file that a guest mapped from `path`.
    pub(super) fn find_in_guest(&mut self, path: &str) -> Option<Found> {
        if guest(path) {
            return self.guest.clone();
        }
        let folder = self.search.guest_symfs.as_ref().filter(|_| contained(path))?;
        Found::read(&folder.join(path.trim_start_matches('/')), self.files).ok()
    }

    /// Whether the place of a module's code is assumed where it is not known.
    pub(super) fn assumes_module_layout(&self) -> bool {
        self.search.assume_module_layout
    }

    /// Reports the given files that were not used. `kcore`: the capture has a copy of the kernel's
    /// memory.
    pub(super) fn report_unused(&mut self, kcore: bool) {
        let unused = self
            .given
            .iter()
            .enumerate()
            .filter(|(n, found)| !self.used.contains(n) && found.named_process().is_none());
        let unused = unused.map(|(_, found)| {
            let id =
                found.build_id().map_or("no build ID".into(), |id| format!("build ID {}", hex(id)));
            let kcore =
                if kcore { ", or the kernel's, whose memory is kcore_dir/kcore" } else { "" };
            format!(
                "{} is not used: it has {id}, and the recorded files are others, by build ID and by \
                 name{kcore}",
                found.path.display()
            )
        });
        self.problems.extend(unused);
    }

    /// The file that was mapped from `path` and has the build identifier `id`, where that is
    /// recorded.
    pub(super) fn find(&mut self, path: &str, id: Option<&[u8]>) -> Option<Found> {
        // The name may be that of another file now.
        let deleted = path.strip_suffix(DELETED).filter(|path| path.starts_with('/'));
        let path = deleted.unwrap_or(path);
        let mut matches = Matches::default();
        self.find_given(path, id, &mut matches);
        if let Some(id) = id {
            let roots = [&self.search.symfs, &self.search.system].into_iter().flatten();
            let folders = self.search.cache.clone().into_iter();
            let folders = folders.chain(roots.map(|root| folders::debug(root)));
            let name = hex(id);
            let paths = folders.flat_map(|folder| folders::with_id(&folder, &name));
            // A cache of perf has files without a build identifier under that of their content.
            let is = |found: &Found| found.build_id().is_none_or(|own| same_build_id(id, own));
            matches.search(paths.collect::<Vec<_>>(), self.files, is);
        }
        if matches.code.is_none() {
            self.find_at_path(path, id, deleted.is_some(), &mut matches);
        }
        let Matches { code, debug } = matches;
        let mut found = code?;
        found.debug = debug.map(Arc::new);
        Some(found)
    }

    /// Adds the given files that were mapped from `path`: those with the build identifier, else the
    /// first with the name, where one of the identifiers is not known.
    fn find_given(&mut self, path: &str, id: Option<&[u8]>, matches: &mut Matches) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let same_name = |found: &Found| {
            let Some(file) = found.path.file_name() else { return false };
            let file = file.to_string_lossy();
            // A module may be recorded by its name in the kernel, or as a compressed file.
            let module = matches!(found.code, Code::Object(_))
                && (path.starts_with('[') || name.contains(".ko"))
                && module_name(name) == module_name(&file);
            file == name || module || kernel(path) && file.starts_with("vmlinux")
        };
        let same_id = |found: &Found| {
            id.zip(found.build_id()).is_some_and(|(id, own)| same_build_id(id, own))
        };
        for (n, found) in self.given.iter().enumerate().filter(|(_, found)| same_id(found)) {
            self.used.insert(n);
            matches.add(found.clone());
        }
        if matches.code.is_some() {
            return;
        }
        let named = self.given.iter().enumerate().find(|(_, found)| same_name(found));
        let Some((n, found)) = named.filter(|(_, found)| !same_id(found)) else { return };
        self.used.insert(n);
        match id.zip(found.build_id()) {
            Some((id, own)) => self.problems.push(format!(
                "{} has build ID {}, but {path} was recorded with {}; it is not used",
                found.path.display(),
                hex(own),
                hex(id)
            )),
            None if found.debug_only => self.problems.push(format!(
                "{} has no code, but debug information only: the code of {path} is in another file",
                found.path.display()
            )),
            None => matches.add(found.clone()),
        }
    }

    /// Adds the files at `path` in the folder with the files of the traced machine, beside the
    /// capture, and on this machine. `deleted`: the recorded file had no name any more.
    fn find_at_path(
        &mut self,
        path: &str,
        id: Option<&[u8]>,
        deleted: bool,
        matches: &mut Matches,
    ) {
        let name = path.rsplit('/').next().unwrap_or(path);
        let same_id = |found: &Found| {
            id.zip(found.build_id()).is_some_and(|(id, own)| same_build_id(id, own))
        };
        // Paths in the file may name anything: what they name must have the build identifier.
        let must = |found: &Found| id.is_some() && same_id(found);
        let may = |found: &Found| match deleted {
            true => must(found),
            false => id.is_none() || found.build_id().is_none() || same_id(found),
        };
        if let Some((archive, member)) = archive::parts(path)
            && let Some(found) = self.member(archive, member).filter(may)
        {
            return matches.add(found);
        }
        if let Some(symfs) = &self.search.symfs {
            let file = symfs.join(path.trim_start_matches('/'));
            if contained(path) {
                match Found::read(&file, self.files) {
                    Ok(found) if may(&found) => matches.add(found),
                    Ok(_) => self.problems.push(format!(
                        "{} is not the file that was recorded: its build ID differs",
                        file.display()
                    )),
                    Err(_) => {}
                }
            }
            if kernel(path) {
                let kernels = folders::kernels(symfs, &self.release);
                matches.search(kernels, self.files, may);
            }
        }
        let named = id.is_some() && !name.is_empty() && !path.starts_with('[');
        let places = [self.beside.join(name), PathBuf::from(path)].into_iter();
        matches.search(places.filter(|_| named), self.files, must);
        if let Some(system) = self.search.system.as_ref().filter(|_| kernel(path)) {
            matches.search(folders::kernels(system, &self.release), self.files, must);
        }
        if id.is_none() && !name.is_empty() && !path.starts_with('[') && matches.code.is_none() {
            let place = self.beside.join(name);
            if self.files.source().is_file(&place) {
                self.beside_capture.insert(path.to_owned(), place);
            }
        }
    }

    /// The addresses of the kernel's symbols, from a list that was given (`/proc/kallsyms`), or is
    /// in the folder of the recording.
    pub(super) fn kallsyms(&mut self) -> Option<KernelSymbols> {
        let named = |(_, found): &(usize, &Found)| {
            let name = found.path.file_name().map(|name| name.to_string_lossy().into_owned());
            matches!(found.code, Code::Raw) && name.is_some_and(|name| name.contains("kallsyms"))
        };
        let given = self.given.iter().enumerate().find(named);
        let given = given.map(|(n, found)| (n, found.bytes.clone()));
        let beside = self.beside.join("kcore_dir").join("kallsyms");
        let bytes = match given {
            Some((n, bytes)) => {
                self.used.insert(n);
                bytes
            }
            None if self.files.source().is_file(&beside) => self.files.open_named(&beside).ok()?,
            None => return None,
        };
        Some(KernelSymbols::listed(&String::from_utf8_lossy(&bytes)))
    }

    /// The archive that was mapped from `path`: a given file of that name, or that in the folder of
    /// the traced machine.
    fn archive(&mut self, path: &str) -> Option<(Archive, Found)> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let of = |found: &Found| match &found.code {
            Code::Archive(archive) => Some((archive.clone(), found.clone())),
            _ => None,
        };
        let same_name = |found: &Found| found.path.file_name().is_some_and(|file| file == name);
        let given = self.given.iter().enumerate().filter(|(_, found)| same_name(found));
        let given = given.filter_map(|(n, found)| Some((n, of(found)?))).next();
        if let Some((n, found)) = given {
            self.used.insert(n);
            return Some(found);
        }
        let file = self.search.symfs.as_ref().filter(|_| contained(path))?;
        let file = file.join(path.trim_start_matches('/'));
        of(&Found::read(&file, self.files).ok()?)
    }

    /// The member of the archive at `path` that was mapped at `offset` of the archive: its name and
    /// the offset of its first byte.
    pub(super) fn member_at(&mut self, path: &str, offset: u64) -> Option<(String, u64)> {
        if !archive::may_be(path) {
            return None;
        }
        let (archive, _) = self.archive(path)?;
        let member = archive.at(offset)?;
        Some((archive::within(path, &member.name), member.start))
    }

    /// The member of the archive at `path` that has this name.
    fn member(&mut self, path: &str, name: &str) -> Option<Found> {
        let (archive, found) = self.archive(path)?;
        let member = archive.named(name)?;
        let path = PathBuf::from(archive::within(&found.path.to_string_lossy(), name));
        Found::of_bytes(&path, found.bytes.part(member.start, member.len)).ok()
    }

    /// The jitdumps that were given, and the path of each.
    pub(super) fn jitdumps(&mut self) -> Vec<(PathBuf, Arc<JitDump>, Bytes)> {
        let mut dumps = Vec::new();
        for (n, found) in self.given.iter().enumerate() {
            if let Code::Jit(dump) = &found.code {
                self.used.insert(n);
                dumps.push((found.path.clone(), Arc::clone(dump), found.bytes.clone()));
            }
        }
        dumps
    }

    /// The jitdump that was mapped from `path`, in the folder of the traced machine.
    pub(super) fn recorded_jitdump(
        &mut self,
        path: &str,
    ) -> Option<(PathBuf, Arc<JitDump>, Bytes)> {
        let found = self.find(path, None)?;
        match found.code {
            Code::Jit(dump) => Some((found.path, dump, found.bytes)),
            _ => None,
        }
    }

    /// The names of the generated functions of each process, from the lists that were given, and
    /// from those of `processes` in the folder of the traced machine.
    pub(super) fn names(&mut self, processes: &BTreeSet<u32>) -> BTreeMap<u32, Arc<Symbols>> {
        let mut names = BTreeMap::new();
        let list = |bytes: &Bytes| Arc::new(perf_map::functions(&String::from_utf8_lossy(bytes)));
        if let Some(symfs) = &self.search.symfs {
            for process in processes {
                let file = symfs.join(format!("tmp/perf-{process}.map"));
                if self.files.source().is_file(&file)
                    && let Ok(bytes) = self.files.open_named(&file)
                {
                    names.insert(*process, list(&bytes));
                }
            }
        }
        for found in &self.given {
            if let Some(process) = found.named_process() {
                names.insert(process, list(&found.bytes));
            }
        }
        names
    }

    /// The path without symbolic links.
    pub(super) fn canonical(&self, path: &Path) -> PathBuf {
        self.files.source().canonical(path).unwrap_or_else(|| path.to_owned())
    }

    /// The file beside the capture that has the name of `path`, which was not found, as no build
    /// identifier is recorded.
    pub(super) fn beside_capture(&self, path: &str) -> Option<&Path> {
        self.beside_capture.get(path).map(PathBuf::as_path)
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
        debug: found.and_then(|found| found.debug.as_ref()).map(|debug| debug.bytes.clone()),
        symbols: Arc::new(found.map(Found::symbols).unwrap_or_default()),
        segments: found.map(Found::segments).unwrap_or_default(),
        movable: found.is_some_and(|found| matches!(&found.code, Code::Elf(e) if e.movable)),
        kernel,
    }
}

/// Whether `path` has no component that leaves a folder.
fn contained(path: &str) -> bool {
    !path.split('/').any(|part| part == "..") && !path.starts_with('[')
}

/// The bytes of a text in hexadecimal, which may begin with `0x`.
pub(super) fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    let text = text.strip_prefix("0x").unwrap_or(text);
    let digits = text.as_bytes().as_chunks().0.iter();
    digits
        .map(|pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

/// The bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
