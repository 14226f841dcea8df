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
            let words: Vec<_> = line.split_whitespace().collect();
            if !words.iter().any(|word| matches!(*word, "freertos" | "dump.bin")) {
                continue;
            }
            let output: Output =
                command(&words).current_dir(folder.path("")).output().unwrap().into();
            let Output { out, err, .. } = &output;
            let same = match shown.strip_suffix("...\n") {
                Some(first) => out.starts_with(first) || err.starts_with(first),
                None => [out, err].contains(&&shown),
            };
            assert!(same, "{page}: {line}\n{shown}\nand not\n{out}\n{err}");
            count += 1;
        }
    }
    assert!(count >= 7, "{count}");
}
