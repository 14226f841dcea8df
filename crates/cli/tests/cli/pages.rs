//! The examples of pages with output: the commands print what the pages show.

use std::fs;
use std::path::Path;

use tracewright_testing::shared;

use crate::common::{Folder, Output, command};

/// A command of a page, and what the page shows of its output. `...` stands for further lines.
struct Example {
    command: String,
    shown: String,
}

fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let blocks = page.split("\n```").skip(1).step_by(2);
    for block in blocks {
        let mut open = false;
        for line in block.lines().skip(1) {
            if let Some(command) = line.strip_prefix("$ tracewright ") {
                examples.push(Example { command: command.to_owned(), shown: String::new() });
                open = true;
            } else if let Some(last) = examples.last_mut().filter(|_| open) {
                last.shown += &format!("{line}\n");
            }
        }
    }
    examples
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &to),
            false => drop(fs::copy(&path, &to).unwrap()),
        }
    }
}

#[test]
fn pages_show_the_output_of_their_commands() {
    let Some(capture) = shared("captures/ti-am243x-r5f/freertos") else { return };
    let folder = Folder::new("pages");
    copy(&capture, &folder.path("freertos"));
    fs::copy(capture.join("freertos.out"), folder.path("freertos.out")).unwrap();
    let trace = fs::read(capture.join("files/freertos.data")).unwrap();
    fs::write(folder.path("dump.bin"), &trace[5..]).unwrap();

    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut count = 0;
    for page in ["functions.md", "detection.md"] {
        let text = fs::read_to_string(pages.join(page)).unwrap();
        for Example { command: line, shown } in examples(&text) {
            if line.split_whitespace().any(|word| matches!(word, "freertos" | "dump.bin")) {
                check(page, &line, &shown, &folder);
                count += 1;
            }
        }
    }
    assert!(count >= 7, "{count}");
}

/// Executes a command of a page in `folder`. Where the page shows nothing of its output, it has to
/// succeed.
fn check(page: &str, line: &str, shown: &String, folder: &Folder) {
    let words: Vec<_> = line.split_whitespace().collect();
    let output: Output = command(&words).current_dir(folder.path("")).output().unwrap().into();
    let Output { code, out, err } = &output;
    let same = match shown.strip_suffix("...\n") {
        Some(first) => out.starts_with(first) || err.starts_with(first),
        None if shown.is_empty() => *code == Some(0),
        None => [out, err].contains(&shown),
    };
    assert!(same, "{page}: {line}\n{shown}\nand not\n{out}\n{err}");
}

/// Each page for a kind of user: all commands are executed in order. Commands in blocks of the
/// shell are for a live target or another program, and are counted.
#[test]
fn starts_show_the_output_of_their_commands() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let captures = root.join("tests/captures");
    let (mut pages, mut others) = (0, 0);
    for entry in fs::read_dir(root.join("docs/start")).unwrap() {
        let path = entry.unwrap().path();
        let page = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let folder = Folder::new(&format!("start-{page}"));
        let itm = captures.join("itm/capture/ETB_0.bin");
        fs::copy(itm, folder.path("swo.bin")).unwrap();
        copy(&captures.join("etrace-2.0/capture"), &folder.path("etrace"));
        fs::copy(captures.join("etrace-2.0/log.csv"), folder.path("log.csv")).unwrap();
        copy(&captures.join("ntrace-htm/capture"), &folder.path("ntrace"));
        let examples = examples(&text);
        others += text.lines().filter(|line| line.contains("tracewright-lib")).count();
        others += text.lines().filter(|line| line.starts_with("tracewright ")).count();
        assert!(page == "README.md" || examples.len() >= 5, "{page}: {}", examples.len());
        if page == "perf.md" {
            let Some(android) = shared("captures/simpleperf-etm") else { continue };
            fs::copy(android.join("perf_etm.data"), folder.path("perf.data")).unwrap();
            fs::copy(android.join("etm_test_loop"), folder.path("etm_test_loop")).unwrap();
        }
        for Example { command: line, shown } in &examples {
            check(page, line, shown, &folder);
        }
        pages += 1;
    }
    assert!(pages >= 6, "{pages}");
    assert_eq!(others, 3);
}
