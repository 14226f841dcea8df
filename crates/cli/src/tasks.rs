//! Tasks of operating systems: what `--tasks`, `--task` and `--switch-at` select.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tracewright::analysis::Code;
use tracewright::analysis::tasks::{TaskFile, TaskThread, Tasks, ThreadList, ThreadRuns};
use tracewright::capture::plain::line;
use tracewright::index::Running;
use tracewright::joined::JoinedBuffers;

use crate::args::{RunningArgs, SwitchArgs};
use crate::dwt_stores;
use crate::fail::Fail;
use crate::index::Selected;
use crate::input::{Input, Job};
use crate::inputs::read_text;
use crate::message;
use crate::recordings;
use crate::run::{RunOptions, Stop};
use crate::stacks;

/// The tasks of a buffer.
pub fn of(switches: &SwitchArgs, job: &Job<'_>, code: &Code, path: &Path) -> Result<Tasks, Fail> {
    let files = files(&switches.tasks)?;
    let image = job.sources.first().map(|source| source.program.start());
    let tasks = Tasks::of_capture(job.capture(), image.as_ref(), code, &files);
    let tasks = tasks.with_switches(given(switches, code, path)?);
    Ok(match dwt_stores::of(job, code, &tasks)? {
        Some(stores) => tasks.with_stores(stores),
        None => tasks,
    })
}

/// As [`of`]: of a buffer with ITMs and STMs alone, events show the tasks.
pub fn of_any(
    switches: &SwitchArgs,
    job: &Job<'_>,
    code: &Code,
    path: &Path,
) -> Result<Tasks, Fail> {
    let tasks = of(switches, job, code, path)?;
    Ok(if recordings::only_of(job) { tasks.of_events() } else { tasks })
}

/// Prints why no event of an ITM or STM names a task, where none does.
pub fn note_no_events(input: &Input, switches: &SwitchArgs, path: &Path) -> Result<(), Fail> {
    let Some(&buffer) = input.buffers.first() else { return Ok(()) };
    let job = input.job(buffer);
    let tasks = of(switches, &job, &job.code(), path)?;
    message::line(&match tasks.watched().first() {
        _ if tasks.running_events().is_known() => {
            "note: the trace has no event that names a running task".to_owned()
        }
        None => "note: it is not known which events name the running task: give the program of a \
                 known operating system with --image, or [events] in a file of --tasks"
            .to_owned(),
        Some(watched) => format!(
            "note: the variable of the running task is at {:#x}, and no comparator is known to have \
             this address: give it with --config DWT_COMPn={:#x}, or [events] in a file of --tasks",
            watched.address, watched.address
        ),
    });
    Ok(())
}

/// The tasks of buffers that are joined by thread.
pub fn of_joined(
    switches: &SwitchArgs,
    input: &Input,
    code: &Code,
    path: &Path,
) -> Result<Tasks, Fail> {
    let tasks = Tasks::of_capture(input.capture(), None, code, &files(&switches.tasks)?);
    Ok(tasks.with_switches(given(switches, code, path)?))
}

/// The files of `--tasks`.
pub fn files(paths: &[PathBuf]) -> Result<Vec<TaskFile>, Fail> {
    let read = |path: &PathBuf| {
        let file = TaskFile::read(&read_text(path)?);
        file.map_err(|why| Fail::input(path, &why.to_string()))
    };
    paths.iter().map(read).collect()
}

/// The functions of `--switch-at`.
fn given(switches: &SwitchArgs, code: &Code, path: &Path) -> Result<Vec<u32>, Fail> {
    let mut numbers: Vec<u32> = Vec::new();
    for name in &switches.switch_at {
        let before = numbers.len();
        numbers.extend(code.named(name));
        if numbers.len() == before {
            let what = format!("--switch-at: no program of the capture has a function `{name}`");
            return Err(Fail::input(path, &what));
        }
    }
    Ok(numbers)
}

/// The tasks that `--task` names, and all that there are.
#[derive(Debug, Default)]
pub struct Chosen {
    wanted: Vec<String>,
    known: Mutex<Known>,
}

/// Tasks of the trace.
#[derive(Debug, Default)]
struct Known {
    /// The texts of all tasks.
    all: BTreeSet<String>,
    /// The names of the command line that are of one.
    found: BTreeSet<String>,
}

