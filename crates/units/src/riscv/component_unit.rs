//! A component of RISC-V trace as a [`Unit`].

use tracewright_base::Field;

use super::component::Component;
use super::encoder_v0::{self, EncoderV0};
use super::filter::EncoderFilter;
use super::{encoder_lint, explain, lint, program, registers, sequence};
use crate::finding::Finding;
use crate::group::Group;
use crate::program::{BusAccess, Program};
use crate::request::{Refusal, Request};
use crate::unit::{Unit, View};
use crate::values::Values;
use crate::verdict::Filter;

/// The components by name and by identification registers.
pub const GROUP: Group = Group { names, named, identified };

fn names() -> Vec<&'static str> {
    Component::ALL.iter().map(|component| component.prefix()).chain([encoder_v0::NAME]).collect()
}

fn named(name: &str) -> Option<Box<dyn Unit>> {
    if name.eq_ignore_ascii_case(encoder_v0::NAME) {
        return Some(Box::new(EncoderV0));
    }
    let mut all = Component::ALL.iter();
    let component = all.find(|component| component.prefix().eq_ignore_ascii_case(name))?;
    Some(Box::new(*component))
}

/// A component is known by the name of its control or implementation register.
fn identified(values: &Values) -> Option<Box<dyn Unit>> {
    let mut all = Component::ALL.iter();
    let component = all.find(|component| {
        ["Control", "Impl"].iter().any(|name| component.value(values, name).is_some())
    });
    match component {
        Some(component) => Some(Box::new(*component)),
        None => Some(Box::new(EncoderV0::identified(values)?)),
    }
}

impl Unit for Component {
    fn name(&self) -> String {
        let known = registers::TYPES.iter().find(|(code, _)| *code == self.component_type());
        format!("RISC-V {}", known.map_or("trace component", |(_, name)| name))
    }

    fn about(&self) -> Vec<String> {
        vec!["Trace Control Interface 1.0".to_owned()]
    }

    fn registers(&self) -> Vec<View> {
        self.views()
    }

    fn explain(&self, values: &Values) -> Vec<String> {
        explain::explain(*self, values)
    }

    fn lint(&self, values: &Values) -> Vec<Finding> {
        let mut findings = lint::check(self, values);
        if *self == Component::Encoder {
            findings.extend(encoder_lint::check(values));
        }
        findings
    }

    fn program(&self, request: &Request) -> Result<Program, Vec<Refusal>> {
        match self {
            Component::Encoder => program::program(request),
            _ => Err(vec![Refusal {
                part: "the request".to_owned(),
                lacks: "this component selects nothing".to_owned(),
                needs: "program the trace encoder, trTe".to_owned(),
            }]),
        }
    }

    fn sequence(&self, accesses: &[BusAccess]) -> Vec<Finding> {
        sequence::check(self, accesses)
    }

    fn filter(&self, values: &Values) -> Option<Box<dyn Filter>> {
        (*self == Component::Encoder).then(|| Box::new(EncoderFilter::new(values)) as _)
    }

