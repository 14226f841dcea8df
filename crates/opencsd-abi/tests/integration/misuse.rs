//! Wrong use and damaged captures: error codes, and no crash.

use std::process::Command;

use tracewright_testing::{c_options, is_long, short_or_long, times, tool_since};

use crate::client::{compile, compile_with, folder, library, output, run};
use crate::snapshots::scripts;

/// Every function with wrong arguments, and two threads with a tree each.
#[test]
fn wrong_calls_return_errors() {
    let Some(program) = compile("misuse.c") else { return };
    let own = std::env::current_exe().unwrap();
    let done = output(run(&program, Some(library()), &[own.to_str().unwrap()]));
    assert!(done.ends_with("0 failures\n"), "{done}");
}

/// The same under valgrind, which finds memory that must not be read, and memory that is not freed;
/// and small captures, with a client that waits, and with changed bits.
#[test]
fn wrong_calls_touch_no_other_memory() {
    // valgrind does not run programs with a sanitizer.
    if !is_long() || c_options().iter().any(|option| option.contains("sanitize")) {
        return;
    }
    let Some(program) = compile("misuse.c") else { return };
    let Some(client) = compile("client.c") else { return };
    let Some(valgrind) = tool_since(&[("valgrind", "valgrind")], (3, 19)) else { return };
    let kinds = "definite,indirect";
    let checked = |args: &[&str]| {
        let done = Command::new(valgrind)
            .args(["-q", "--error-exitcode=9", "--leak-check=full"])
            .args([
                format!("--show-leak-kinds={kinds}"),
                format!("--errors-for-leak-kinds={kinds}"),
            ])
            .args(args)
            .env("LD_LIBRARY_PATH", library())
            .output();
        output(done.unwrap())
    };
    // Code as trace and as memory: less of it than elsewhere, for valgrind is slow.
    let part = folder().join("part-of-a-program");
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    std::fs::write(&part, &own[own.len() / 2..][..1 << 15]).unwrap();
    let done = checked(&[program.to_str().unwrap(), part.to_str().unwrap()]);
    assert!(done.ends_with("0 failures\n"), "{done}");
    let mut count = 0;
    for (name, script, _) in scripts() {
        let length = std::fs::metadata(script.with_extension("data")).unwrap().len();
        if length > 5_000 {
            continue;
        }
        let [client, script] = [&client, &script].map(|path| path.to_str().unwrap());
        checked(&[client, script, "callbacks", "64", "5"]);
        checked(&[client, script, "callback", "64", "3"]);
        let done = checked(&[client, script, "mutate", "256", "1"]);
        assert!(done.ends_with(" elements\n"), "{name}: {done}");
        count += 1;
    }
    assert!(count > 10, "{count}");
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

/// Captures with changed bits, with the client waiting now and then: 36, and in a long run at least
/// 2000. For a part of them the client reads memory, and receives packets.
#[test]
fn damaged_captures_do_not_crash() {
    let Some(client) = compile("client.c") else { return };
    let mut scripts = scripts();
    scripts.retain(|(name, ..)| name != "bugfix-exact-match");
    let half = times(2000).div_ceil(2 * scripts.len().max(1) as u64).next_multiple_of(2);
    let (even, odd) = short_or_long((2, 1), (half, half + 1));
    let mut elements: u64 = 0;
    for (name, script, _) in &scripts {
        for copies in [even, odd].map(|copies| copies.to_string()) {
            let args = [script.to_str().unwrap(), "mutate", "256", &copies];
            let done = output(run(&client, Some(library()), &args));
            let count = done.strip_suffix(" elements\n").and_then(|count| count.parse().ok());
            let count: Option<u64> = count;
            elements += count.unwrap_or_else(|| panic!("{name}: {done}"));
        }
    }
    println!("{} copies, {elements} elements", scripts.len() as u64 * (even + odd));
    assert!(scripts.is_empty() || elements > 2000, "{elements}");
}
