//! Operating systems, names of tasks, and threads that a variable names.

use std::collections::BTreeSet;

use tracewright_base::Invalid;

use super::orti::bare;
use super::system::listed;
use super::{OnlyThreads, RunningEvents, System, TaskFile, Tasks};
use crate::itm::Origin;
use crate::stacks::{Part, Stacks};
use crate::transfer::{Kind, Transfer, empty};
use crate::{FunctionId, Paths};

#[test]
fn all_entries_of_the_table_are_read() {
    let all = System::known();
    let keys: Vec<&str> = all.iter().map(|system| system.key.as_str()).collect();
    for key in ["freertos", "threadx", "zephyr", "rtx5", "embos", "nuttx", "ucos3", "linux"] {
        assert!(keys.contains(&key), "{key} of {keys:?}");
    }
    // What is looked for first are the names of the table.
    let sorted = |mut names: Vec<String>| {
        names.sort_unstable();
        names
    };
    let listed = |key| sorted(listed(key).map(str::to_owned).collect());
    let detect = all.iter().flat_map(|system| system.detect.clone()).collect();
    assert_eq!(listed("detect"), sorted(detect));
    let functions = all.iter().flat_map(|system| system.detect_functions.clone()).collect();
    assert_eq!(listed("detect_functions"), sorted(functions));
}

fn error(text: &str) -> String {
    TaskFile::read(text).map_err(|why: Invalid| why.to_string()).expect_err("an error")
}

#[test]
fn descriptions_that_are_wrong() {
    for (text, why) in [
        ("[os.a]", "detect"),
        ("[os.a]\ndetect = [1]", "expected a text"),
        ("[os.a]\ndetect = [\"x\"]\nfoo = 1", "unknown key `foo`"),
        ("[os.a]\ndetect = [\"x\"]\ncurrent = {}", "either `symbol` or `variable`"),
        ("[os.a]\ndetect = [\"x\"]\ncurrent = { symbol = \"x\", size = 3 }", "1, 2, 4 or 8"),
        ("[os.a]\ndetect = [\"x\"]\nname = { text = \"inline\" }", "expected `type`"),
        ("[os.a]\ndetect = [\"x\"]\nname = { offset = 4 }", "\"inline\" or \"pointer\""),
        ("[names]\n\"0x10\" = 5", "expected a text"),
        ("[other]", "unknown key `other`"),
        ("[events]", "`running` is missing"),
        ("[events]\nrunning = 5", "expected a text"),
        ("[events]\nrunning = \"dwt4\"", "dwt0 to dwt3"),
        ("[events]\nrunning = \"5\"\nbits = 24", "8, 16, 32 or 64"),
        ("[events]\nrunning = \"5\"\nidle = [-1]", "numbers from 0 on"),
        ("[events]\nrunning = \"5\"\nport = 1", "unknown key `port`"),
        ("x", "not TOML"),
        ("VERSION { A = \"1\"; };", "RUNNINGTASK"),
        ("VERSION { A = \"1\"", "no end"),
        ("VERSION { A = \"1\"; }; OS o { RUNNINGTASK = \"a + b\"; };", "not one variable"),
        ("VERSION { /* ", "no end"),
    ] {
        let found = error(text);
        assert!(found.contains(why), "{text}: {found}");
    }
}

#[test]
fn events_of_a_file_and_of_a_system() {
    let text = "[events]\nrunning = \"5\"\nidle = [0]\n[os.a]\ndetect = [\"x\"]\n\
                events = { running = \"65:3\", bits = 64 }\nidle_tasks = [\"IDLE*\"]\n";
    let file = TaskFile::read(text).expect("a file");
    let events = |origin, bits, idle| Some(RunningEvents { origin, bits, idle });
    assert_eq!(file.events, events(Origin::Port(5), 32, vec![0]));
    let system = file.systems.first().expect("a system");
    assert_eq!(system.events, events(Origin::Master(65, 3), 64, Vec::new()));
    assert_eq!(system.idle_tasks, ["IDLE*"]);
}

#[test]
fn names_by_value_and_by_expression() {
    let text = "[names]\n\"0x20\" = \"A\"\n\"7\" = \"B\"\n\"&(tcb[1])\" = \"C\"\n";
    let file = TaskFile::read(text).expect("a file");
    let names: Vec<_> = file.names.iter().map(|(value, name)| (*value, name.as_str())).collect();
    assert_eq!(names, [(7, "B"), (0x20, "A")]);
    assert_eq!(file.expressions, [("&(tcb[1])".to_owned(), "C".to_owned())]);
    assert_eq!(bare(" ((tcb[1])) "), "tcb[1]");
}