impl Chosen {
    pub fn new(wanted: &[String]) -> Chosen {
        Chosen { wanted: wanted.to_vec(), known: Mutex::default() }
    }

    /// Whether all tasks are wanted.
    pub fn is_all(&self) -> bool {
        self.wanted.is_empty()
    }

    /// The numbers of the threads that are wanted.
    pub fn threads(&self, all: &[TaskThread]) -> BTreeSet<usize> {
        let mut chosen = BTreeSet::new();
        let Ok(mut known) = self.known.lock() else { return chosen };
        for (number, thread) in all.iter().enumerate() {
            known.all.insert(thread.text.clone());
            for name in self.wanted.iter().filter(|name| thread.is_named(name)) {
                known.found.insert(name.clone());
                chosen.insert(number);
            }
        }
        chosen
    }

    /// Fails for the first name that is of no task.
    pub fn check(&self) -> Result<(), Fail> {
        match self.unknown() {
            None => Ok(()),
            Some((name, why)) => Err(Fail::option("--task", &line(&name), &why)),
        }
    }

    /// The first name that is of no task, and what tasks there are.
    pub fn unknown(&self) -> Option<(String, String)> {
        let known = self.known.lock().ok()?;
        let name = self.wanted.iter().find(|name| !known.found.contains(*name))?;
        let list: Vec<_> = known.all.iter().take(MAX_LISTED).map(|text| line(text)).collect();
        let list = list.join(", ");
        let why = match known.all.len() {
            0 => "the trace shows no task".to_owned(),
            1 => format!("no task has this name; the trace shows one, {list}"),
            count if count > MAX_LISTED => {
                format!("no task has this name; the first {MAX_LISTED} of {count}: {list}")
            }
            _ => format!("no task has this name; the trace has {list}"),
        };
        Some((name.clone(), why))
    }
}

/// The most tasks that a message lists.
const MAX_LISTED: usize = 40;

/// The threads of a buffer, which is decoded for it.
pub fn threads(
    job: &Job<'_>,
    options: &RunOptions<'_>,
    code: &Code,
    tasks: &Tasks,
) -> Result<Vec<TaskThread>, Fail> {
    let list = stacks::run(job, options, code, tasks, ThreadList::new(tasks), |_| true)?.0;
    Ok(listed(job, code, tasks, &list))
}

/// The numbers of the threads that are wanted, and all threads.
pub type Selection = (BTreeSet<usize>, Vec<TaskThread>);

/// The threads of a list.
pub fn listed(job: &Job<'_>, code: &Code, tasks: &Tasks, list: &ThreadList) -> Vec<TaskThread> {
    job.task_threads(tasks, list.threads(), (code, &list.outermost()))
}

/// The threads of a buffer that `chosen` has: `None` for all of them. The buffer is decoded once
/// more where it has not all.
pub fn selected(
    chosen: &Chosen,
    job: &Job<'_>,
    options: &RunOptions<'_>,
    code: &Code,
    tasks: &Tasks,
) -> Result<Option<Selection>, Fail> {
    if chosen.is_all() {
        return Ok(None);
    }
    refuse_pipe(job)?;
    let all = threads(job, options, code, tasks)?;
    Ok(Some((chosen.threads(&all), all)))
}

/// Refuses `--task` where buffers are joined by thread, for an output that has all of them.
pub fn refuse_joined(chosen: &Chosen) -> Result<(), Fail> {
    match chosen.wanted.first() {
        None => Ok(()),
        Some(name) => {
            let why = "the buffers of a perf.data file are joined by thread: `functions` and \
                       `timeline` select one of its threads";
            Err(Fail::option("--task", &line(name), why))
        }
    }
}

fn refuse_pipe(job: &Job<'_>) -> Result<(), Fail> {
    if job.buffer.is_piped() {
        let why = "the trace is read twice, and a pipe can be read only once";
        return Err(Fail::option("--task", "", why));
    }
    Ok(())
}

/// The tasks of `--task` of a verb that shows what is executed while they run.
#[derive(Debug)]
pub struct WhileRunning<'a> {
    chosen: Chosen,
    switches: &'a SwitchArgs,
    path: &'a Path,
}

