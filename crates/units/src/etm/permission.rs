//! Which accesses to the registers succeed. (IHI 0014, 3.9, Tables 3-88 to 3-97)

use crate::values::Values;

/// How the registers are accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interface {
    /// Memory-mapped, by a debugger: it ignores the CoreSight lock.
    Debugger,
    /// Memory-mapped, by software on the processor.
    Software,
    /// By coprocessor instructions, of a debugger or of software.
    Coprocessor,
}

/// What the outcome of an access depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conditions {
    /// The interface.
    pub interface: Interface,
    /// Power of the debug domain, or of the only domain.
    pub debug_power: bool,
    /// Power of the core domain; as `debug_power` where there is one domain.
    pub core_power: bool,
    /// ETMPDSR bit \[1]: the trace registers lost their state.
    pub state_lost: bool,
    /// ETMCR bit \[0]: PowerDown.
    pub power_down: bool,
    /// The OS lock is set.
    pub os_lock: bool,
    /// The CoreSight lock is set.
    pub software_lock: bool,
}

/// The group of a register in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegisterGroup {
    /// ETM Trace Registers.
    Trace,
    /// ETMOSLSR.
    OsLockStatus,
    /// ETMOSLAR.
    OsLock,
    /// ETMOSSRR.
    OsSave,
    /// ETMLAR.
    Lock,
    /// ETMPDSR.
    PowerStatus,
    /// The other ETM Management Registers.
    OtherManagement,
}

impl RegisterGroup {
    /// All groups.
    pub const ALL: [RegisterGroup; 7] = [
        RegisterGroup::Trace,
        RegisterGroup::OsLockStatus,
        RegisterGroup::OsLock,
        RegisterGroup::OsSave,
        RegisterGroup::Lock,
        RegisterGroup::PowerStatus,
        RegisterGroup::OtherManagement,
    ];

    /// What it contains.
    const fn name(self) -> &'static str {
        match self {
            RegisterGroup::Trace => "the trace registers",
            RegisterGroup::OsLockStatus => "ETMOSLSR",
            RegisterGroup::OsLock => "ETMOSLAR",
            RegisterGroup::OsSave => "ETMOSSRR",
            RegisterGroup::Lock => "ETMLAR",
            RegisterGroup::PowerStatus => "ETMPDSR",
            RegisterGroup::OtherManagement => "the other management registers",
        }
    }

    /// The group of the register `number`.
    pub const fn of(number: u16) -> RegisterGroup {
        match number {
            0x0c0 => RegisterGroup::OsLock,
            0x0c1 => RegisterGroup::OsLockStatus,
            0x0c2 => RegisterGroup::OsSave,
            0x0c5 => RegisterGroup::PowerStatus,
            0x3ec => RegisterGroup::Lock,
            _ if super::registers::is_management(number) => RegisterGroup::OtherManagement,
            _ => RegisterGroup::Trace,
        }
    }
}

/// The outcome of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It succeeds.
    Ok,
    /// It succeeds, but writes of registers other than ETMCR may be ignored, as PowerDown is set.
    OkPoweredDown,
    /// A read of ETMPDSR succeeds and does not clear bit \[1].
    OkNotCleared,
    /// A write is ignored; a read returns the value.
    WriteIgnored,
    /// A write is ignored, a read returns an unknown value, and the access returns an error.
    Error,
    /// UNPREDICTABLE.
    Unpredictable,
    /// Not possible: the response depends on the system.
    NotPossible,
}

/// The outcome of an access to a register of `group`.
///
/// Tables 3-94 and 3-95 permit writes with the CoreSight lock set after state was lost, where
/// Tables 3-90 and 3-91 ignore them. The rule of 3.5.28, that the lock ignores writes, applies.
pub const fn outcome(group: RegisterGroup, c: Conditions) -> Outcome {
    use RegisterGroup as R;
    if !c.debug_power {
        return Outcome::NotPossible;
    }
    let accessible = c.core_power && !c.state_lost;
    let outcome = match group {
        R::Trace if !accessible || c.os_lock => Outcome::Error,
        R::Trace if c.power_down => Outcome::OkPoweredDown,
        R::OsLock if !c.core_power => Outcome::Unpredictable,
        R::OsSave if !accessible || !c.os_lock => Outcome::Unpredictable,
        R::Trace
        | R::OsLockStatus
        | R::OsLock
        | R::OsSave
        | R::Lock
        | R::PowerStatus
        | R::OtherManagement => Outcome::Ok,
    };
    let locked = c.software_lock && matches!(c.interface, Interface::Software);
    match (outcome, group) {
        (Outcome::Ok | Outcome::OkPoweredDown, R::Trace)
        | (Outcome::Ok, R::OsLock | R::OsSave | R::OtherManagement)
            if locked =>
        {
            Outcome::WriteIgnored
        }
        (Outcome::Ok, R::PowerStatus) if locked => Outcome::OkNotCleared,
        _ => outcome,
    }
}

