//! The devices of a capture that are no trace sources, and its clusters.

use std::fmt::Write;

use tracewright_capture::{Capture, Register, Registers};

use crate::json_object::{Object, string};

/// A core, or a device of another class.
#[derive(Clone, Debug)]
pub struct DeviceInfo {
    /// Its name.
    pub name: String,
    /// Its class, `core` for a core.
    pub class: String,
    /// Its type as the capture spells it.
    pub device_type: String,
    /// Its location in the debug system.
    pub location: Option<String>,
    /// The clusters that it is in.
    pub clusters: Vec<String>,
    /// Its registers when the capture was made.
    pub registers: Vec<Register>,
}

/// The cores of `capture`, then its other devices.
pub(super) fn devices(capture: &Capture) -> Vec<DeviceInfo> {
    let of = |name: &str, class: &str, kind: &str, location: &Option<String>, own: &Registers| {
        let (name, class, device_type) = (name.to_owned(), class.to_owned(), kind.to_owned());
        let (location, registers) = (location.clone(), own.0.clone());
        DeviceInfo { name, class, device_type, location, clusters: Vec::new(), registers }
    };
    let cores = capture.cores.iter().enumerate().map(|(n, core)| {
        let clusters = capture.clusters.iter().filter(|cluster| cluster.cores.contains(&n));
        let clusters = clusters.map(|cluster| cluster.name.clone()).collect();
        let device = of(&core.name, "core", &core.device_type, &core.location, &core.registers);
        DeviceInfo { clusters, ..device }
    });
    let others = capture.others.iter();
    let others =
        others.map(|it| of(&it.name, &it.class, &it.device_type, &it.location, &it.registers));
    cores.chain(others).collect()
}

impl DeviceInfo {
    pub(super) fn text(&self, out: &mut String) {
        let DeviceInfo { name, class, device_type, .. } = self;
        let _ = write!(out, "  {name}: {class} {device_type}");
        if let Some(location) = &self.location {
            let _ = write!(out, ", location {location}");
        }
        if !self.clusters.is_empty() {
            let _ = write!(out, ", in {}", self.clusters.join(", "));
        }
        out.push('\n');
        for Register { name, value, .. } in &self.registers {
            let _ = writeln!(out, "    {name} = 0x{value:08x}");
        }
    }

    pub(super) fn json(&self, out: &mut String) {
        Object::new(out)
            .text("type", "device")
            .text("name", &self.name)
            .text("class", &self.class)
            .text("device_type", &self.device_type)
            .maybe_text("location", self.location.as_deref())
            .list("clusters", &self.clusters, |name, out| string(name, out))
            .list("registers", &self.registers, |register, out| {
                Object::new(out)
                    .text("name", &register.name)
                    .maybe_number("id", register.id.map(u64::from))
                    .maybe_number("size", register.size.map(u64::from))
                    .text("value", &format!("{:#x}", register.value))
                    .end();
            })
            .end();
    }
}