const HANDLER: u32 = 90;

/// Threads by identifier, and the instructions of each in functions.
type Found = Vec<(Option<u64>, Vec<(u32, u64)>)>;

/// Transfers of a program in which the variable of the running task is stored.
#[derive(Default)]
struct Program(Vec<Transfer>);

impl Program {
    fn add(&mut self, transfer: Transfer) {
        self.0.push(Transfer { instructions: 10, at: self.0.len() as u64, ..transfer });
    }

    fn enter(&mut self, target: u64, function: u32) {
        let kind = Kind::Enter;
        self.add(Transfer { kind, target, function, entry: true, ..empty(0, 0) });
    }

    /// A handler interrupts at `ret`, stores `task`, and returns to `target` in `function`.
    fn handler(&mut self, ret: u64, task: Option<Option<u64>>, target: (u64, u32, bool)) {
        self.add(Transfer {
            kind: Kind::Exception,
            target: 0x9000,
            function: HANDLER,
            exception: 14,
            ret: Some(ret),
            entry: true,
            ..empty(0, 0)
        });
        if let Some(task) = task {
            self.add(Transfer { kind: Kind::Task, ret: task, ..empty(0, 0) });
        }
        let (target, function, entry) = target;
        let kind = Kind::ExceptionReturn;
        self.add(Transfer { kind, target, function, entry, ..empty(0, 0) });
    }

    fn store(&mut self, task: Option<u64>) {
        self.add(Transfer { kind: Kind::Task, ret: task, ..empty(0, 0) });
    }

    fn run(&mut self) {
        self.add(empty(0, 0));
    }

    /// What continues from a state ends in the state that it would end in.
    fn restores(&self) {
        for cut in 0..=self.0.len() {
            let (before, after) = self.0.split_at(cut);
            let mut stacks = Stacks::new(1, Paths::new());
            stacks.transfers(before);
            let saved = stacks.save().expect("a state");
            let mut restored = Stacks::restore(&saved, Paths::new()).expect("its own threads");
            stacks.transfers(after);
            restored.transfers(after);
            assert_eq!(restored.save(), stacks.save(), "{cut}");
        }
    }

    /// The identifiers of threads, and the instructions of each outside of the handler.
    fn threads(&self) -> Found {
        let mut stacks = Stacks::new(1, Paths::new());
        stacks.transfers(&self.0);
        stacks.finish();
        let found = by_function(&stacks.visitor);
        // The parts in which workers find frames do not matter.
        for size in [1, 2, 3, 7] {
            let mut parts = Stacks::new(1, Paths::new());
            for part in self.0.chunks(size) {
                parts.part(&Part::new(part, &std::sync::Arc::default()));
            }
            parts.finish();
            assert_eq!(by_function(&parts.visitor), found, "parts of {size}");
        }
        self.restores();
        found
    }
}

fn by_function(paths: &Paths) -> Found {
    let all = crate::functions::by_thread(paths);
    let ids = paths.threads().iter().map(|thread| thread.id);
    let functions = all.into_iter().map(|functions| {
        let known = functions.into_iter().filter_map(|(function, totals)| match function {
            FunctionId::Known(number) if number != HANDLER => Some((number, totals.instructions)),
            _ => None,
        });
        known.filter(|(_, instructions)| *instructions > 0).collect()
    });
    ids.zip(functions).collect()
}

/// Two tasks wait at the same address: only the variable shows which one continues.
#[test]
fn a_variable_names_the_task_that_continues() {
    let mut program = Program::default();
    program.enter(0x100, 1);
    program.run();
    // The first task is created and started: the store is before the handler.
    program.store(Some(0xa));
    program.handler(0x108, None, (0x200, 2, true));
    program.run();
    program.handler(0x210, Some(Some(0xb)), (0x300, 3, true));
    program.run();
    // Both wait at 0x210: the handler returns to where it interrupted, and another task runs.
    program.handler(0x210, Some(Some(0xa)), (0x210, 2, false));
    program.run();
    program.handler(0x210, Some(Some(0xb)), (0x210, 3, false));
    program.run();
    // The same task continues.
    program.handler(0x214, Some(Some(0xb)), (0x214, 3, false));
    program.handler(0x214, None, (0x214, 3, false));
    program.run();
    let found = program.threads();
    let ids: Vec<_> = found.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [None, Some(0xa), Some(0xb)]);
    assert_eq!(found[0].1, [(1, 30)]);
    assert_eq!(found[1].1, [(2, 40)]);
    assert_eq!(found[2].1, [(3, 60)]);
}