impl Outcome {
    /// What an access of a group does.
    const fn words(self) -> &'static str {
        match self {
            Outcome::Ok => "succeeds",
            Outcome::OkPoweredDown => "succeeds, but writes other than of ETMCR may be ignored",
            Outcome::OkNotCleared => "succeeds, and a read does not clear StateLost",
            Outcome::WriteIgnored => "ignores writes",
            Outcome::Error => "returns an error",
            Outcome::Unpredictable => "is UNPREDICTABLE",
            Outcome::NotPossible => "is not possible",
        }
    }
}

/// What accesses do in the state that ETMPDSR, ETMOSLSR, ETMLSR and ETMCR report, a sentence for
/// each interface; none where no status register is known. The debug domain has power, or the
/// registers could not be read. What depends on a register that is not known has each outcome.
pub fn sentences(values: &Values) -> Vec<String> {
    let status = ["ETMPDSR", "ETMOSLSR", "ETMLSR"];
    if status.iter().all(|name| values.get(name).is_none()) {
        return Vec::new();
    }
    let interfaces = [
        (Interface::Debugger, "a debugger, memory-mapped"),
        (Interface::Software, "software, memory-mapped"),
        (Interface::Coprocessor, "coprocessor instructions"),
    ];
    interfaces.into_iter().map(|(interface, by)| sentence(values, interface, by)).collect()
}

/// What accesses by `interface` do.
fn sentence(values: &Values, interface: Interface, by: &str) -> String {
    let mut parts: Vec<(Vec<Outcome>, Vec<&str>)> = Vec::new();
    for group in RegisterGroup::ALL {
        let mut outcomes = Vec::new();
        for c in conditions(values, interface) {
            let outcome = outcome(group, c);
            if !outcomes.contains(&outcome) {
                outcomes.push(outcome);
            }
        }
        match parts.iter_mut().find(|(known, _)| *known == outcomes) {
            Some((_, groups)) => groups.push(group.name()),
            None => parts.push((outcomes, vec![group.name()])),
        }
    }
    let part = |(outcomes, groups): &(Vec<Outcome>, Vec<&str>)| {
        let words: Vec<_> = outcomes.iter().map(|outcome| outcome.words()).collect();
        format!("of {} {}", groups.join(", "), words.join(" or "))
    };
    let parts: Vec<_> = parts.iter().map(part).collect();
    format!("By {by}, an access {}.", parts.join("; "))
}

/// The conditions that `values` leave possible.
fn conditions(values: &Values, interface: Interface) -> Vec<Conditions> {
    let bit = |name: &str, bit: u32| values.get(name).map(|value| value >> bit & 1 != 0);
    // The bit of ETMPDSR is of ETMv3.5.
    let os_lock = bit("ETMOSLSR", 1).or(bit("ETMPDSR", 5).filter(|locked| *locked));
    let known = [bit("ETMPDSR", 0), bit("ETMPDSR", 1), bit("ETMCR", 0), os_lock, bit("ETMLSR", 1)];
    let all = (0u32..32).map(|bits| [0, 1, 2, 3, 4].map(|n| bits >> n & 1 != 0));
    all.filter(|case| known.iter().zip(case).all(|(known, case)| known.is_none_or(|k| k == *case)))
        .map(|[core_power, state_lost, power_down, os_lock, software_lock]| Conditions {
            interface,
            debug_power: true,
            core_power,
            state_lost,
            power_down,
            os_lock,
            software_lock,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3.9: the outcome for each interface, from the status registers.
    #[test]
    fn accesses_in_words() {
        let words = |values: &[(&str, u64)]| sentences(&values.iter().copied().collect());
        assert_eq!(words(&[("ETMCR", 0)]), [""; 0]);
        // Power, no lock.
        let good = [("ETMPDSR", 1), ("ETMOSLSR", 1), ("ETMLSR", 1), ("ETMCR", 0)];
        let [debugger, software, coprocessor] = words(&good).try_into().unwrap();
        assert!(debugger.contains("the other management registers succeeds; of ETMOSSRR is"));
        assert!(software.contains("of the trace registers, ETMOSLSR"), "{software}");
        assert!(coprocessor.starts_with("By coprocessor instructions, an access of "));
        // The CoreSight lock is for software only.
        let locked = [("ETMPDSR", 1), ("ETMOSLSR", 1), ("ETMLSR", 3), ("ETMCR", 0)];
        let [same, software, _] = words(&locked).try_into().unwrap();
        assert_eq!(same, debugger);
        assert!(software.contains("of the trace registers, ETMOSLAR, "), "{software}");
        assert!(software.contains("ignores writes"), "{software}");
        // The OS lock is for all, and ETMOSSRR can be used.
        let os_locked = [("ETMPDSR", 1), ("ETMOSLSR", 3), ("ETMLSR", 1), ("ETMCR", 0)];
        for line in words(&os_locked) {
            assert!(line.contains("of the trace registers returns an error"), "{line}");
            assert!(!line.contains("UNPREDICTABLE"), "{line}");
        }
        // Whether the lock is set is not known.
        let line = &words(&[("ETMPDSR", 1), ("ETMCR", 0), ("ETMLSR", 1)])[0];
        assert!(line.contains("the trace registers succeeds or returns an error"), "{line}");
    }
}
