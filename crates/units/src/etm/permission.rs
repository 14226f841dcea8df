//! Which accesses to the registers succeed. (IHI 0014, 3.9, Tables 3-88 to 3-97)

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
