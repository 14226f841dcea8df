//! Tasks that an ORTI file describes: a variable of 16 bits with the number of the running task, as
//! implementations of OSEK have it, whose stores a DWT reports.

use std::fs;
use std::process::Command;

use serde_json::Value;
use tracewright_testing::tool;

use super::{good, words};
use crate::common::{Folder, args, tracewright};

const ORTI: &str = r#"
VERSION { KOIL = "2.1"; OSSEMANTICS = "ORTI", "2.1"; };
IMPLEMENTATION Own {
   OS {
      TOTRACE ENUM "unsigned short" [
         "NO_TASK" = 0xFFFF,
         "Control" = 0,
         "Logger" = 1
      ] RUNNINGTASK, "Running task";
   }, "OS";
   TASK { STRING vs_Type, "Type"; }, "Tasks";
};
OS Own { RUNNINGTASK = "active_task"; };
TASK Control { vs_Type = "BASIC"; };
TASK Logger { vs_Type = "BASIC"; };
"#;

#[test]
fn tasks_with_numbers_are_named() {
    let Some(gcc) = tool(&[("arm-none-eabi-gcc", "gcc-arm-none-eabi")]) else { return };
    let folder = Folder::new("orti");
    let (path, source) = (folder.path(""), folder.path("program.c"));
    let program = "volatile unsigned short active_task;\nvoid _start(void) { for (;;) {} }\n";
    fs::write(&source, program).unwrap();
    let elf = folder.path("program.elf");
    let mut command = Command::new(gcc);
    command.args(words("-mthumb -mcpu=cortex-m3 -nostdlib -Wl,-Tdata=0x20000000"));
    command.args(words("-Wl,--section-start=.bss=0x20000000 -o"));
    good(command.arg(&elf).arg(&source).current_dir(&path));
    let tasks = folder.path("own.orti");
    fs::write(&tasks, ORTI).unwrap();
    // PendSV is entered, names the task, and is left: each packet 10 cycles after the one before.
    let mut bytes = vec![0, 0, 0, 0, 0, 0x80];
    for task in [0_u16, 1, 0xffff, 0, 1] {
        let [low, high] = task.to_le_bytes();
        // Comparator 1 has seen a write of 2 bytes. (Armv7-M ARM, D4.3.4)
        for packet in
            [[0x0e, 14, 0x10], [0b1001_1110, low, high], [0x0e, 14, 0x20], [0x0e, 0, 0x30]]
        {
            bytes.extend(packet);
            bytes.extend([0xc0, 10]);
        }
    }
    let trace = folder.path("swo.bin");
    fs::write(&trace, bytes).unwrap();
    let run = |verb: &str| {
        let words = format!("{verb} --protocol ITM --config DWT_COMP1=0x20000000 --format json");
        let mut all = args(&words, &[&trace]);
        all.extend(args("--image", &[&elf]));
        all.extend(args("--tasks", &[&tasks]));
        let output = tracewright(&all);
        assert_eq!(output.code, Some(0), "{}", output.err);
        let lines = output.out.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        lines.collect::<Vec<Value>>()
    };
    let rows = run("timing --task-times");
    let mut found = Vec::new();
    for row in rows.iter().filter(|row| row["type"] == "timing") {
        let name = row["task"].as_str().unwrap_or_default();
        found.push((name, row["gross"]["count"].as_u64(), row["gross"]["sum"]["least"].as_u64()));
    }
    found.sort_unstable();
    assert_eq!(
        found.iter().filter(|row| row.1 > Some(0)).copied().collect::<Vec<_>>(),
        [
            ("Control", Some(2), Some(80)),
            ("Logger", Some(1), Some(40)),
            ("NO_TASK", Some(1), Some(40))
        ],
        "{found:?}"
    );
    // Task 0 is a task, and NO_TASK is none: the handlers in it are load, 30 of 40 cycles.
    let rows = run("timing --load 40");
    let busy: Vec<_> =
        rows.iter().filter(|row| row["type"] == "load").map(|row| &row["busy"]).collect();
    assert!(busy.iter().any(|own| own["most"].as_u64() < Some(40)), "{busy:?}");
    assert!(busy.iter().any(|own| own["least"].as_u64() == Some(40)), "{busy:?}");
}