impl<'a> WhileRunning<'a> {
    /// Those of `args`; `None` where everything is shown. `path` is that of `input`.
    pub fn new(
        args: &'a RunningArgs,
        input: &Input,
        committed: bool,
        path: &'a Path,
    ) -> Result<Option<WhileRunning<'a>>, Fail> {
        let RunningArgs { task, switches } = args;
        if task.is_empty() {
            let unused = |option, value: &str| {
                let why = "it changes what --task selects; add --task NAME";
                Err(Fail::option(option, &line(value), why))
            };
            return match (switches.tasks.first(), switches.switch_at.first()) {
                (Some(file), _) => unused("--tasks", &file.to_string_lossy()),
                (_, Some(name)) => unused("--switch-at", name),
                _ => Ok(None),
            };
        }
        WhileRunning::of(task, switches, input, committed, path)
    }

    /// The tasks that `task` names; `None` where it names none.
    pub fn of(
        task: &[String],
        switches: &'a SwitchArgs,
        input: &Input,
        committed: bool,
        path: &'a Path,
    ) -> Result<Option<WhileRunning<'a>>, Fail> {
        let Some(first) = task.first() else { return Ok(None) };
        let refuse = |why| Err(Fail::option("--task", &line(first), why));
        if committed {
            return refuse("--committed needs the whole trace");
        }
        if JoinedBuffers::new(input.capture(), &input.buffers).is_some() {
            return refuse(
                "the buffers of a perf.data file are joined by thread: `functions` and `timeline` \
                 select one of its threads",
            );
        }
        Ok(Some(WhileRunning { chosen: Chosen::new(task), switches, path }))
    }

    /// When they run in a buffer, which is decoded for it.
    pub fn running(&self, job: &Job<'_>, options: &RunOptions<'_>) -> Result<Running, Fail> {
        Ok(self.runs(job, options)?.0)
    }

    /// The same, with the numbers of their threads in all of the buffer.
    fn runs(
        &self,
        job: &Job<'_>,
        options: &RunOptions<'_>,
    ) -> Result<(Running, BTreeSet<usize>), Fail> {
        refuse_pipe(job)?;
        let code = job.code();
        let tasks = of(self.switches, job, &code, self.path)?;
        let jobs = options.jobs.clone();
        let (selected, parts, stop) = (None, None, Stop::default());
        let whole = RunOptions { jobs, selected, parts, stop, ..*options };
        let visitor = (ThreadList::new(&tasks), ThreadRuns::default());
        let ((list, runs), ..) = stacks::run(job, &whole, &code, &tasks, visitor, |_| true)?;
        let chosen = self.chosen.threads(&listed(job, &code, &tasks, &list));
        Ok((Running::new(&runs, |thread| chosen.contains(&thread)), chosen))
    }

    /// The part of a buffer in which they run: of the part `selected`, or of all of it.
    pub fn part(
        &self,
        job: &Job<'_>,
        options: &RunOptions<'_>,
        selected: Option<&Selected>,
    ) -> Result<Selected, Fail> {
        let window = selected.map(|selected| selected.window.clone()).unwrap_or_default();
        Ok(Selected { window, running: Some(self.running(job, options)?), index: None })
    }

    /// As [`part`](Self::part), for what counts what follows what: each run stands by itself.
    pub fn counted(
        &self,
        job: &Job<'_>,
        options: &RunOptions<'_>,
        selected: Option<&Selected>,
    ) -> Result<Selected, Fail> {
        Ok(self.counted_of(job, options, selected)?.0)
    }

    /// The same, with the numbers of the threads in all of the buffer.
    pub fn counted_of(
        &self,
        job: &Job<'_>,
        options: &RunOptions<'_>,
        selected: Option<&Selected>,
    ) -> Result<(Selected, BTreeSet<usize>), Fail> {
        let window = selected.map(|selected| selected.window.clone()).unwrap_or_default();
        let (running, threads) = self.runs(job, options)?;
        Ok((Selected { window, running: Some(running.separate()), index: None }, threads))
    }

    /// The tasks that are chosen.
    pub fn chosen(&self) -> &Chosen {
        &self.chosen
    }

    /// Fails for the first name that is of no task.
    pub fn check(&self) -> Result<(), Fail> {
        self.chosen.check()
    }
}
