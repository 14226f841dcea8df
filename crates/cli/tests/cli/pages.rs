//! The commands of README.md and of the pages in `docs`: each is executed and prints what the page
//! shows, or is in a block that is marked `no-run: REASON`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tracewright_testing::shared;

use crate::common::{Folder, Output};

/// The most commands that are marked.
const MOST_MARKED: usize = 75;

/// Pages whose commands another test executes, with files that it makes.
const ELSEWHERE: [(&str, &str); 10] = [
    ("docs/data-example.md", "crates/cli/tests/gdb/example.rs"),
    ("docs/ete-programming.md", "crates/cli/tests/cli/unit_docs.rs"),
    ("docs/sql.md", "sql/tests/docs.rs"),
    ("docs/trace-units.md", "crates/cli/tests/cli/unit_docs.rs"),
    ("docs/units-dask.md", "python/tests/test_distributed.py"),
    ("docs/units-kubernetes.md", "crates/cli/tests/fleet/pages.rs"),
    ("docs/units-parallel.md", "crates/cli/tests/fleet/pages.rs"),
    ("docs/units-ray.md", "python/tests/test_distributed.py"),
    ("docs/units-slurm.md", "crates/cli/tests/fleet/pages.rs"),
    ("docs/units-spark.md", "python/tests/test_distributed.py"),
];

/// A file or folder that pages name, and what it is: a path in the repository, or beside it.
const INPUTS: [(&str, Place); 13] = [
    ("swo.bin", Place::Own("tests/captures/itm/capture/ETB_0.bin")),
    ("ete.csv", Place::Own("tests/captures/ete/log.csv")),
    ("etrace", Place::Own("tests/captures/etrace-2.0/capture")),
    ("etrace.csv", Place::Own("tests/captures/etrace-2.0/log.csv")),
    ("log.csv", Place::Own("crates/cli/tests/cli/server/log.csv")),
    ("program", Place::Own("crates/cli/tests/cli/server/program")),
    ("ntrace", Place::Own("tests/captures/ntrace-htm/capture")),
    ("freertos", Place::Shared("ti-am243x-r5f/freertos")),
    ("freertos.out", Place::Shared("ti-am243x-r5f/freertos/freertos.out")),
    ("dump.bin", Place::Shared("ti-am243x-r5f/freertos/files/freertos.data")),
    ("perf_etm.data", Place::Shared("simpleperf-etm/perf_etm.data")),
    ("etm_test_loop", Place::Shared("simpleperf-etm/etm_test_loop")),
    ("trace_example.sr", Place::Shared("sigrok-stm32f105/trace_example.sr")),
];

enum Place {
    Own(&'static str),
    Shared(&'static str),
}

/// A block of code.
struct Block<'a> {
    /// Counted from 1.
    line: usize,
    /// What is behind the opening fence: the language, and `no-run: REASON`.
    info: &'a str,
    lines: Vec<&'a str>,
}

/// A command, and what the page shows of its output. `...` stands for further lines.
struct Example<'a> {
    command: String,
    shown: Vec<&'a str>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut open = false;
    for (line, text) in (1..).zip(page.lines()) {
        if let Some(info) = text.strip_prefix("```") {
            open = !open;
            if open {
                blocks.push(Block { line, info, lines: Vec::new() });
            }
        } else if let Some(block) = blocks.last_mut().filter(|_| open) {
            block.lines.push(text);
        }
    }
    blocks
}

impl<'a> Block<'a> {
    /// Lines that begin with `$`, with what follows them; without such lines, all lines of the
    /// shell, and of other blocks where one begins with the command.
    fn examples(&self) -> Vec<Example<'a>> {
        let language = self.info.split(' ').next().unwrap_or_default();
        let prompts = self.lines.iter().any(|line| line.starts_with("$ "));
        let begins = |line: &&str| line.starts_with("tracewright ") || line.starts_with("cargo ");
        let is_list = self.info == "text list";
        let plain = match language {
            "sh" => true,
            "" | "console" | "text" => self.lines.iter().any(begins) && !is_list,
            _ => false,
        };
        let mut examples: Vec<Example<'a>> = Vec::new();
        let mut continued = false;
        for line in &self.lines {
            let command = if prompts { line.strip_prefix("$ ") } else { plain.then_some(*line) };
            match (command, examples.last_mut()) {
                (_, Some(last)) if continued => last.command += &format!("\n{line}"),
                (Some(command), _) if !command.is_empty() && !command.starts_with('#') => {
                    examples.push(Example { command: command.to_owned(), shown: Vec::new() });
                }
                (None, Some(last)) => last.shown.push(line),
                _ => {}
            }
            let open = examples.last().is_some_and(|last| last.shown.is_empty());
            continued = open && line.ends_with('\\');
        }
        for example in &mut examples {
            while example.shown.last().is_some_and(|line| line.is_empty()) {
                example.shown.pop();
            }
        }
        examples
    }
}

fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        // The permissions are not copied.
        fs::write(to, fs::read(from).unwrap()).unwrap();
        return;
    }
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        copy(&path, &to.join(path.file_name().unwrap()));
    }
}