    fn field(&self, _: &View, field: &Field, value: u64) -> Option<String> {
        match field.name {
            "trTeInstSyncMax" => Some(format!("{}", 16u64 << value)),
            "trRamWPLow" => Some(format!("{:#x}", value << 2)),
            "trPibDivider" => Some(format!("divided by {}", value + 1)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::catalogue;
    use crate::finding::Finding;
    use crate::program;
    use crate::request::{Request, Span};
    use crate::values::Values;

    fn explained(values: &[(&str, u64)]) -> String {
        let values: Values = values.iter().copied().collect();
        catalogue::identified(&values).unwrap().explain(&values).join("\n")
    }

    fn rules(values: &[(&str, u64)]) -> Vec<&'static str> {
        let values: Values = values.iter().copied().collect();
        let unit = catalogue::identified(&values).unwrap();
        unit.lint(&values).iter().map(|finding| finding.rule).collect()
    }

    /// Trace Control Interface, "Trace Component Register Map" and the summaries of registers.
    #[test]
    fn names_and_offsets() {
        for (unit, key, name) in [
            ("trTe", "0x008", "trTeInstFeatures"),
            ("trte", "trtscontrol", "trTsControl"),
            ("trTe", "0x424", "trTeFilter1MatchInst"),
            ("trTe", "0x7f0", "trTeComp15PMatchLow"),
            ("trFunnel", "0x048", "trTsCounterLow"),
            ("trRam", "0x024", "trRamWPHigh"),
            ("trRam", "teSinkWP", "trRamWPLow"),
            ("trPib", "0x004", "trPibImpl"),
            ("trAtbBridge", "#0", "trAtbBridgeControl"),
        ] {
            let unit = catalogue::named(unit).unwrap();
            assert_eq!(unit.register(key).unwrap().name, name, "{key}");
        }
        assert!(catalogue::named("trTe").unwrap().register("0x020").is_none());
    }

    #[test]
    fn sentences() {
        let features = 4 << 28 | 9 << 16 | 1 << 10 | 3 << 6 | 1 << 3;
        let control = 1 << 24 | 3 << 20 | 1 << 16 | 1 << 9 | 6 << 4 | 0b111;
        let text = explained(&[
            ("trTeControl", control),
            ("trTeInstFeatures", features),
            ("trTsControl", 40 << 24 | 1 << 15 | 1 << 8 | 3 << 4 | 0b11),
            ("trTeInstFilters", 0b1),
            ("trTeFilter0Control", 1 | 1 << 1 | 1 << 4 | 2 << 5),
            ("trTeFilter0MatchInst", 0b1001),
            ("trTeComp2Control", 1 << 12 | 3 << 8 | 5 << 4),
            ("trTeComp2PMatchLow", 0x8000_0000),
            ("trTeComp2SMatchLow", 0x8000_0fff),
            ("trTeComp2SMatchHigh", 1),
            ("trTeTrigExtInControl", 0x42),
        ]);
        for line in [
            "Instructions are traced: N-Trace, with branch history (HTM).",
            "Synchronisation every 128 messages.",
            "Context and privilege are traced.",
            "Messages have a source of 4 bits: 9.",
            "Options: implicit returns, compared, addresses without equal top bits.",
            "Timestamps: internal core clock, divided by 4, 40 bits.",
            "Filter 0 selects privilege U or M, and address >= 0x80000000 and address <= \
             0x180000fff.",
            "External trigger input 0: trace on.\nExternal trigger input 1: notification.",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        let ram = [("trRamControl", 0b1001), ("trRamLimitLow", 0x7fc), ("trRamWPLow", 0x101)];
        let text = explained(&ram);
        assert!(text.contains("2048 bytes, from 0x0 to 0x7ff."), "{text}");
        assert!(text.contains("the oldest byte is at offset 0x100"), "{text}");
        let text = explained(&[("trPibControl", 3 << 16 | 10 << 4 | 0b11)]);
        assert!(text.contains("Pins: 4 data signals; the clock is divided by 4."), "{text}");
        let text = explained(&[("trAtbBridgeControl", 0x2003), ("trAtbBridgeImpl", 0xe01)]);
        assert!(text.contains("the ID 0x20 on the ATB"), "{text}");
        let text = explained(&[("trFunnelControl", 3), ("trFunnelDisInput", 0b101)]);
        assert!(text.contains("Disabled inputs: 0, 2."), "{text}");
    }

    /// A value of each rule that breaks it alone, beside a complete encoder that breaks none.
    #[test]
    fn findings() {
        let fine = [
            ("trTeControl", 0x0161_0067),
            ("trTeImpl", 0x1_0101),
            ("trTeInstFeatures", 0x4009_0000),
            ("trTsControl", 0x8023),
        ];
        assert_eq!(rules(&fine), [""; 0]);
        for (name, value, rule) in [
            ("trTeControl", 0x0161_0066, "enabled-in-reset"),
            ("trTeControl", 0x0161_0061, "not-empty"),
            ("trTeControl", 0x0161_4067, "reserved-bits"),
            ("trTeControl", 0x0261_0067, "format-reserved"),
            ("trTeControl", 0x0161_0057, "mode-reserved"),
            ("trTeControl", 0x0161_0007, "mode-off"),
            ("trTeControl", 0x0161_006d, "tracing-disabled"),
            ("trTeControl", 0x0160_0067, "no-synchronisation"),
            ("trTeControl", 0x0161_1067, "stall-or-overflow"),
            ("trTeControl", 0x0161_8067, "source-inhibited"),
            ("trTeControl", 0x1_0161_0067, "value-wide"),
            ("trTeImpl", 0x1_0100, "version-pre-ratified"),
            ("trTeImpl", 0x1_01f1, "version-experimental"),
            ("trTeImpl", 0x1_0111, "version-later"),
            ("trTeImpl", 0x1_0102, "version-unknown"),
            ("trTeImpl", 0x1_0901, "component-type"),
            ("trTeInstFeatures", 0x10, "option-missing"),
            ("trTeInstFeatures", 0x200, "all-jumps"),
            ("trTeInstFeatures", 0x8, "implicit-return-mode"),
            ("trTeInstFeatures", 0x48, "implicit-return-counter"),
            ("trTeInstFeatures", 0xd000_0000, "source-bits"),
            ("trTeInstFeatures", 0x2004_0000, "source-wide"),
            ("trTsControl", 0x8003, "time-source"),
            ("trTsControl", 0x8022, "time-in-reset"),
            ("trTsControl", 0x8021, "time-stopped"),
            ("trTsControl", 0x8143, "time-prescale"),
            ("trTeTrigExtInControl", 0x1, "trigger-reserved"),
            ("trTeTrigExtInControl", 0x2, "trigger-disabled"),
            ("trTeInstFilters", 0x1, "filter-unknown"),
        ] {
            let mut values: Vec<_> = fine.iter().filter(|(n, _)| *n != name).copied().collect();
            values.push((name, value));
            assert_eq!(rules(&values), [rule], "{name} {value:#x}");
        }
        let selected = [("trTeControl", fine[0].1), ("trTeInstFilters", 1)];
        for (more, rule) in [
            (&[("trTeFilter0Control", 0)][..], "filter-disabled"),
            (&[("trTeFilter0Control", 3)], "filter-value"),
            (&[("trTeFilter0Control", 0x11)], "comparator-unknown"),
            (&[("trTeFilter0Control", 0x11), ("trTeComp0Control", 0x4001)], "comparator-notify"),
        ] {
            assert_eq!(rules(&[&selected[..], more].concat()), [rule]);
        }
    }

    #[test]
    fn findings_of_sinks_and_funnels() {
        let ram = [("trRamControl", 0b1011), ("trRamImpl", 0x1901), ("trRamLimitLow", 0x7fc)];
        assert_eq!(rules(&ram), [""; 0]);
        for (values, rule) in [
            (&[("trRamControl", 0b1011), ("trRamLimitLow", 0x7fd)][..], "ram-unaligned"),
            (&[("trRamControl", 3), ("trRamStartLow", 0x800), ram[2]], "ram-reversed"),
            (&[("trRamControl", 3), ("trRamWPLow", 0x800), ram[2]], "ram-pointer"),
            (&[("trRamControl", 0x13), ram[1]], "ram-mode"),
            (&[("trRamControl", 0x203)], "ram-format"),
            (&[("trRamControl", 0x103), ("trRamWPLow", 1)], "ram-wrapped"),
            (&[("trRamControl", 0x1003)], "alignment-packets"),
            (&[("trPibControl", 0x13)], "pib-mode"),
            (&[("trPibControl", 0x143)], "pib-clock"),
            (&[("trPibControl", 0x283)], "pib-calibrates"),
            (&[("trPibControl", 0x1083)], "alignment-packets"),
            (&[("trAtbBridgeControl", 0x7003)], "trace-id-reserved"),
            (&[("trFunnelControl", 3), ("trFunnelDisInput", 0xffff)], "inputs-disabled"),
        ] {
            assert_eq!(rules(values), [rule], "{values:x?}");
        }
    }

    #[test]
    fn programs() {
        let unit = catalogue::named("trTe").unwrap();
        let trace = vec![Span { start: 0x8000_0000, end: 0x1_8000_1000 }];
        let request =
            Request { trace, levels: Some(0b1000), timestamps: true, ..Request::default() };
        let made = unit.program(&request).unwrap();
        assert_eq!(unit.lint(&made.values), [] as [Finding; 0]);
        assert_eq!(unit.sequence(&made.accesses()), [] as [Finding; 0]);
        let text = unit.explain(&made.values).join("\n");
        let selects = "Filter 0 selects privilege M, and address >= 0x80000000 and address <= \
                       0x180000fff.";
        assert!(text.contains(selects), "{text}");
        let request = Request { cycles: true, halt: true, ..Request::default() };
        assert_eq!(unit.program(&request).unwrap_err().len(), 2);
    }

    #[test]
    fn sequences() {
        let unit = catalogue::named("trRam").unwrap();
        for (text, rule) in [
            ("w trRamControl 1\nw trRamWPLow 0\nw trRamControl 3\nr trRamData", None),
            ("w trRamControl 0\nw trRamWPLow 0", Some("access-in-reset")),
            ("w trRamControl 3\nw trRamLimitLow 0x7fc", Some("write-while-enabled")),
            ("w trTeControl 3", Some("register-unknown")),
            ("w 0x018 0x1_0000_0000", Some("value-wide")),
        ] {
            let found = unit.sequence(&program::read(text).unwrap());
            let rules: Vec<_> = found.iter().map(|finding| finding.rule).collect();
            assert_eq!(rules, rule.into_iter().collect::<Vec<_>>(), "{text}");
        }
    }
}
