//! The order in which tasks of FreeRTOS execute, beside what a hook at each switch recorded. Tasks
//! wait at the same addresses of the kernel, and are named by their outermost function.
//!
//! The sources of FreeRTOS are where `TRACEWRIGHT_FREERTOS` names them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;
use tracewright_testing::{skip, tool, tool_since};

use super::{good, words};
use crate::common::{Folder, args, tracewright};

const FILES: [(&str, &str); 5] = [
    ("FreeRTOSConfig.h", include_str!("program/freertos/switches/FreeRTOSConfig.h")),
    ("program.c", include_str!("program/freertos/switches/program.c")),
    ("program.ld", include_str!("program/freertos/program.ld")),
    ("stdlib.h", "#include <stddef.h>\n"),
    (
        "string.h",
        "#include <stddef.h>\nvoid *memset(void *, int, size_t);\n\
         void *memcpy(void *, const void *, size_t);\nsize_t strlen(const char *);\n",
    ),
];

/// Compiles the program with FreeRTOS for a Cortex-M3.
pub fn compile(folder: &Path, kernel: &Path, level: &str) -> Option<PathBuf> {
    compile_for(folder, kernel, level, M3)
}

/// A port of FreeRTOS, and the options of its processor.
pub type Port = (&'static str, &'static str);

pub const M3: Port = ("ARM_CM3", "-mcpu=cortex-m3");
/// With floating-point registers, which are a part of each task.
pub const M7: Port = ("ARM_CM7/r0p1", "-mcpu=cortex-m7 -mfpu=fpv5-sp-d16 -mfloat-abi=hard");

/// Compiles the program with a port of FreeRTOS.
pub fn compile_for(folder: &Path, kernel: &Path, level: &str, port: Port) -> Option<PathBuf> {
    let (port, processor) = port;
    let gcc = tool(&[("arm-none-eabi-gcc", "gcc-arm-none-eabi")])?;
    for (name, text) in FILES {
        fs::write(folder.join(name), text).expect("a source");
    }
    let port = kernel.join("portable/GCC").join(port);
    let mut command = Command::new(gcc);
    let options = "-mthumb -g -ffreestanding -nostdlib -fno-builtin -T program.ld program.c -o \
                   rtos.elf -I.";
    command.arg(level).args(words(processor)).args(words(options));
    command.arg("-I").arg(kernel.join("include")).arg("-I").arg(&port);
    command.args(["tasks.c", "queue.c", "list.c", "timers.c"].map(|name| kernel.join(name)));
    command.arg(port.join("port.c")).arg(kernel.join("portable/MemMang/heap_4.c")).arg("-lgcc");
    good(command.current_dir(folder));
    Some(folder.join("rtos.elf"))
}

/// Runs the program. Returns QEMU's log, and the tasks in order.
fn execute(elf: &Path) -> Option<(PathBuf, Vec<String>)> {
    let qemu = tool_since(&[("qemu-system-arm", "qemu-system-arm")], (7, 2))?;
    let (log, hook) = (elf.with_extension("log"), elf.with_extension("hook"));
    let options = "-M mps2-an385 -display none -monitor none -semihosting -icount shift=6 \
                   -singlestep -d exec,nochain,int -D";
    let mut command = Command::new(qemu);
    command.args(words(options)).arg(&log).arg("-kernel").arg(elf);
    good(command.arg("-serial").arg(format!("file:{}", hook.display())));
    let text = fs::read_to_string(hook).expect("the switches");
    let name = |line: &str| function_of(line.split('\t').next().unwrap_or_default());
    let mut tasks: Vec<String> = text.lines().map(name).collect();
    tasks.dedup();
    Some((log, tasks))
}

/// How often an exception follows the end of PendSV, before the task executes an instruction.
fn tail_chained(log: &Path) -> usize {
    let text = fs::read_to_string(log).expect("a log");
    let (mut count, mut returned, mut switches) = (0, false, false);
    for line in text.lines() {
        if line.starts_with("Trace ") {
            returned = false;
        } else if line.starts_with("Exception return") {
            returned = switches;
        } else if line.starts_with("...taking pending") {
            count += usize::from(std::mem::take(&mut returned));
            switches = line.ends_with(" 14");
        }
    }
    count
}

/// The function of the task with a name.
pub fn function_of(name: &str) -> String {
    match name {
        "IDLE" => "prvIdleTask".to_owned(),
        "Tmr Svc" => "prvTimerTask".to_owned(),
        name => format!("{name}_task"),
    }
}

/// The outermost functions of the tasks in the order in which they execute.
fn order(snapshot: &Path) -> Vec<String> {
    let output = tracewright(&args("calls --format json", &[snapshot]));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let lines = output.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let mut functions: HashMap<String, String> = HashMap::new();
    let mut order: Vec<String> = Vec::new();
    for line in lines.filter(|line| line["ending"] != "trace-end") {
        let Some(thread) = line["thread"].as_str() else { continue };
        if line["type"] == "begin" && line["depth"] == 0 {
            let function = line["function"].as_str().expect("a function");
            functions.entry(thread.to_owned()).or_insert(function.to_owned());
        }
        if order.last().is_none_or(|last| last != thread) {
            order.push(thread.to_owned());
        }
    }
    // The first thread starts the system.
    let named = order.iter().skip(1).map(|thread| functions.get(thread).cloned());
    named.map(Option::unwrap_or_default).collect()
}

#[test]
fn tasks_execute_in_the_order_of_the_hook() {
    let Some(kernel) = env::var_os("TRACEWRIGHT_FREERTOS").map(PathBuf::from) else {
        return skip("TRACEWRIGHT_FREERTOS does not name the sources of FreeRTOS");
    };
    for (level, name) in [("-O0", "freertos-order"), ("-O2", "freertos-order-optimised")] {
        let folder = Folder::new(name);
        let path = folder.path("");
        let Some(elf) = compile(&path, &kernel, level) else { return };
        let Some((log, tasks)) = execute(&elf) else { return };
        assert!(tasks.len() > 100, "{} switches", tasks.len());
        let snapshot = path.join("snapshot");
        let mut all = args("encode --protocol ETM4 --core Cortex-M3 --log", &[&log]);
        all.extend(args("--image", &[&elf]));
        all.extend(args("--output", &[&snapshot]));
        let output = tracewright(&all);
        assert_eq!(output.code, Some(0), "{}", output.err);
        let found = order(&snapshot);
        // A task that executes no instruction before the next exception is not in the trace. The
        // task before it may be the one after it.
        let unseen = tail_chained(&log);
        let mut left = tasks.iter();
        let in_order = found.iter().all(|task| left.any(|own| own == task));
        let missing = tasks.len().saturating_sub(found.len());
        assert!(
            in_order && missing <= 2 * unseen && missing * 10 < tasks.len(),
            "{level}: {unseen} unseen, found {found:?}\nwant {tasks:?}"
        );
    }
}
