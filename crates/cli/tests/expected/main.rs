//! What the command must answer to inputs that were laid out by hand: `expected.tsv` beside this
//! file has a row for each statement about an input and a command.
//!
//! | column | contents |
//! |---|---|
//! | input | a folder or file below `shared/findings/repro`; a folder is the working directory |
//! | command | the arguments; `{input}` is the path of a file; `{out}` is the path of a file that the command writes |
//! | check | `code is`, or `out`, `err`, `file`, `any` with `has`, `lacks` or `lines` |
//! | text | the exit code, the text, or the number of lines |
//!
//! `out` and `err` are the streams, `any` is both, `file` is what was written to `{out}`; of a page
//! that shows a trace, the data in it. Runs of blanks count as one. Each command has 60 seconds,
//! and on Unix 10 seconds of a processor and 1 GiB of address space.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};

use tracewright_testing::{embedded, shared};

/// The longest that one command may take, with a build without optimisation.
const LIMIT: Duration = Duration::from_secs(60);

/// What one command did.
struct Answer {
    code: Option<i32>,
    out: String,
    err: String,
    file: String,
}

#[test]
fn commands_answer_as_expected() {
    let Some(folder) = shared("findings/repro") else { return };
    let written = env::temp_dir().join(format!("tracewright-expected-{}", process::id()));
    fs::create_dir_all(&written).unwrap();
    let rows = include_str!("expected.tsv").lines().zip(1..);
    let rows = rows.filter(|(row, _)| !row.is_empty() && !row.starts_with('#'));
    let mut answers = BTreeMap::new();
    let mut failures = Vec::new();
    for (row, line) in rows {
        let columns: Vec<_> = row.split('\t').collect();
        let [input, arguments, check, text] = columns[..] else {
            panic!("expected.tsv, line {line}: four columns are expected");
        };
        let answer = answers
            .entry((input, arguments))
            .or_insert_with(|| answer(&folder.join(input), arguments, &written.join("file")));
        if let Some(failure) = failure(answer, check, text) {
            failures.push(format!("line {line}: {input}: {arguments}: {check} {text:?}{failure}"));
        }
    }
    fs::remove_dir_all(&written).unwrap();
    assert!(failures.is_empty(), "{} rows fail:\n{}", failures.len(), failures.join("\n"));
}

/// Runs the command on `input`.
fn answer(input: &Path, arguments: &str, written: &Path) -> Answer {
    let _ = fs::remove_file(written);
    let program = env!("CARGO_BIN_EXE_tracewright");
    let mut command = if cfg!(unix) {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -v 1048576; ulimit -t 10; exec \"$0\" \"$@\"", program]);
        command
    } else {
        Command::new(program)
    };
    for argument in arguments.split_whitespace() {
        let argument = argument.replace("{input}", input.to_str().unwrap());
        command.arg(argument.replace("{out}", written.to_str().unwrap()));
    }
    let folder = if input.is_dir() { input } else { input.parent().unwrap() };
    let streams = ["stdout", "stderr"].map(|name| written.with_file_name(name));
    let [out, err] = streams.each_ref().map(|path| fs::File::create(path).unwrap());
    let mut child =
        command.current_dir(folder).stdin(Stdio::null()).stdout(out).stderr(err).spawn().unwrap();
    let start = Instant::now();
    let code = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status.code(),
            None if start.elapsed() > LIMIT => {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    };
    let text = |path: &PathBuf| {
        let text = String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        data_of_page(&text).unwrap_or(text)
    };
    let [out, err] = streams.each_ref().map(text);
    Answer { code, out, err, file: text(&written.to_owned()) }
}

/// What a page of `report` or `view --export` has of the trace: what was decoded, and the answers,
/// without packing. `None` for another text.
fn data_of_page(text: &str) -> Option<String> {
    let begin = "<script id=\"report\" type=\"application/json\">";
    let own = text.split_once("<script id=\"answers\"").map(|(head, _)| head)?;
    let report = own.split_once(begin).map_or("", |(_, report)| report);
    let answers = embedded(text);
    let all = answers.values().map(|answer| String::from_utf8_lossy(answer).into_owned());
    Some(all.fold(report.to_owned(), |all, answer| all + "\n" + &answer))
}

/// What is wrong with an answer, where a check fails.
fn failure(answer: &Answer, check: &str, text: &str) -> Option<String> {
    if check == "code is" {
        let code = answer.code.map_or("none".into(), |code| code.to_string());
        return (code != text).then(|| format!(", the code is {code}: {}", short(&answer.err)));
    }
    let (stream, predicate) = check.split_once(' ').unwrap();
    let any = format!("{}\n{}", answer.out, answer.err);
    let contents = match stream {
        "out" => &answer.out,
        "err" => &answer.err,
        "file" => &answer.file,
        "any" => &any,
        _ => panic!("unknown stream {stream}"),
    };
    let has = blanks(contents).contains(&blanks(text));
    let holds = match predicate {
        "has" => has,
        "lacks" => !has,
        "lines" => contents.lines().count() == text.parse().unwrap(),
        _ => panic!("unknown predicate {predicate}"),
    };
    (!holds).then(|| format!(", {stream} is: {}", short(contents)))
}

/// `text` with one blank for each run of them.
fn blanks(text: &str) -> String {
    text.split([' ', '\t']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The first lines of `text`.
fn short(text: &str) -> String {
    text.chars().take(600).collect()
}
