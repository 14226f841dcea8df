//! What a file with a trace is about: its title, and what it was made of.

use std::collections::BTreeSet;
use std::path::Path;

use tracewright::Capture;
use tracewright::capture::{Kind, Stamp};
use tracewright::views::Source;

/// What identifies a trace.
pub struct About {
    /// Program, date, core and version.
    pub title: String,
    /// Names and values.
    pub rows: Vec<(String, String)>,
}

impl About {
    /// That of a capture that the user named `path`, with options that change what is shown.
    pub fn new(capture: &Capture, sources: &[Source], path: &Path, options: &[String]) -> About {
        let programs: BTreeSet<&str> =
            capture.memory.iter().map(|dump| dump.file.as_str()).collect();
        let programs: Vec<&str> = programs.into_iter().filter(|file| !file.is_empty()).collect();
        // The core of raw trace data has no name.
        let cores = capture.cores.iter().map(|core| match capture.kind {
            Kind::Raw => core.device_type.clone(),
            _ => core.name.clone(),
        });
        let cores: BTreeSet<String> = cores.filter(|name| !name.is_empty()).collect();
        let cores: Vec<String> = cores.into_iter().collect();
        let files = capture.buffers.iter().flat_map(|buffer| &buffer.files);
        let files: BTreeSet<&Path> = files.map(|file| file.path.as_path()).collect();
        let stamps = capture.stamps.iter().filter(|stamp| files.contains(stamp.path.as_path()));
        let dates: BTreeSet<String> = stamps.filter_map(Stamp::date).collect();
        let date = dates.into_iter().next_back();
        let version = format!("tracewright {}", env!("CARGO_PKG_VERSION"));
        let trace = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let program = programs
            .first()
            .map(|program| program.rsplit(['/', '\\']).next().unwrap_or(program).to_owned());
        let mut title = vec![match program {
            Some(program) if program != trace => format!("{program} in {trace}"),
            _ => trace,
        }];
        title.extend(date.clone());
        title.extend(cores.first().cloned());
        title.push(version.clone());
        let mut rows = vec![("trace".to_owned(), path.display().to_string())];
        let mut add = |what: &str, values: Vec<String>| {
            if !values.is_empty() {
                rows.push((what.to_owned(), values.join(", ")));
            }
        };
        add("trace written", date.into_iter().collect());
        add("program", programs.into_iter().map(str::to_owned).collect());
        add("core", cores);
        let mut known = BTreeSet::new();
        let sources = sources.iter().map(|source| source.name.clone());
        add("sources", sources.filter(|name| known.insert(name.clone())).collect());
        add("options", options.to_vec());
        add("made by", vec![version]);
        About { title: title.join(", "), rows }
    }
}
