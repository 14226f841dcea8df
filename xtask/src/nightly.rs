//! `cargo xtask nightly`: the long forms of all tests, and a dated record of what they found.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// A part of the run.
struct Step {
    name: &'static str,
    /// A script of the repository, and its arguments.
    script: &'static str,
    /// What a failure means.
    about: &'static str,
}

/// All parts, in their order.
const STEPS: [Step; 6] = [
    Step { name: "tools", script: ".ci/tools", about: "some tools of the tests are not installed" },
    Step { name: "run", script: ".ci/run", about: "a check or a test failed" },
    Step {
        name: "packages",
        script: "tests/packages/run",
        about: "a file of a release cannot be installed, or differs when it is made again",
    },
    Step { name: "releases", script: ".ci/releases", about: "another OpenCSD or perf differs" },
    Step {
        name: "sanitizer",
        script: ".ci/sanitizer",
        about: "a library for C reads or writes wrongly",
    },
    Step { name: "fuzz", script: "fuzz/nightly.sh", about: "a property does not hold" },
];

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    /// `TRACEWRIGHT_TIMES`: how often a property is tried at least.
    times: u64,
    /// Minutes of all fuzz targets together.
    minutes: u64,
    /// The names of the only parts to run; all if it is empty.
    only: Vec<String>,
    record: Option<PathBuf>,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Options, String> {
        let mut options = Options { times: 30, minutes: 20, only: Vec::new(), record: None };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            let number = |text: &str| {
                let number = text.parse::<u64>().ok().filter(|number| *number > 0);
                number.ok_or_else(|| format!("`{text}` is not a number from 1 on"))
            };
            match *word {
                "--times" => options.times = number(value()?)?,
                "--minutes" => options.minutes = number(value()?)?,
                "--record" => options.record = Some(PathBuf::from(value()?)),
                "--only" => {
                    let name = value()?;
                    if !STEPS.iter().any(|step| step.name == *name) {
                        let names = STEPS.map(|step| step.name).join(", ");
                        return Err(format!("no part `{name}`; they are {names}"));
                    }
                    options.only.push((*name).to_owned());
                }
                other => return Err(format!("unknown option {other}")),
            }
        }
        Ok(options)
    }
}

/// How a part ended.
struct Outcome {
    step: &'static Step,
    passed: bool,
    seconds: u64,
    /// What it skipped, line by line, and the end of its output where it failed.
    notes: Vec<String>,
}

/// Runs the parts one after another, also where one fails, and writes the record.
pub(crate) fn run(root: &Path, words: &[&str]) -> ExitCode {
    match nightly(root, words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("nightly: {error}");
            ExitCode::from(2)
        }
    }
}

fn nightly(root: &Path, words: &[&str]) -> Result<bool, String> {
    let options = Options::parse(words)?;
    let date = output(root, &["date", "-u", "+%Y-%m-%d"])?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let record = match &options.record {
        Some(record) => record.clone(),
        None => target.join("nightly").join(format!("{date}.md")),
    };
    let mut outcomes = Vec::new();
    for step in &STEPS {
        if options.only.is_empty() || options.only.iter().any(|name| name == step.name) {
            outcomes.push(execute(root, step, &options)?);
        }
    }
    let commit = output(root, &["git", "describe", "--always", "--dirty", "--abbrev=12"]);
    let compiler = output(root, &["rustc", "--version"])?;
    let title = format!(
        "# Long forms of the tests, {date}\n\nCommit {}, {compiler}, {} processors, \
         `TRACEWRIGHT_TIMES={}`, {} minutes of fuzzing.\n",
        commit.unwrap_or_else(|_| "unknown".to_owned()),
        std::thread::available_parallelism().map_or(1, usize::from),
        options.times,
        options.minutes,
    );
    let text = title + &table(&outcomes);
    if let Some(folder) = record.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::write(&record, &text).map_err(|error| format!("{}: {error}", record.display()))?;
    print!("{text}");
    println!("{} written", record.display());
    Ok(outcomes.iter().all(|outcome| outcome.passed))
}

