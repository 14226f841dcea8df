//! The processor time of a program.

use std::process::Command;

/// Processor seconds of a program: the shell's `time` has those of its children.
pub(crate) fn timed(command: &mut Command) -> Result<f64, String> {
    let mut shell = Command::new("bash");
    shell.args(["-c", "TIMEFORMAT='processor %U %S'; time \"$0\" \"$@\" >/dev/null 2>&1"]);
    shell.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let output = shell.output().map_err(|error| format!("bash: {error}"))?;
    let words = String::from_utf8_lossy(&output.stderr);
    let line = words.lines().rfind(|line| line.starts_with("processor ")).unwrap_or_default();
    let times = line.split_whitespace().skip(1).filter_map(|word| word.parse::<f64>().ok());
    let seconds: f64 = times.sum();
    if seconds > 0.0 { Ok(seconds) } else { Err(format!("no time of {command:?}: {words}")) }
}
