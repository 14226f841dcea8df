//! The logical interfaces of a unit, and the procedure that finds what they are connected to. (IHI
//! 0014, 3.3.2; CoreSight Architecture Specification, topology detection)

use super::resources::Resources;

/// Who drives an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The unit.
    Master,
    /// The component that is connected.
    Slave,
}

/// A kind of interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The trace.
    TraceOutput,
    /// What the unit observes of a processor.
    Core,
    /// An external output.
    ExternalOutput,
    /// An external input.
    ExternalInput,
    /// The trigger.
    Trigger,
}

impl Kind {
    /// All kinds, in the order of Table 3-2.
    pub const ALL: [Kind; 5] =
        [Kind::TraceOutput, Kind::Core, Kind::ExternalOutput, Kind::ExternalInput, Kind::Trigger];

    /// Who drives it.
    pub const fn direction(self) -> Direction {
        match self {
            Kind::TraceOutput | Kind::ExternalOutput | Kind::Trigger => Direction::Master,
            Kind::Core | Kind::ExternalInput => Direction::Slave,
        }
    }

    /// The number of them that a unit has. (Table 3-2)
    pub const fn count(self, unit: &Resources) -> u8 {
        match self {
            Kind::TraceOutput | Kind::Trigger => 1,
            // ETMSCR bits [14:12] hold one less.
            Kind::Core => unit.cores,
            Kind::ExternalOutput => unit.outputs,
            Kind::ExternalInput => unit.inputs,
        }
    }

    /// The name of several.
    pub const fn names(self) -> &'static str {
        match self {
            Kind::TraceOutput => "trace outputs",
            Kind::Core => "core interfaces",
            Kind::ExternalOutput => "external outputs",
            Kind::ExternalInput => "external inputs",
            Kind::Trigger => "trigger outputs",
        }
    }

    /// The name.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::TraceOutput => "trace output",
            Kind::Core => "core interface",
            Kind::ExternalOutput => "external output",
            Kind::ExternalInput => "external input",
            Kind::Trigger => "trigger output",
        }
    }
}

/// One interface of one component of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Port {
    /// Number of the component.
    pub component: usize,
    /// The kind of interface.
    pub kind: Kind,
    /// Number of the interface among those of its kind, from 0.
    pub number: u8,
}

/// The interfaces of `unit`, which is component number `component`.
pub fn ports(component: usize, unit: &Resources) -> Vec<Port> {
    let of = |kind: Kind| (0..kind.count(unit)).map(move |number| Port { component, kind, number });
    Kind::ALL.into_iter().flat_map(of).collect()
}

/// A system whose components have integration registers.
pub trait Integration {
    /// Sets or clears ETMITCTRL bit \[0] of a component. Nothing else of the component is used
    /// while it is set.
    fn integration_mode(&mut self, component: usize, on: bool);

    /// Drives a master interface: a signal of it that no other interface shares.
    fn drive(&mut self, master: Port, active: bool);

    /// Whether the signal of a slave interface is active.
    fn observe(&mut self, slave: Port) -> bool;
}

