//! Starts gdb with the program and the trace of a capture.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use signal_hook::consts::SIGINT;
use signal_hook::flag;
use tracewright::capture::{Dump, Form};
use tracewright_gdb::UNWINDER;

use super::open;
use crate::args::GdbArgs;
use crate::arguments;
use crate::fail::Fail;
use crate::input::Input;
use crate::message;

/// Programs that are gdb for several architectures, or for the one of this machine.
const PROGRAMS: [&str; 3] = ["gdb-multiarch", "arm-none-eabi-gdb", "gdb"];

/// What gdb prints without values of registers: `finish` prints a value of a function that it does
/// not know.
const SETTINGS: [&str; 2] = ["set print finish off", "set print entry-values no"];

/// Commands of gdb. What it has cached of a position is not valid at another one.
const COMMANDS: &str = "\
define tw-goto
  if $argc == 1
    monitor goto $arg0
  end
  if $argc == 2
    monitor goto $arg0 $arg1
  end
  if $argc == 3
    monitor goto $arg0 $arg1 $arg2
  end
  if $argc == 4
    monitor goto $arg0 $arg1 $arg2 $arg3
  end
  if $argc == 0 || $argc > 4
    echo tw-goto start|end|instruction N|time T|element N|QUERY, of at most four words\\n
  end
  maintenance flush register-cache
  maintenance flush dcache
  set $tw_there = $tw_thread
  if $tw_there != $_thread
    info threads
    thread $tw_there
  else
    frame
  end
end
document tw-goto
Go to a place in the trace: start, end, instruction N, time T, element N, or the first result of a
query, such as last exception.
end
define tw-start
  tw-goto start
end
document tw-start
Go to the first instruction of the trace.
end
define tw-end
  tw-goto end
end
document tw-end
Go to the last instruction of the trace.
end
define tw-when
  monitor when
end
document tw-when
Where the trace is: instruction, element, time.
end
define tw-info
  monitor info
end
document tw-info
The trace, and what is known of it.
end
";

/// Runs the verb.
pub fn run(args: &GdbArgs) -> Result<bool, Fail> {
    let input = open(&args.shown.replay)?;
    let script = script(args.unwinder)
        .map_err(|error| Fail::text(&format!("no commands for gdb: {error}")))?;
    // gdb handles Ctrl-C, and this command ends with it.
    let _ = flag::register(SIGINT, Arc::default());
    let status = start(args, &input, &script);
    // Another program may have deleted it.
    let _ = fs::remove_file(&script);
    status
}

/// Starts gdb, and waits for its end.
fn start(args: &GdbArgs, input: &Input, script: &Path) -> Result<bool, Fail> {
    let own: Vec<&OsStr> = match &args.program {
        Some(program) => vec![program.as_os_str()],
        None => PROGRAMS.iter().map(OsStr::new).collect(),
    };
    for program in &own {
        let mut command = Command::new(program);
        add_arguments(&mut command, args, input, script);
        match command.status() {
            Ok(status) => return Ok(status.success()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let name = program.to_string_lossy();
                return Err(Fail::text(&format!("{name} cannot be started: {error}")));
            }
        }
    }
    let names: Vec<_> = own.iter().map(|name| name.to_string_lossy()).collect();
    Err(Fail::text(&format!(
        "no gdb is installed ({}); --gdb names one, and any gdb takes `target remote | tracewright \
         gdbserver ...`",
        names.join(", ")
    )))
}

fn add_arguments(command: &mut Command, args: &GdbArgs, input: &Input, script: &Path) {
    let mut execute = |text: String| {
        command.arg("-ex").arg(text);
    };
    for setting in SETTINGS {
        execute(setting.into());
    }
    let programs = programs(&input.capture().memory);
    for (n, (path, bias)) in programs.iter().enumerate() {
        match bias {
            0 if n == 0 => execute(format!("file {path}")),
            bias => execute(format!("add-symbol-file {path} -o {bias:#x}")),
        }
    }
    if programs.is_empty() {
        message::line(
            "note: the capture names no program file; add one with --image, or gdb shows addresses \
             only",
        );
    }
    // Sources may be beside the program, as those of the built-in examples are.
    let path = &input.path;
    let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
    if let Some(folder) = folder.and_then(|folder| std::path::absolute(folder).ok()) {
        command.arg("-d").arg(folder);
    }
    command.arg("-x").arg(script);
    command.arg("-ex").arg(format!("target remote | {}", server_line()));
    if args.unwinder {
        command.args(["-ex", "monitor stack off"]);
    }
    command.args(&args.arguments);
}

/// The program files, as arguments of commands of gdb, with their load bias. A file that the
/// capture has and `--image` names, too, is loaded once.
fn programs(memory: &[Dump]) -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64, &Dump)> = Vec::new();
    for dump in memory.iter().filter(|dump| dump.form == Form::Elf) {
        let Some(path) = plain(&dump.path) else { continue };
        let is_same = |(_, bias, other): &(String, u64, &Dump)| {
            let bytes = dump.bytes.as_deref().zip(other.bytes.as_deref());
            *bias == dump.address
                && (dump.path == other.path || bytes.is_some_and(|(own, of)| own == of))
        };
        if !all.iter().any(is_same) {
            all.push((path, dump.address, dump));
        }
    }
    all.into_iter().map(|(path, bias, _)| (path, bias)).collect()
}

/// A path as an argument of a command of gdb, which divides arguments at blanks.
fn plain(path: &Path) -> Option<String> {
    let path = std::path::absolute(path).ok().filter(|path| path.is_file())?;
    Some(format!("\"{}\"", path.to_str()?.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// The command line of the server: that of this command, with another verb.
fn server_line() -> String {
    let all: Vec<OsString> = arguments::all().to_vec();
    let mut words = vec![quoted(own_program(all.first()).as_os_str())];
    let (mut is_verb, mut is_program) = (true, false);
    for word in all.iter().skip(1).take_while(|word| *word != "--") {
        if std::mem::take(&mut is_program) || word.to_string_lossy().starts_with("--gdb=") {
            continue;
        }
        if word == "--unwinder" {
            continue;
        }
        if word == "--gdb" {
            is_program = true;
        } else if is_verb && word == "gdb" {
            is_verb = false;
            words.push("gdbserver".into());
        } else {
            words.push(quoted(word));
        }
    }
    words.join(" ")
}

/// This program. The package for Python is started by a script.
fn own_program(first: Option<&OsString>) -> PathBuf {
    let named = first.map(PathBuf::from).filter(|path| path.components().count() > 1);
    let named = named.filter(|path| path.is_file());
    let found = named.and_then(|path| std::path::absolute(path).ok());
    found.or_else(|| std::env::current_exe().ok()).unwrap_or_else(|| "tracewright".into())
}

/// A word for the shell that gdb starts.
fn quoted(word: &OsStr) -> String {
    format!("'{}'", word.to_string_lossy().replace('\'', "'\\''"))
}

/// A file with commands of gdb, which only the user can write.
fn script(unwinder: bool) -> io::Result<PathBuf> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let folder = std::env::temp_dir();
    let process = std::process::id();
    for n in 0..100 {
        let path = folder.join(format!("tracewright-{process}-{n}.gdb"));
        match options.open(&path) {
            Ok(mut file) => {
                file.write_all(COMMANDS.as_bytes())?;
                if unwinder {
                    write!(file, "python\n{UNWINDER}end\n")?;
                }
                return Ok(path);
            }
            // A name that is taken is another user's, or of a process before.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