#[test]
fn a_control_block_that_is_used_again_is_another_task() {
    let mut program = Program::default();
    program.enter(0x100, 1);
    program.store(Some(0xa));
    program.handler(0x108, None, (0x200, 2, true));
    program.run();
    program.handler(0x210, Some(Some(0xb)), (0x300, 3, true));
    program.run();
    program.handler(0x310, Some(Some(0xa)), (0x400, 4, true));
    program.run();
    let found = program.threads();
    let ids: Vec<_> = found.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [None, Some(0xa), Some(0xb), Some(0xa)]);
    assert_eq!(found[1].1, [(2, 20)]);
    assert_eq!(found[3].1, [(4, 10)]);
}

/// Where stores were lost, the task is not known until the next one.
#[test]
fn an_unknown_task_is_no_task() {
    for lost in [false, true] {
        let mut program = Program::default();
        program.enter(0x100, 1);
        program.store(Some(0xa));
        program.handler(0x108, None, (0x200, 2, true));
        program.run();
        if lost {
            program.add(Transfer { kind: Kind::Lost, ..empty(0, 0) });
            program.enter(0x204, 2);
        } else {
            program.store(None);
        }
        program.run();
        program.handler(0x208, Some(Some(0xb)), (0x300, 3, true));
        program.run();
        let found = program.threads();
        let of = |id: Option<u64>, function: u32| {
            let all = found.iter().filter(|(own, _)| *own == id).flat_map(|(_, all)| all);
            all.filter(|(own, _)| *own == function).map(|(_, count)| *count).sum::<u64>()
        };
        // The store or the loss is behind ten instructions of the task.
        assert_eq!((of(Some(0xa), 2), of(Some(0xb), 3)), (20, 10), "lost {lost}: {found:?}");
        assert!(of(None, 2) > 0, "lost {lost}: {found:?}");
    }
}

/// Context IDs are written in the handler, too: what is left of it is not of the next task.
#[test]
fn a_context_id_takes_effect_where_the_handler_returns() {
    let mut program = Program::default();
    let context =
        |id: u64| Transfer { kind: Kind::Task, ret: Some(id), entry: true, ..empty(0, 0) };
    program.add(Transfer { instructions: 0, ..context(0) });
    program.enter(0x100, 1);
    program.handler(0x108, None, (0x200, 2, true));
    program.run();
    for (id, ret, target) in [
        (0xb, 0x210, (0x300, 3, true)),
        (0xa, 0x310, (0x210, 2, false)),
        (0xb, 0x214, (0x310, 3, false)),
    ] {
        program.handler(ret, None, target);
        let end = program.0.len() - 1;
        program.0.insert(end, Transfer { instructions: 10, at: end as u64, ..context(id) });
        program.run();
    }
    let found = program.threads();
    let ids: Vec<_> = found.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [Some(0), None, Some(0xb), Some(0xa)]);
    assert_eq!(found[2].1, [(3, 30)]);
    assert_eq!(found[3].1, [(2, 20)]);
}

#[test]
fn frames_of_some_threads() {
    let mut program = Program::default();
    program.enter(0x100, 1);
    program.store(Some(0xa));
    program.handler(0x108, None, (0x200, 2, true));
    program.run();
    program.handler(0x210, Some(Some(0xb)), (0x300, 3, true));
    program.run();
    let mut stacks = Stacks::new(1, OnlyThreads::new(Paths::new(), BTreeSet::from([1])));
    stacks.transfers(&program.0);
    stacks.finish();
    let found = by_function(&stacks.visitor.visitor);
    assert_eq!(found[0].1, []);
    assert_eq!(found[1].1, [(2, 20)]);
    assert_eq!(found[2].1, []);
}

#[test]
fn texts_of_threads() {
    let tasks = Tasks::default();
    let (sources, threads) = (["cpu".to_owned()], [(0, None), (0, None), (0, None), (0, Some(5))]);
    let found = tasks.threads(&sources, threads, |n| (n == 1).then(|| "f".to_owned()));
    let texts: Vec<&str> = found.iter().map(|thread| thread.text.as_str()).collect();
    assert_eq!(texts, ["cpu", "cpu task 2 f", "cpu task 3", "cpu thread 5"]);
    let named = |pattern: &str| -> Vec<usize> {
        let all = found.iter().enumerate();
        all.filter(|(_, thread)| thread.is_named(pattern)).map(|(n, _)| n).collect()
    };
    assert_eq!(named("f"), [1]);
    assert_eq!(named("3"), [2]);
    assert_eq!(named("5"), [3]);
    assert_eq!(named("0x5"), [3]);
    assert_eq!(named("cpu"), [0]);
    assert_eq!(named("1"), [] as [usize; 0]);
}
