//! Remarks on one source.

use tracewright_base::remedy::{
    ASSUME_SYNCED, BINARY, BYTES, IMAGE, MAX_EXPANSION, PARAMS, REGISTER, SYMFS,
};
use tracewright_base::{Fault, Inconsistency};
use tracewright_capture::{Form, Kind};
use tracewright_decode::Counts;
use tracewright_decode::detect::fill::filling;
use tracewright_protocols::TraceForm;
use tracewright_protocols::registry::{AnyConfig, AnyProtocol};

use super::{Decoded, Remark, profiles, remark};
use crate::sources::Source;

impl Decoded<'_> {
    /// Adds the remarks on a source with the counts `c`. `reframe`: the bytes decode with another
    /// framing, which explains what is undecodable.
    pub(super) fn source(
        &self,
        source: &Source,
        c: &Counts,
        reframe: bool,
        remarks: &mut Vec<Remark>,
    ) {
        let name = &source.name;
        if c.bytes() == 0 {
            return;
        }
        if c.instructions | c.unknown_instructions == 0
            && let Some((start, 0)) = self.filling()
        {
            remarks.push(remark(
                format!("{name}: all {} bytes are {}", start.len(), filling(&start, 0)),
                "the memory was cleared or filled, and no trace was written to it: check that \
                 tracing was enabled, and which memory was read",
            ));
            return;
        }
        if c.packets == 0 && !reframe {
            remarks.push(never_synchronised(source, c));
            remarks.extend(profiles::remark(self));
            return;
        }
        if let Some((at, fault)) = c.first_undecodable.filter(|_| !reframe) {
            remarks.push(undecodable(name, c.damaged(), at, fault));
        }
        if c.is_synchronised_late() && !reframe {
            remarks.push(unsynchronised(source, c));
        }
        if c.unsynchronised.saturating_add(c.undecodable).saturating_mul(4) > c.bytes() && !reframe
        {
            remarks.extend(profiles::remark(self));
        }
        if let Some(address) = c.first_no_code {
            remarks.push(self.no_code(source, c, address));
        } else if !reframe {
            remarks.extend(no_instructions(source, c));
        }
        if c.zero_timestamps > 0 && self.capture.kind == Kind::Perf {
            let zero = c.zero_timestamps;
            remarks.push(remark(
                format!(
                    "{name}: {zero} timestamps are 0, so that its order among other CPUs is not known"
                ),
                "the timestamp generator of the trace was not running: the firmware enables it",
            ));
        }
        if let Some((at, inconsistency)) = c.first_inconsistency {
            let what = match c.inconsistencies {
                1 => format!("1 inconsistency, at offset {at}: {inconsistency}"),
                n => format!("{n} inconsistencies, the first at offset {at}: {inconsistency}"),
            };
            let help = self.contradicted(source, c, inconsistency);
            remarks.push(remark(format!("{name}: {what}"), help));
        }
        if let Some(at) = c.first_expansion_limit {
            remarks.push(expanded(name, c, self.options.max_expansion, at));
        }
    }

    /// What to do about an inconsistency.
    fn contradicted(
        &self,
        source: &Source,
        c: &Counts,
        inconsistency: Inconsistency,
    ) -> &'static str {
        let of_exception = inconsistency == Inconsistency::AddressNotReached
            && c.inconsistencies <= c.exceptions
            && is_microcontroller(&source.config);
        if of_exception {
            return "the return address of an exception may be inside an instruction that it \
                    interrupted and that goes on later, such as LDM (docs/etmv4-ete.md)";
        }
        let of_program = matches!(
            inconsistency,
            Inconsistency::AddressNotReached
                | Inconsistency::UnconditionalNotTaken
                | Inconsistency::InvalidOpcode
        );
        let linux = self.capture.linux.as_ref().filter(|linux| !linux.kcore && of_program);
        let modules = linux.iter().flat_map(|linux| linux.spaces.modules());
        match modules.into_iter().any(|module| module.kernel && module.found.is_some()) {
            true => {
                "check that the files are those that were executed; the kernel replaces \
                 instructions of its file when it starts and while it runs (alternatives, ftrace, \
                 static keys): `perf record --kcore` records its memory"
            }
            false => {
                "check that the image is the program that was executed, and check the registers"
            }
        }
    }

    fn no_code(&self, source: &Source, c: &Counts, address: u64) -> Remark {
        let name = &source.name;
        let times = if c.no_code == 1 { "once".into() } else { format!("{} times", c.no_code) };
        let images = self.capture.memory.iter().filter(|dump| dump.bytes.is_some());
        let mut images: Vec<_> = images
            .map(|dump| match (dump.form, dump.last()) {
                (Form::Raw, Some(last)) => format!("{} {:#x}..={last:#x}", dump.name, dump.address),
                _ => dump.name.clone(),
            })
            .collect();
        // Several cores may list the same memory.
        images.dedup();
        let linux = self.capture.linux.as_ref();
        let there = match images.len() {
            0 if linux.is_some() => "`info` lists the files that were not found".into(),
            0 => "no image is configured".into(),
            1..=4 => format!("the images are {}", images.join(", ")),
            n => format!("`info` lists the {n} images"),
        };
        let mut planned = self.plan.sources.iter().zip(self.sources);
        let planned = planned.find(|(_, its)| std::ptr::eq(*its, source));
        let host = linux.zip(planned).and_then(|(linux, (p, _))| linux.hosts.get(p.source));
        let space = c.first_no_code_space;
        let missing = format!("{name}: program memory is missing {times}, first at {address:#x}");
        if host.is_some_and(|host| host.excludes(space)) {
            return remark(
                format!(
                    "{missing} in {space} memory, which is not that of the recorded system: it is of \
                     a guest, of firmware or of the Secure world"
                ),
                format!("add its program with {IMAGE} FILE (ELF) or {IMAGE} FILE@ADDRESS"),
            );
        }
        let is_kernel = address >> 63 != 0;
        let users = linux.map(|linux| linux.spaces.guest_users()).unwrap_or_default();
        if let Some(first) = users.first().filter(|_| space.el() == Some(0)) {
            return remark(
                format!(
                    "{missing} in {space} memory, which is that of a guest where thread {first} (a \
                     virtual CPU) executes it after EL1: which processes a guest has is not recorded"
                ),
                format!("add their programs with {IMAGE} FILE (ELF) or {IMAGE} FILE@ADDRESS"),
            );
        }
        let unknown = linux.map(|linux| linux.spaces.unknown_threads()).unwrap_or_default();
        if let Some(first) = unknown.first().filter(|_| !is_kernel) {
            let others = match unknown.len() {
                1 => String::new(),
                n => format!(" and {} others", n - 1),
            };
            return remark(
                format!(
                    "{missing}; the trace has the context ID {first:#x} (thread {first}){others}, \
                     and no record of the capture is of this thread"
                ),
                format!(
                    "record where threads have the numbers of the kernel, not in a container (PID \
                 namespace); {IMAGE} FILE is the code of all threads"
                ),
            );
        }
        remark(
            format!("{missing}; {there}"),
            match linux.is_some() {
                true => {
                    format!(
                        "add the files of the traced machine with {SYMFS} FOLDER or {BINARY} FILE, and \
                     code that is in no file with {IMAGE} FILE@ADDRESS"
                    )
                }
                false => format!("add the program with {IMAGE} FILE (ELF) or {IMAGE} FILE@ADDRESS"),
            },
        )
    }
}

