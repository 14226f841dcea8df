//! The pages about GNU parallel, Slurm and Kubernetes: their commands are executed, for these
//! schedulers by a shell that sets what they set.

use std::fs;
use std::path::Path;
use std::process::Command;

use tracewright_testing::tool;

use super::plan::Fleet;
use super::{Folder, good};

/// The shares of the pages, and here.
const SHARES: (usize, usize) = (64, 3);

/// The blocks of a page in this language, in the folder of the test, with fewer shares.
fn blocks(page: &str, language: &str, folder: &Folder) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = fs::read_to_string(path).expect("a page");
    let start = format!("```{language}\n");
    let blocks = text.split(&start).skip(1).map(|block| block.split("```").next().expect("an end"));
    let shared = folder.path("shared");
    let (many, few) = (SHARES.0.to_string(), SHARES.1.to_string());
    let here = |block: &str| {
        assert!(block.contains("/shared"), "{block}");
        block.replace("/shared", &shared).replace(&format!("/{many}"), &format!("/{few}"))
    };
    blocks.map(|block| here(block).replace(&format!("seq {many}"), &format!("seq {few}"))).collect()
}

/// Executes a script with the command in its path, and these variables.
fn execute(script: &str, variables: &[(&str, String)]) {
    let own = Path::new(env!("CARGO_BIN_EXE_tracewright")).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", script]).env("PATH", format!("{}:{path}", own.display()));
    shell.envs(variables.iter().map(|(name, value)| (name, value)));
    let done = shell.output().expect("a shell");
    let text = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{script}\n{text}");
}

/// The folder `shared` of the pages.
fn shared(folder: &Folder) -> Option<Fleet> {
    let own = folder.0.join("shared");
    let program = own.join("files/data/local/tmp/etm_test_loop");
    fs::create_dir_all(program.parent().expect("a folder")).expect("a folder");
    let fleet = Fleet::new(folder, 9)?;
    fs::copy(&fleet.binary, &program).expect("a program");
    fs::copy(folder.path("list"), own.join("captures")).expect("a list");
    Some(fleet)
}

/// The sum of a page is that of the captures, which are in several units.
fn check(fleet: &Fleet, folder: &Folder) {
    let sum = fs::read(folder.path("shared/fleet.list")).expect("a list");
    assert!(sum == fleet.whole(&fleet.list));
    let parts = fs::read_dir(folder.path("shared/parts")).expect("a folder");
    assert_eq!(parts.count(), SHARES.1);
}

/// The plan of a page, with a unit for each file.
fn planned(block: &str) -> String {
    block.replace("--job branch-list", &format!("--job branch-list --unit-size {}", Fleet::SIZE))
}

#[cfg(unix)]
#[test]
fn gnu_parallel_and_xargs() {
    let folder = Folder::new("page-parallel");
    let Some(fleet) = shared(&folder) else { return };
    let [plan, parallel, xargs, sum] = &blocks("units-parallel.md", "sh", &folder)[..] else {
        panic!("four blocks")
    };
    execute(&planned(plan), &[]);
    execute(xargs, &[]);
    execute(sum, &[]);
    check(&fleet, &folder);
    let whole = folder.path("whole.list");
    fs::write(&whole, fleet.whole(&fleet.list)).expect("room");
    let of = ["profile", &whole, "--format", "autofdo", "--binary", &fleet.binary];
    assert!(fs::read(folder.path("shared/fleet.afdo")).expect("a profile") == good(&of));
    if tool(&[("parallel", "parallel")]).is_some() {
        execute(&format!("rm -r {}", folder.path("shared/parts/*")), &[]);
        execute(parallel, &[]);
        execute(sum, &[]);
        check(&fleet, &folder);
    }
}

#[cfg(unix)]
#[test]
fn slurm() {
    let folder = Folder::new("page-slurm");
    let Some(fleet) = shared(&folder) else { return };
    let [plan, task, sum] = &blocks("units-slurm.md", "sh", &folder)[..] else {
        panic!("three blocks")
    };
    execute(&planned(plan), &[]);
    for n in 1..=SHARES.1 {
        let count = SHARES.1.to_string();
        let of = [("SLURM_ARRAY_TASK_ID", n.to_string()), ("SLURM_ARRAY_TASK_COUNT", count)];
        execute(task, &of);
    }
    execute(sum, &[]);
    check(&fleet, &folder);
}

#[cfg(unix)]
#[test]
fn kubernetes() {
    let folder = Folder::new("page-kubernetes");
    let Some(fleet) = shared(&folder) else { return };
    let scripts = blocks("units-kubernetes.md", "sh", &folder);
    let [plan, sum] = &scripts[..] else { panic!("two blocks") };
    let [job] = &blocks("units-kubernetes.md", "yaml", &folder)[..] else { panic!("one block") };
    fs::create_dir(folder.path("shared/parts")).expect("a folder");
    execute(&planned(plan), &[]);
    assert!(job.contains("completionMode: Indexed\n") && job.contains("  completions: 64\n"));
    let (before, script) = job.split_once("            - |\n").expect("a script");
    assert!(before.trim_end().ends_with("args:"));
    let script: Vec<&str> = script.lines().take_while(|line| line.starts_with("       ")).collect();
    // The index is counted from 0.
    for n in 0..SHARES.1 {
        execute(&script.join("\n"), &[("JOB_COMPLETION_INDEX", n.to_string())]);
    }
    execute(sum, &[]);
    check(&fleet, &folder);
}
