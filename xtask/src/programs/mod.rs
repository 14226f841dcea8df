//! Real programs through trace units in software, and back: compiled, run under QEMU, encoded, decoded, and
//! compared with what ran. Where the reference's lister is installed, it must say the same of the snapshots.
//!
//! | file | holds |
//! |---|---|
//! | `configs.rs` | the instruction sets, and the configurations of each protocol |
//! | `tools.rs` | the programs that are run |
//! | `lister.rs` | our listing beside the reference's |
//!
//! The programs are in `xtask/programs`, a C file each.

mod configs;
mod lister;
mod tools;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use configs::{Config, TARGETS, Target};
use tools::Tools;

/// Fewer instructions than this would be no real program.
const LEAST: u64 = 1_000_000;

/// Runs it. Words are parts of names: only programs with one of them in their name.
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

/// What came of all runs.
#[derive(Default)]
struct Total {
    programs: u64,
    instructions: u64,
    captures: u64,
    listed: u64,
    wrong: u64,
}

fn answer(root: &Path, words: &[&str]) -> Result<u64, String> {
    let mut sources: Vec<_> = fs::read_dir(root.join("xtask/programs"))
        .map_err(|error| format!("xtask/programs: {error}"))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .collect();
    sources.sort();
    let tools = Tools::new(root)?;
    if !tools.lister {
        println!(
            "skipped: the reference's trc_pkt_lister is not installed (Debian: libopencsd-bin)"
        );
    }
    let mut total = Total::default();
    for target in &TARGETS {
        if let Some(missing) = tools.missing(target) {
            println!(
                "skipped: {}: {missing} is not installed (Debian: {})",
                target.name, target.packages
            );
            continue;
        }
        for source in &sources {
            let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if words.is_empty() || words.iter().any(|word| name.contains(word)) {
                program(&tools, target, source, &name, &mut total)?;
            }
        }
    }
    println!(
        "{} runs of programs, {} instructions; {} captures decoded to what ran, {} listed as the reference \
         lists them",
        total.programs, total.instructions, total.captures, total.listed
    );
    Ok(total.wrong)
}

fn program(
    tools: &Tools,
    target: &Target,
    source: &Path,
    name: &str,
    total: &mut Total,
) -> Result<(), String> {
    let start = Instant::now();
    let elf = tools.compile(target, source, name)?;
    let log = tools.log(target, &elf)?;
    let instructions = tools.count(&log)?;
    let mut line = format!("{name} {}: {instructions} instructions;", target.name);
    if instructions < LEAST {
        total.wrong += 1;
        line += " too few;";
    }
    for config in target.configs {
        let snapshot = tools.encode(config, &elf, &log)?;
        match tools.compare(&snapshot, &elf, &log)? {
            None => total.captures += 1,
            Some(difference) => {
                total.wrong += 1;
                println!("{name} {} {}:\n{difference}", target.name, config.name);
            }
        }
        line += &format!(" {}", config.name);
        listed(tools, target, config, name, &snapshot, total)?;
        tools.forget(&snapshot)?;
    }
    tools.forget(&log)?;
    total.programs += 1;
    total.instructions += instructions;
    println!("{line}; {:.1} s", start.elapsed().as_secs_f32());
    Ok(())
}

fn listed(
    tools: &Tools,
    target: &Target,
    config: &Config,
    name: &str,
    snapshot: &Path,
    total: &mut Total,
) -> Result<(), String> {
    if !tools.lister || !config.listed {
        return Ok(());
    }
    match lister::compare(tools, snapshot)? {
        Ok(_) => total.listed += 1,
        Err(difference) => {
            total.wrong += 1;
            println!("{name} {} {}: {difference}", target.name, config.name);
        }
    }
    Ok(())
}
