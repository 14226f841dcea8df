//! `sql`: the program that is run for it.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::common::{Folder, Output, command};

/// The program gets all words as they are, and its exit code is that of the command.
#[test]
fn the_program_on_the_path_is_run() {
    let folder = Folder::new("sql-path");
    let program = folder.path("tracewright-sql");
    fs::write(&program, "#!/bin/sh\nfor word in \"$@\"; do echo \"[$word]\"; done\nexit 1\n")
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    for (words, want) in [
        (&["sql", "a b", "SELECT 1"][..], "[a b]\n[SELECT 1]\n"),
        (&["sql", "--format", "csv", "a", "-q"], "[--format]\n[csv]\n[a]\n[-q]\n"),
        (&["--quiet", "sql", "a", "SELECT 1"], "[--quiet]\n[a]\n[SELECT 1]\n"),
    ] {
        let run = command(words).env("PATH", folder.path("")).output().unwrap();
        let output: Output = run.into();
        assert_eq!((output.code, output.out.as_str()), (Some(1), want), "{}", output.err);
    }
}

/// Without the program, the message has where it is found.
#[test]
fn without_the_program_the_message_has_what_to_do() {
    let folder = Folder::new("sql-none");
    let run = command(&["sql", "a", "SELECT 1"]).env("PATH", folder.path("")).output().unwrap();
    let output: Output = run.into();
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""));
    for want in
        ["neither beside this command nor on PATH", "cargo install --path sql", "docs/sql.md"]
    {
        assert!(output.err.contains(want), "{}", output.err);
    }
    let run = command(&["sql"]).output().unwrap();
    assert_eq!(Output::from(run).code, Some(2));
}