/// A folder with the inputs that commands and their output name. `None` where one of them is not
/// here.
fn folder(page: &str, examples: &[Example<'_>]) -> Option<Folder> {
    let folder = Folder::new(&format!("page-{}", page.replace('/', "-")));
    let inside = |c: char| c.is_alphanumeric() || "_.-/".contains(c);
    let names = |text: &str, name: &str| text.split(|c| !inside(c)).any(|word| word == name);
    let named = |example: &Example<'_>, name: &str| {
        names(&example.command, name) || example.shown.iter().any(|line| names(line, name))
    };
    for (name, place) in INPUTS {
        if !examples.iter().any(|example| named(example, name)) {
            continue;
        }
        let from = match place {
            Place::Own(path) => root().join(path),
            Place::Shared(path) => shared(&format!("captures/{path}"))?,
        };
        copy(&from, &folder.path(name));
        if name == "dump.bin" {
            // A dump that begins inside of a frame.
            let bytes = fs::read(folder.path(name)).unwrap();
            fs::write(folder.path(name), &bytes[5..]).unwrap();
        }
    }
    Some(folder)
}

/// Compares lines with those that a page shows.
fn shows(shown: &[&str], output: &str) -> bool {
    let output: Vec<&str> = output.lines().collect();
    let parts: Vec<&[&str]> = shown.split(|line| *line == "...").collect();
    let mut rest = output.as_slice();
    for (n, part) in parts.iter().enumerate() {
        let at = match (n == 0, n + 1 == parts.len()) {
            (true, true) => return rest == *part,
            (true, false) => rest.starts_with(part).then_some(0),
            // What is shown last is at the end.
            (false, true) => rest
                .len()
                .checked_sub(part.len())
                .filter(|_| part.is_empty() || rest.ends_with(part)),
            (false, false) => (0..rest.len()).find(|at| rest[*at..].starts_with(part)),
        };
        match at {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// Executes a command of a page in `folder`. Where the page shows nothing of its output, it has to
/// succeed.
fn check(place: &str, example: &Example<'_>, folder: &Folder) {
    let binary = env!("CARGO_BIN_EXE_tracewright");
    let Example { command, shown } = example;
    let script = format!("tracewright() {{ \"{binary}\" \"$@\"; }}; {command}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(folder.path("")).stdin(Stdio::null());
    let Output { code, out, err } = shell.output().unwrap().into();
    let both = [format!("{out}{err}"), format!("{err}{out}")];
    let same = if shown.is_empty() {
        code == Some(0)
    } else {
        [&out, &err].into_iter().chain(&both).any(|output| shows(shown, output))
    };
    assert!(same, "{place}: {command}\n{}\nand not {code:?}\n{out}\n{err}", shown.join("\n"));
}

fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned()];
    for folder in ["docs", "docs/start"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") {
                pages.push(format!("{folder}/{name}"));
            }
        }
    }
    pages.sort();
    pages
}

#[test]
fn pages_show_the_output_of_their_commands() {
    let (mut executed, mut marked) = (0, Vec::new());
    for page in pages() {
        if ELSEWHERE.iter().any(|(name, _)| *name == page) {
            continue;
        }
        let text = fs::read_to_string(root().join(&page)).unwrap();
        let (mut examples, mut places) = (Vec::new(), Vec::new());
        for block in blocks(&text) {
            let place = format!("{page}:{}", block.line);
            let found = block.examples();
            if let Some((_, reason)) = block.info.split_once(" no-run:") {
                assert!(reason.split_whitespace().count() > 2, "{place}: no reason");
                assert!(!found.is_empty(), "{place}: nothing to execute");
                marked.extend(found.iter().map(|example| format!("{place}: {}", example.command)));
                continue;
            }
            places.extend(found.iter().map(|_| place.clone()));
            examples.extend(found);
        }
        let is_start = page.starts_with("docs/start/") && !page.ends_with("README.md");
        assert!(!is_start || examples.len() >= 5, "{page}: {} commands", examples.len());
        let Some(folder) = folder(&page, &examples) else { continue };
        for (place, example) in places.iter().zip(&examples) {
            check(place, example, &folder);
        }
        executed += examples.len();
    }
    println!("{executed} commands executed, {} marked:\n{}", marked.len(), marked.join("\n"));
    assert!(marked.len() <= MOST_MARKED, "{} are marked:\n{}", marked.len(), marked.join("\n"));
    assert!(executed > 60, "{executed}");
}

#[test]
fn other_tests_read_their_pages() {
    for (page, test) in ELSEWHERE {
        let name = page.rsplit('/').next().unwrap();
        assert!(fs::read_to_string(root().join(test)).unwrap().contains(name), "{test}: {page}");
    }
}

#[test]
fn shown_lines_are_compared() {
    for (shown, output, same) in [
        (&["a", "b"][..], "a\nb\n", true),
        (&["a"], "a\nb\n", false),
        (&["a", "..."], "a\nb\n", true),
        (&["...", "b"], "a\nb\n", true),
        (&["...", "a"], "a\nb\n", false),
        (&["a", "...", "c"], "a\nb\nc\n", true),
        (&["a", "...", "c", "..."], "a\nb\nc\nd\n", true),
        (&["a", "...", "c"], "a\nb\nc\nd\n", false),
        (&["b", "..."], "a\nb\n", false),
        (&["...", "b", "...", "a", "..."], "a\nb\n", false),
    ] {
        assert_eq!(shows(shown, output), same, "{shown:?} {output:?}");
    }
}
