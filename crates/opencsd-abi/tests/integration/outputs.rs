//! What the library prints and counts: raw frames, elements, statistics.

use std::path::Path;

use crate::client::{compile, compile_without_headers, folder, installed, library, output, run};
use crate::release_1_3::{is_the_same, without_space};
use crate::snapshots::{scripts, without_fields};

/// The lines that the client prints in `mode`.
fn lines(client: &Path, library: Option<&Path>, script: &str, mode: &str) -> Vec<String> {
    let text = output(run(client, library, &[script, mode, "4096", "0"]));
    text.lines().map(str::to_owned).collect()
}

/// Calls `compare` with the name and the script of each snapshot, and what the script has.
fn for_each(compare: impl Fn(&str, &str, &str)) {
    for (name, script, _) in scripts() {
        let text = std::fs::read_to_string(&script).unwrap();
        // Errors of infrastructure are among what is printed, in other words than OpenCSD's.
        if name != "bugfix-exact-match" && name != "infrastructure" {
            compare(&name, script.to_str().unwrap(), &text);
        }
    }
}

/// The raw frame printer prints frames as they are, and the bytes of each source in them.
#[test]
fn raw_frames_are_those_of_the_installed_library() {
    let Some(client) = compile("client.c") else { return };
    if installed().is_none() {
        return;
    }
    for_each(|name, script, text| {
        // 1.3.3 has no ITM.
        if !text.starts_with("tree 0") || text.contains("decoder ITM") {
            return;
        }
        let own = lines(&client, Some(library()), script, "frames");
        assert!(own.iter().any(|line| line.contains("Frame Data")), "{name}");
        assert!(own == lines(&client, None, script, "frames"), "{name}");
    });
}

/// With half synchronisation packets and without full ones, frames begin at the first byte.
#[test]
fn half_synchronisation_only() {
    let Some(client) = compile("client.c") else { return };
    for_each(|name, _, text| {
        if name != "Snowball" {
            return;
        }
        let (head, data) = text.split_once("data ").unwrap();
        let frames = std::fs::read(data.trim()).unwrap();
        // Inside of frames: OpenCSD counts those before a frame as a part of it.
        let halved = |(n, pair): (usize, &[u8])| match n % 13 {
            0 if n % 8 != 7 => [pair, &[0xff, 0x7f]].concat(),
            _ => pair.to_vec(),
        };
        let port: Vec<u8> = frames.chunks(2).enumerate().flat_map(halved).collect();
        let (path, script) = (folder().join("half.data"), folder().join("half.script"));
        std::fs::write(&path, port).unwrap();
        let head = head.replace("tree 0 4", "tree 0 2");
        std::fs::write(&script, format!("{head}data {}\n", path.display())).unwrap();
        let script = script.to_str().unwrap();
        let data = |library| {
            let all = lines(&client, library, script, "frames").into_iter();
            all.filter(|line| line.contains("ID_DATA")).collect::<Vec<_>>()
        };
        let own = data(Some(library()));
        assert!(own.len() > 500, "{own:?}");
        if installed().is_some() {
            assert!(own == data(None));
        }
    });
}

/// Elements that the library prints are those that a function of the client receives, and those
/// that the installed library prints.
#[test]
fn printed_elements_are_those_of_the_installed_library() {
    let Some(client) = compile("client.c") else { return };
    let is_installed = installed().is_some();
    for_each(|name, script, _| {
        let own = lines(&client, Some(library()), script, "printer");
        let own: Vec<&str> = own.iter().map(|line| line.trim_end()).collect();
        let received = lines(&client, Some(library()), script, "elements").join("\n");
        let received = without_fields(&received);
        assert!(own == received, "{name}");
        if is_installed && is_the_same(name) {
            let own: Vec<String> = own.iter().map(|line| without_space(line)).collect();
            let theirs = lines(&client, None, script, "printer");
            let theirs: Vec<&str> = theirs.iter().map(|line| line.trim_end()).collect();
            assert!(own == theirs, "{name}");
        }
    });
}

/// Statistics of ETMv4 and ETE, which are the ones that OpenCSD has.
#[test]
fn statistics_are_those_of_the_installed_library() {
    let Some(client) = compile("client.c") else { return };
    if installed().is_none() {
        return;
    }
    for_each(|name, script, text| {
        let mut decoders = text.lines().filter(|line| line.starts_with("decoder "));
        let has_memory = text.contains("memory ");
        if has_memory && decoders.all(|line| line.contains(" ETMV4I ") || line.contains(" ETE ")) {
            let own = lines(&client, Some(library()), script, "stats");
            assert!(!own.is_empty(), "{name}");
            assert_eq!(own, lines(&client, None, script, "stats"), "{name}");
        }
    });
}

/// A message of the library is between the client's own lines, also where standard output is no
/// terminal.
#[test]
fn messages_are_between_lines_of_the_client() {
    let Some(client) = compile_without_headers("messages.c") else { return };
    assert_eq!(output(run(&client, Some(library()), &[])), "before\nmessage\nafter\n");
}
