//! Wrong use and damaged captures: error codes, and no crash.

use std::process::Command;

use tracewright_testing::{is_long, short_or_long, tool};

use crate::client::{compile, compile_with, library, output, run};
use crate::snapshots::scripts;

/// Every function with wrong arguments, and two threads with a tree each.
#[test]
fn wrong_calls_return_errors() {
    let Some(program) = compile("misuse.c") else { return };
    let own = std::env::current_exe().unwrap();
    let done = output(run(&program, Some(library()), &[own.to_str().unwrap()]));
    assert!(done.ends_with("0 failures\n"), "{done}");
}

/// The same under valgrind, which finds memory that must not be read, and memory that is not freed.
#[test]
fn wrong_calls_touch_no_other_memory() {
    if !is_long() {
        return;
    }
    let Some(program) = compile("misuse.c") else { return };
    let Some(valgrind) = tool(&[("valgrind", "valgrind")]) else { return };
    let kinds = "definite,indirect";
    let done = Command::new(valgrind)
        .args(["-q", "--error-exitcode=9", "--leak-check=full"])
        .args([format!("--show-leak-kinds={kinds}"), format!("--errors-for-leak-kinds={kinds}")])
        .args([&program, &std::env::current_exe().unwrap()])
        .env("LD_LIBRARY_PATH", library())
        .output()
        .unwrap();
    let text = crate::client::text_of(&done.stderr);
    assert!(done.status.success(), "{text}");
    assert!(output(done).ends_with("0 failures\n"), "{text}");
}

/// The same with AddressSanitizer, which finds memory of the client that must not be read or
/// written; and the captures, with a client that waits.
#[test]
fn clients_run_under_the_address_sanitizer() {
    if !is_long() {
        return;
    }
    let Some(program) = compile_with("misuse.c", "-fsanitize=address") else { return };
    let own = std::env::current_exe().unwrap();
    let done = output(run(&program, Some(library()), &[own.to_str().unwrap()]));
    assert!(done.ends_with("0 failures\n"), "{done}");
    let Some(client) = compile_with("client.c", "-fsanitize=address") else { return };
    for (name, script, _) in scripts() {
        if name == "bugfix-exact-match" {
            continue;
        }
        for mode in ["callback", "callbacks"] {
            output(run(&client, Some(library()), &[script.to_str().unwrap(), mode, "64", "5"]));
        }
    }
}

/// Captures with changed bits, with the client waiting now and then.
#[test]
fn damaged_captures_do_not_crash() {
    let Some(client) = compile("client.c") else { return };
    for (name, script, _) in scripts() {
        if name == "bugfix-exact-match" {
            continue;
        }
        let times = short_or_long("3", "20");
        let args = [script.to_str().unwrap(), "mutate", "256", times];
        let done = output(run(&client, Some(library()), &args));
        assert!(done.ends_with(" elements\n"), "{name}: {done}");
    }
}
