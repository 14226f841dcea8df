//! The fields of a line.

/// A field of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub(super) enum Field {
    Address,
    Opcode,
    Cpu,
    El,
    Time,
    Cycle,
    Isa,
    Passed,
    Text,
    Trap,
    Entry,
    Expanded,
    Cause,
    Mcause,
    Interrupt,
    Epc,
    Tval,
    Target,
    Csr,
    Size,
    Value,
    Order,
    Repeat,
}

/// The names of fields.
pub(super) const FIELDS: [(&str, Field); 23] = [
    ("address", Field::Address),
    ("opcode", Field::Opcode),
    ("cpu", Field::Cpu),
    ("el", Field::El),
    ("time", Field::Time),
    ("cycle", Field::Cycle),
    ("isa", Field::Isa),
    ("passed", Field::Passed),
    ("text", Field::Text),
    ("trap", Field::Trap),
    ("entry", Field::Entry),
    ("expanded", Field::Expanded),
    ("cause", Field::Cause),
    ("mcause", Field::Mcause),
    ("interrupt", Field::Interrupt),
    ("epc", Field::Epc),
    ("tval", Field::Tval),
    ("target", Field::Target),
    ("csr", Field::Csr),
    ("size", Field::Size),
    ("value", Field::Value),
    ("order", Field::Order),
    ("repeat", Field::Repeat),
];

impl Field {
    /// The field with this name.
    pub(super) fn named(name: &str) -> Option<Field> {
        FIELDS.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
    }
}

/// The texts of the fields of a line. A field that is empty is absent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fields<'a>([Option<&'a [u8]>; FIELDS.len()]);

impl<'a> Fields<'a> {
    /// Sets a field.
    pub(super) fn set(&mut self, field: Field, text: &'a [u8]) {
        if let Some(slot) = self.0.get_mut(field as usize) {
            *slot = Some(text).filter(|text| !text.is_empty());
        }
    }

    /// The text of a field.
    pub(super) fn get(&self, field: Field) -> Option<&'a [u8]> {
        self.0.get(field as usize).copied().flatten()
    }

    /// Whether the field is there.
    pub(super) fn has(&self, field: Field) -> bool {
        self.get(field).is_some()
    }
}