/// The connections of `ports`: each master with the slaves that follow it. All signals are inactive
/// before and after, and a signal that is active beforehand connects nothing. A component must be
/// reset before it traces again. (CoreSight Architecture Specification)
pub fn connections(system: &mut impl Integration, ports: &[Port]) -> Vec<(Port, Port)> {
    let with = |direction: Direction| {
        ports.iter().copied().filter(move |port| port.kind.direction() == direction)
    };
    let mut components: Vec<usize> = ports.iter().map(|port| port.component).collect();
    components.sort_unstable();
    components.dedup();
    components.iter().for_each(|component| system.integration_mode(*component, true));
    with(Direction::Master).for_each(|master| system.drive(master, false));
    let mut found = Vec::new();
    for master in with(Direction::Master) {
        let before: Vec<bool> = with(Direction::Slave).map(|slave| system.observe(slave)).collect();
        system.drive(master, true);
        for (slave, before) in with(Direction::Slave).zip(before) {
            if system.observe(slave) && !before {
                found.push((master, slave));
            }
        }
        system.drive(master, false);
    }
    components.iter().for_each(|component| system.integration_mode(*component, false));
    found
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::etm::resources::Identification;
    use crate::etm::version::Version;

    /// IHI 0014, Table 3-2: the numbers of interfaces from ETMCCR and ETMSCR.
    #[test]
    fn table_3_2() {
        for (outputs, inputs, cores) in [(0, 0, 1), (1, 4, 1), (4, 2, 3), (2, 3, 8)] {
            let registers = Identification {
                configuration: Some(outputs << 20 | inputs << 17 | 1 << 31),
                system: Some((cores - 1) << 12),
                ..Identification::default()
            };
            let unit = Resources::largest(Version::V3_4).reported(&registers);
            let rows = [
                (Kind::TraceOutput, Direction::Master, 1),
                (Kind::Core, Direction::Slave, cores),
                (Kind::ExternalOutput, Direction::Master, outputs),
                (Kind::ExternalInput, Direction::Slave, inputs),
                (Kind::Trigger, Direction::Master, 1),
            ];
            let ports = ports(0, &unit);
            for (kind, direction, count) in rows {
                assert_eq!(kind.direction(), direction);
                let of = ports.iter().filter(|port| port.kind == kind).count();
                assert_eq!(of, count as usize, "{kind:?}");
            }
        }
    }

    /// Wires between interfaces. A signal has a level only in integration mode.
    #[derive(Default)]
    struct Wires {
        wires: Vec<(Port, Port)>,
        on: HashSet<usize>,
        driven: HashSet<Port>,
        /// A slave whose signal is always active.
        stuck: Option<Port>,
    }

    impl Integration for Wires {
        fn integration_mode(&mut self, component: usize, on: bool) {
            let changed = if on { self.on.insert(component) } else { self.on.remove(&component) };
            assert!(changed, "component {component}");
        }

        fn drive(&mut self, master: Port, active: bool) {
            assert!(self.on.contains(&master.component));
            assert_eq!(master.kind.direction(), Direction::Master);
            if active {
                self.driven.insert(master)
            } else {
                self.driven.remove(&master)
            };
        }

        fn observe(&mut self, slave: Port) -> bool {
            assert!(self.on.contains(&slave.component));
            assert_eq!(slave.kind.direction(), Direction::Slave);
            let wired = |(from, to): &(Port, Port)| *to == slave && self.driven.contains(from);
            self.stuck == Some(slave) || self.wires.iter().any(wired)
        }
    }

    /// Two units whose external outputs are wired to the inputs of the other; one output to two
    /// inputs, and an input that is always active.
    #[test]
    fn finds_the_wires() {
        let unit = Resources::largest(Version::V3_4);
        let all = [ports(0, &unit), ports(1, &unit)].concat();
        let output = |component, number| Port { component, kind: Kind::ExternalOutput, number };
        let input = |component, number| Port { component, kind: Kind::ExternalInput, number };
        let trigger = Port { component: 1, kind: Kind::Trigger, number: 0 };
        let mut wires = vec![
            (output(0, 0), input(1, 2)),
            (output(0, 3), input(1, 0)),
            (output(0, 3), input(0, 1)),
            (trigger, input(0, 0)),
        ];
        let mut system =
            Wires { wires: wires.clone(), stuck: Some(input(1, 3)), ..Wires::default() };
        let mut found = connections(&mut system, &all);
        let key =
            |(from, to): &(Port, Port)| (from.component, from.number, to.component, to.number);
        found.sort_by_key(key);
        wires.sort_by_key(key);
        assert_eq!(found, wires);
        assert!(system.on.is_empty() && system.driven.is_empty());
    }
}
