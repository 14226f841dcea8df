//! Code that programs generated, in the memory of their processes: from jitdumps.

use std::path::Path;
use std::sync::Arc;

use tracewright_image::{AddressSpaces, Module, ModuleFile, Region, Segment, Symbol, Symbols};

use super::attr::Attr;
use super::data::PerfData;
use super::find::Finder;
use super::jit_lines::debug_file;
use super::jitdump::{JitCode, JitDump, generations};
use super::record::{Body, Mmap, Record};
use crate::Bytes;
use crate::linux::TimeConversion;

/// Code in the memory of a process, from a moment on.
pub(super) type Loaded = (u64, u32, Region);

/// The code of all jitdumps.
#[derive(Debug, Default)]
pub(super) struct Generated {
    /// The code, in the order of its moments.
    pub(super) loaded: Vec<Loaded>,
    /// The paths that jitdumps were mapped from, and the file of each.
    pub(super) files: Vec<(String, u32)>,
    /// What is wrong with them.
    pub(super) notes: Vec<String>,
}

/// CLOCK_MONOTONIC, of whose times those of a jitdump are.
const MONOTONIC: u32 = 1;
/// EM_ARM and EM_AARCH64.
const MACHINES: [u32; 2] = [40, 183];

/// How the times of the recording are related to those of jitdumps.
struct Times {
    /// The records have times of CLOCK_MONOTONIC.
    monotonic: bool,
    /// How values of the architecture's counter are converted to times of the records.
    conversion: Option<TimeConversion>,
}

impl Times {
    fn of(data: &PerfData) -> Times {
        let timed = |attr: &&Attr| {
            attr.sample_type & Attr::TIME != 0 && attr.flags & Attr::SAMPLE_ID_ALL != 0
        };
        let mut timed = data.attrs.iter().filter(timed).peekable();
        let any = timed.peek().is_some();
        let monotonic = any
            && timed.all(|attr| attr.flags & Attr::USE_CLOCK_ID != 0 && attr.clock == MONOTONIC);
        let conversion = data.records.iter().find_map(|record| match &record.body {
            Body::TimeConversion(conversion) => Some(*conversion),
            _ => None,
        });
        Times { monotonic, conversion: conversion.filter(|_| any) }
    }

    /// The moment of `time` of a jitdump; `None` where the clocks have no known relation.
    fn moment(&self, dump: &JitDump, time: u64) -> Option<u64> {
        match dump.counter {
            true => self.conversion.map(|conversion| conversion.nanoseconds(time)),
            false => self.monotonic.then_some(time),
        }
    }
}

/// The code of the jitdumps that were given or are found at their recorded paths.
pub(super) fn code(
    finder: &mut Finder<'_>,
    spaces: &mut AddressSpaces,
    data: &PerfData,
    moment: &dyn Fn(usize, &Record) -> u64,
) -> Generated {
    let mut dumps = finder.jitdumps();
    let mut mapped: Vec<(u64, &Mmap)> = Vec::new();
    for (n, record) in data.records.iter().enumerate() {
        if let Body::Mmap(mmap) = &record.body
            && is_dump(&mmap.path)
        {
            mapped.push((moment(n, record), mmap));
        }
    }
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    for (_, mmap) in &mapped {
        let known = |path: &Path| name(path) == name(Path::new(&mmap.path));
        if !dumps.iter().any(|(path, ..)| known(path)) {
            dumps.extend(finder.recorded_jitdump(&mmap.path));
        }
    }
    let times = Times::of(data);
    let mut all = Generated::default();
    for (path, dump, bytes) in dumps {
        let file = path.display();
        all.notes.extend(dump.problems.iter().map(|problem| format!("{file}: {problem}")));
        if !MACHINES.contains(&dump.machine) {
            all.notes.push(format!(
                "{file} is not used: its code is of another machine (ELF machine {})",
                dump.machine
            ));
            continue;
        }
        let own = mapped.iter().find(|(_, mmap)| name(Path::new(&mmap.path)) == name(&path));
        let mut processes = data.records.iter().filter_map(|record| match &record.body {
            Body::Mmap(mmap) => Some(mmap.process),
            Body::Comm { process, .. } => Some(*process),
            _ => None,
        });
        if own.is_none() && processes.all(|known| known != dump.process) {
            all.notes.push(format!(
                "{file} is of process {}, which the recording does not have",
                dump.process
            ));
        }
        if !dump.loaded.is_empty() && times.moment(&dump, 0).is_none() {
            all.notes.push(format!(
                "{file}: its times are those of {}, and the recording has no times of it: its code \
                 is in memory from the beginning, and of code at the same address the last is used",
                if dump.counter { "the processor's counter" } else { "CLOCK_MONOTONIC" }
            ));
        }
        let path = own.map_or_else(|| file.to_string(), |(_, mmap)| mmap.path.clone());
        let since = own.map_or(0, |(moment, _)| *moment);
        let modules = modules(spaces, &path, file.to_string(), &dump);
        all.files.extend(modules.first().map(|module| (path.clone(), module.index)));
        for (code, module) in dump.loaded.iter().zip(modules) {
            let at = times.moment(&dump, code.time).unwrap_or(since);
            all.loaded.push((at, code.process, region(&path, &bytes, code, module)));
        }
    }
    all.loaded.sort_by_key(|(moment, ..)| *moment);
    all
}

/// Whether `path` is that of a jitdump: `jit-PID.dump`.
/// (Linux 6.1.192, tools/perf/util/jitdump.c:735, `jit_detect`)
fn is_dump(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let process = name.strip_prefix("jit-").and_then(|name| name.strip_suffix(".dump"));
    process.is_some_and(|process| process.parse::<u32>().is_ok())
}

/// The file of each piece of code of `dump`: one for each generation.
fn modules(spaces: &mut AddressSpaces, path: &str, found: String, dump: &JitDump) -> Vec<Module> {
    let of = generations(&dump.loaded);
    let count = of.iter().max().map_or(0, |last| last + 1);
    let mut parts: Vec<Vec<&JitCode>> = vec![Vec::new(); count];
    for (code, n) in dump.loaded.iter().zip(&of) {
        if let Some(part) = parts.get_mut(*n) {
            part.push(code);
        }
    }
    let indices: Vec<u32> = parts
        .iter()
        .enumerate()
        .map(|(n, part)| {
            let symbols = part.iter().map(|code| Symbol {
                name: &code.name,
                start: code.address,
                size: code.len,
            });
            let debug = debug_file(part, dump.machine);
            let segments = part.iter().map(|code| Segment {
                address: code.address,
                offset: code.offset,
                file_size: code.len,
                memory_size: code.len,
                executable: true,
            });
            spaces.add_module(ModuleFile {
                path: if n == 0 { path.to_owned() } else { format!("{path}#{}", n + 1) },
                found: Some(found.clone().into()),
                symbols: Arc::new(Symbols::new(symbols)),
                segments: segments.collect(),
                debug,
                ..ModuleFile::default()
            })
        })
        .collect();
    of.iter()
        .map(|n| Module { index: indices.get(*n).copied().unwrap_or_default(), bias: 0 })
        .collect()
}

/// A piece of code.
fn region(path: &str, bytes: &Bytes, code: &JitCode, module: Module) -> Region {
    Region::new(path, code.address, bytes.part(code.offset, code.len)).of_module(module)
}
