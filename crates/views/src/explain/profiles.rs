//! The profiles of RISC-V trace units with which a stream decodes.

use tracewright_base::remedy::{PARAMS, REGISTER};
use tracewright_decode::{Session, Tally};
use tracewright_protocols::etrace::Params;
use tracewright_protocols::etrace::config::{Profile, Version, units};
use tracewright_protocols::registry::AnyConfig;

use super::{Decoded, Remark};

/// Bytes at the start of a buffer that are decoded with other profiles.
const TRIAL: usize = 1 << 16;

/// The most profiles that are named.
const MAX_NAMED: usize = 3;

/// A kind of unit, and how its trial went: fewer is better.
struct Trial {
    profile: Profile,
    version: Version,
    rv64: bool,
    problems: u64,
}

impl Trial {
    /// The options of the command line.
    fn options(&self) -> String {
        let Trial { profile, version, rv64, .. } = self;
        let mut text = format!("{REGISTER} profile={profile}");
        if *version != profile.version() {
            text += &format!(" {REGISTER} version={version}");
        }
        if *rv64 != profile.is_wide() {
            text += &format!(" {REGISTER} xlen={}", if *rv64 { 64 } else { 32 });
        }
        text
    }
}

/// The remark on a stream of RISC-V messages most of whose bytes are not decoded: the profiles with
/// which they are. `None` if there are other sources, or sources of another protocol.
pub(crate) fn remark(decoded: &Decoded<'_>) -> Option<Remark> {
    let [source] = decoded.sources else { return None };
    let AnyConfig::Etrace(given) = &source.config else { return None };
    let buffer = decoded.capture.buffers.get(decoded.plan.buffer)?;
    let start = buffer.head(TRIAL);
    let run = |params: Params| -> Option<u64> {
        let mut plan = decoded.plan.clone();
        plan.sources.first_mut()?.config = AnyConfig::Etrace(params);
        let mut tally = Tally::default();
        let session = Session::new(decoded.capture, &plan, decoded.memory, decoded.options);
        session.ok()?.run([&*start], &mut tally);
        let counts = tally.of(0);
        let unread = counts.undecodable + counts.unsynchronised;
        let decodes = counts.syncs > 0 && unread * 8 < counts.bytes();
        decodes.then_some(unread + counts.inconsistencies)
    };
    let mut trials = Vec::new();
    for (version, profile) in units() {
        for rv64 in [given.rv64, !given.rv64] {
            let Ok(params) = Params::new(version, profile, rv64) else { continue };
            let problems = run(params);
            trials.extend(problems.map(|problems| Trial { profile, version, rv64, problems }));
        }
    }
    let (name, len) = (&source.name, start.len());
    trials.sort_by_key(|trial| trial.problems);
    let named: Vec<_> = trials.iter().take(MAX_NAMED).map(Trial::options).collect();
    if named.is_empty() {
        let profiles = units().filter(|(version, profile)| *version == profile.version());
        let profiles: Vec<_> = profiles.map(|(_, profile)| profile.to_string()).collect();
        return Some(Remark {
            what: format!(
                "{name}: the first {len} bytes do not decode with the defaults of any profile: {}",
                profiles.join(", ")
            ),
            help: format!("set the widths of the trace unit with {PARAMS} FILE"),
        });
    }
    Some(Remark {
        what: format!("{name}: the first {len} bytes decode with another profile"),
        help: format!("try {}", named.join("; or ")),
    })
}
