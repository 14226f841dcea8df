//! Real programs through trace units in software, and back: compiled, run under QEMU, encoded,
//! decoded, and compared with what ran. Where OpenCSD's lister is installed, it must list the same
//! of the snapshots.
//!
//! | file | holds |
//! |---|---|
//! | `configs.rs` | the instruction sets, and the configurations of each protocol |
//! | `tools.rs` | the programs that are run |
//! | `lister.rs` | our listing beside OpenCSD's |
//! | `table.rs` | what came of all runs, a row a configuration |
//!
//! The programs are in `xtask/programs`, a C file each.

mod configs;
mod lister;
mod table;
mod tools;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use configs::{Config, SYSTEMS, System, TARGETS, Target};
use table::Table;
use tools::Tools;

/// Fewer instructions of its own set than this would be no real program. (The C library of Debian's
/// armhf is T32, whatever calls it.)
const LEAST: u64 = 1_000_000;

/// Runs it. Words are parts of names: only programs, instruction sets and configurations that have
/// one of them in their names, where any has.
pub(crate) fn run(root: &Path, words: &[&str]) -> ExitCode {
    match answer(root, words) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(wrong) => {
            println!("{wrong} wrong");
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("real-programs: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether `name` is one of `names` that the words choose; all are where the words name none of
/// them.
fn chosen(words: &[&str], name: &str, names: &[&str]) -> bool {
    let has = |name: &str| words.iter().any(|word| name.contains(word));
    has(name) || !names.iter().any(|name| has(name))
}

fn answer(root: &Path, words: &[&str]) -> Result<u64, String> {
    let mut sources: Vec<_> = fs::read_dir(root.join("xtask/programs"))
        .map_err(|error| format!("xtask/programs: {error}"))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .collect();
    sources.sort();
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let programs: Vec<String> = sources.iter().map(|source| stem(source)).collect();
    let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
    let targets = TARGETS.iter().map(|target| target.name);
    let sets: Vec<&str> = targets.chain(SYSTEMS.iter().map(|system| system.name)).collect();
    let users = TARGETS.iter().flat_map(|target| target.configs);
    let units = users.chain(SYSTEMS.iter().flat_map(|system| system.configs));
    let units: Vec<&str> = units.map(|config| config.name).collect();
    let known = |word: &&&str| {
        !programs.iter().chain(&sets).chain(&units).any(|name| name.contains(**word))
    };
    if let Some(word) = words.iter().find(known) {
        return Err(format!(
            "`{word}` is in no name; there are {}, {}, {}",
            programs.join(" "),
            sets.join(" "),
            units.join(" ")
        ));
    }
    let tools = Tools::new(root)?;
    if !tools.lister {
        println!("skipped: OpenCSD's trc_pkt_lister is not installed (Debian: libopencsd-bin)");
    }
    let mut table = Table::default();
    for target in TARGETS.iter().filter(|target| chosen(words, target.name, &sets)) {
        if let Some(missing) = tools.missing(target) {
            println!(
                "skipped: {}: {missing} is not installed (Debian: {})",
                target.name, target.packages
            );
            continue;
        }
        let configs = target.configs.iter().filter(|config| chosen(words, config.name, &units));
        let configs: Vec<&Config> = configs.collect();
        for (source, name) in sources.iter().zip(&programs) {
            if chosen(words, name, &programs) && !target.without.contains(name) {
                program(&tools, target, &configs, source, name, &mut table)?;
            }
        }
    }
    for system in SYSTEMS.iter().filter(|system| chosen(words, system.name, &sets)) {
        let skipped = tools.missing_of(system);
        if let Some(missing) = skipped {
            println!(
                "skipped: {}: {missing} is not installed (Debian: {})",
                system.name, system.packages
            );
            continue;
        }
        // Only a word that is in their own names chooses one of them among programs.
        if programs.iter().all(|name| chosen(words, name, &programs)) {
            bare(&tools, root, system, &mut table)?;
        }
    }
    print!("{table}");
    Ok(table.wrong())
}

fn program(
    tools: &Tools,
    target: &Target,
    configs: &[&Config],
    source: &Path,
    name: &str,
    table: &mut Table,
) -> Result<(), String> {
    let start = Instant::now();
    let elf = tools.compile(target, source, name)?;
    let log = tools.log(target, &elf)?;
    let (instructions, own) = tools.count(target.name, &log, &elf)?;
    if own < LEAST {
        table.short += 1;
        println!("{name} {}: only {own} instructions of {instructions} are", target.name);
    }
    let done = round_trip(tools, (target.name, name), configs, &elf, &log, instructions, table)?;
    tools.forget(&log)?;
    println!(
        "{name} {}: {instructions} instructions, {own} of them in {0}; {done}; {:.0} s",
        target.name,
        start.elapsed().as_secs_f32()
    );
    Ok(())
}

/// A program without an operating system.
fn bare(tools: &Tools, root: &Path, system: &System, table: &mut Table) -> Result<(), String> {
    let elf = tools.bare(root, system)?;
    let log = tools.system_log(system, &elf)?;
    let (instructions, _) = tools.count(system.name, &log, &elf)?;
    let configs: Vec<&Config> = system.configs.iter().collect();
    let name = (system.name, system.source);
    let done = round_trip(tools, name, &configs, &elf, &log, instructions, table)?;
    println!("{}: {instructions} instructions; {done}", system.name);
    tools.forget(&log)
}

/// Takes a log through trace units and back. What came of it, in words.
fn round_trip(
    tools: &Tools,
    (set, name): (&'static str, &str),
    configs: &[&Config],
    elf: &Path,
    log: &Path,
    instructions: u64,
    table: &mut Table,
) -> Result<String, String> {
    let (mut exact, mut listed) = (0, 0);
    for config in configs {
        let (snapshot, bytes) = tools.encode(config, elf, log)?;
        let row = table.row(set, config.name);
        row.programs += 1;
        row.instructions += instructions;
        row.bytes += bytes;
        match tools.compare(&snapshot, elf, log)? {
            None => exact += 1,
            Some(difference) => {
                row.wrong += 1;
                println!("{name} {} {}:\n{difference}", set, config.name);
            }
        }
        if tools.lister && config.listed {
            match lister::compare(tools, &snapshot)? {
                Ok(same) => {
                    listed += 1;
                    row.listed += 1;
                    row.elements += same.elements;
                    row.explained += same.explained;
                }
                Err(difference) => {
                    row.wrong += 1;
                    println!("{name} {} {}: {difference}", set, config.name);
                }
            }
        }
        tools.forget(&snapshot)?;
    }
    Ok(format!(
        "{exact} of {} configurations exact, {listed} listed as OpenCSD does",
        configs.len()
    ))
}