/// Runs a part. Its output is shown at its end, and stays in `target/nightly`.
fn execute(root: &Path, step: &'static Step, options: &Options) -> Result<Outcome, String> {
    println!("==> {}", step.script);
    let mut command = Command::new("bash");
    command.arg(step.script).current_dir(root).stdin(Stdio::null());
    command.env("TRACEWRIGHT_TIMES", options.times.to_string());
    if step.name == "run" {
        command.env("TRACEWRIGHT_REQUIRE_TOOLS", "1").env("TRACEWRIGHT_SQL", "1");
    }
    if step.name == "fuzz" {
        command.arg(options.minutes.to_string());
    }
    let start = Instant::now();
    let output = command.output().map_err(|error| format!("bash {}: {error}", step.script))?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    print!("{text}");
    let passed = output.status.success();
    Ok(Outcome { step, passed, seconds: start.elapsed().as_secs(), notes: notes(&text, passed) })
}

/// The lines of an output that a record has.
fn notes(text: &str, passed: bool) -> Vec<String> {
    /// The last lines of a part that failed.
    const LAST: usize = 20;
    let is_note =
        |line: &&str| line.contains("SKIPPED") || line.contains("passed without checking");
    let mut notes: Vec<String> = text.lines().filter(is_note).map(str::to_owned).collect();
    notes.dedup();
    if !passed {
        let lines: Vec<&str> = text.lines().collect();
        let first = lines.len().saturating_sub(LAST);
        notes.extend(lines.into_iter().skip(first).map(str::to_owned));
    }
    notes
}

fn table(outcomes: &[Outcome]) -> String {
    let mut text = "\n| part | result | seconds |\n|---|---|---:|\n".to_owned();
    for Outcome { step, passed, seconds, .. } in outcomes {
        let result = if *passed { "passed" } else { step.about };
        text += &format!("| `{}` | {result} | {seconds} |\n", step.script);
    }
    for Outcome { step, notes, .. } in outcomes.iter().filter(|outcome| !outcome.notes.is_empty()) {
        text += &format!("\n`{}`:\n\n```text\n{}\n```\n", step.script, notes.join("\n"));
    }
    text
}

/// The first line that a program prints.
fn output(root: &Path, words: &[&str]) -> Result<String, String> {
    let (program, arguments) = words.split_first().ok_or("no program")?;
    let output = Command::new(program).args(arguments).current_dir(root).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options() {
        let parsed = Options::parse(&["--times", "5", "--only", "run", "--only", "fuzz"]).unwrap();
        assert_eq!((parsed.times, parsed.minutes), (5, 20));
        assert_eq!(parsed.only, ["run", "fuzz"]);
        for (words, error) in [
            (&["--times"][..], "needs a value"),
            (&["--times", "0"], "from 1 on"),
            (&["--only", "all"], "they are tools, run, packages, releases, sanitizer, fuzz"),
            (&["--fast"], "unknown option"),
        ] {
            let got = Options::parse(words).unwrap_err();
            assert!(got.contains(error), "{words:?}: {got}");
        }
    }

    /// A tree with scripts that print what they are given: one of them fails.
    #[test]
    fn every_part_is_recorded() {
        let root = std::env::temp_dir().join(format!("xtask-nightly-{}", std::process::id()));
        for folder in [".ci", "fuzz", "tests/packages"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for step in &STEPS {
            let fails = if step.name == "releases" { "echo at the end; exit 1" } else { "" };
            let text = format!(
                "echo SKIPPED: {} times $TRACEWRIGHT_TIMES tools $TRACEWRIGHT_REQUIRE_TOOLS \
                 minutes $1\n{fails}\n",
                step.name
            );
            fs::write(root.join(step.script), text).unwrap();
        }
        let record = root.join("record/night.md");
        let words = ["--times", "7", "--minutes", "3", "--record", record.to_str().unwrap()];
        assert_eq!(nightly(&root, &words), Ok(false));
        let text = fs::read_to_string(&record).unwrap();
        for line in [
            "| `.ci/run` | passed | 0 |",
            "| `.ci/releases` | another OpenCSD or perf differs | 0 |",
            "SKIPPED: run times 7 tools 1 minutes",
            "SKIPPED: sanitizer times 7 tools minutes",
            "SKIPPED: fuzz times 7 tools minutes 3",
            "at the end",
        ] {
            assert!(text.lines().any(|other| other.trim_end() == line), "{line}\n{text}");
        }
        let date =
            text.lines().next().unwrap().strip_prefix("# Long forms of the tests, ").unwrap();
        assert!(date.len() == 10 && date.starts_with("20"), "{date}");
        let words = ["--only", "run", "--record", record.to_str().unwrap()];
        assert_eq!(nightly(&root, &words), Ok(true));
        assert!(!fs::read_to_string(&record).unwrap().contains("releases"));
        fs::remove_dir_all(root).unwrap();
    }
}