fn never_synchronised(source: &Source, c: &Counts) -> Remark {
    let (name, bytes) = (&source.name, c.bytes());
    let what = format!("{name}: no synchronisation in {bytes} bytes, so no packet can be decoded");
    let help = match source.config.protocol().form() {
        _ if source.config.assumes_synced().is_some() => {
            return remark(
                what,
                format!(
                    "if the capture begins with a packet, try {ASSUME_SYNCED}; otherwise check the \
                     framing, and enable synchronisation packets (ITM_TCR.SYNCENA)"
                ),
            );
        }
        TraceForm::Messages => {
            "check the parameters of the trace unit: `profile`, `framing`, `source_width` and \
             `timestamp_bytes` describe what precedes each packet"
        }
        _ => {
            "check protocol and framing; if they are right, capture more, or program the unit to \
             synchronise more often"
        }
    };
    remark(what, help)
}

fn undecodable(name: &str, bad: u64, at: u64, fault: Fault) -> Remark {
    let what = match bad {
        1 => format!("1 undecodable byte, at offset {at} ({fault})"),
        bad => format!("{bad} undecodable bytes, the first at offset {at} ({fault})"),
    };
    remark(
        format!("{name}: {what}"),
        format!(
            "list them with `packets {BYTES}`; if there are many, check the registers and the framing"
        ),
    )
}

fn unsynchronised(source: &Source, c: &Counts) -> Remark {
    let (name, lost, all) = (&source.name, c.unsynchronised, c.bytes());
    remark(
        format!("{name}: {lost} of {all} bytes come before a synchronisation and are not decoded"),
        match source.config.protocol().form() {
            TraceForm::Messages => format!(
                "check profile, version and widths, which `info` lists; set them with {PARAMS} FILE \
                 or {REGISTER} profile=NAME"
            ),
            _ => "check protocol, framing and the unit's registers".to_owned(),
        },
    )
}

/// The remark on packets of an instruction trace without instructions.
fn no_instructions(source: &Source, c: &Counts) -> Option<Remark> {
    let protocol = source.config.protocol();
    let instructions = protocol.traces_instructions() && protocol != AnyProtocol::Etmv4d;
    if !instructions || c.packets == 0 || c.instructions | c.unknown_instructions > 0 {
        return None;
    }
    let speculative = match &source.config {
        AnyConfig::Etmv4(config) | AnyConfig::Ete(config) => config.max_speculation() > 0,
        _ => false,
    };
    Some(remark(
        format!("{}: {} packets, but no instructions", source.name, c.packets),
        match speculative {
            true => {
                "no element is committed, the trace is filtered, or it ends before an address: list \
                 it with `packets`"
            }
            false => "the trace is filtered, or ends before an address: list it with `packets`",
        },
    ))
}

fn expanded(name: &str, c: &Counts, limit: u32, at: u64) -> Remark {
    let times = match c.expansion_limits {
        1 => "1 time".to_owned(),
        n => format!("{n} times"),
    };
    remark(
        format!(
            "{name}: the limit of {limit} instructions for each byte of a packet was reached \
             {times}, first at offset {at}"
        ),
        format!(
            "if the trace is right, the program has long straight code or long loops there: raise the \
             limit with {MAX_EXPANSION} N"
        ),
    )
}

/// Whether the configuration is that of the trace unit of a core of the M profile.
fn is_microcontroller(config: &AnyConfig) -> bool {
    match config {
        AnyConfig::Etmv4(config) => config.microcontroller(),
        _ => false,
    }
}
