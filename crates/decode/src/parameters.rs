//! Converts parameters that a capture gives as text to the registers of their protocols.

use tracewright_base::Invalid;
use tracewright_capture::{
    Capture, OpenError, Origin, Problem, Register, Registers, Source, Text, expected_names,
};
use tracewright_protocols::registry::{AnyProtocol, Registry};

/// Converts the text parameters of every source of `capture` to registers, except those that are
/// lists of text.
///
/// # Errors
/// [`OpenError`] where a protocol has no such parameter, or the parameter cannot have the value.
pub fn resolve(capture: &mut Capture) -> Result<(), OpenError> {
    let Capture { sources, protocols, .. } = capture;
    sources.iter_mut().try_for_each(|own| source(own, protocols))
}

fn source(source: &mut Source, protocols: &Registry) -> Result<(), OpenError> {
    // Numbers are checked, too, where the protocol has named parameters: an unknown name is an
    // error.
    let protocol = protocols.named(&source.device_type);
    let number = |name: &str, word: &str| match protocol {
        Some(protocol) => match protocol.parse_value(name, word) {
            Some(Err(_)) if protocol.canonical(name).is_none() => Err(unknown(protocol, name)),
            Some(number) => number.map(Some),
            None => Ok(None),
        },
        None => Ok(None),
    };
    let origin = |name: &str| parameter_origin(source, name);
    let wrong =
        |name: &str, why: Invalid| OpenError::at(origin(name), Problem::Parameter(why.into()));
    let mut texts = source.texts.clone();
    let mut registers = Vec::new();
    for register in &source.registers.0 {
        let name = register.name.as_str();
        let value = number(name, &register.value.to_string()).map_err(|why| wrong(name, why))?;
        let value = value.map_or(register.value, u128::from);
        registers.push(Register { value, ..register.clone() });
    }
    for (name, word) in &source.words {
        if protocol.is_some_and(|protocol| protocol.has_text(name)) {
            texts.push(Text { name: name.clone(), text: word.clone(), origin: origin(name) });
            continue;
        }
        if protocol.is_some_and(|protocol| protocol.is_unused(name)) {
            continue;
        }
        let value = number(name, word).map_err(|why| wrong(name, why))?;
        let Some(value) = value else {
            let why = format!("`{word}` is not a number");
            return Err(wrong(name, why.into()));
        };
        let value = value.into();
        registers.push(Register { name: name.clone(), id: None, size: None, value });
    }
    // Lists of text are checked with a configuration that has no other parameters.
    let protocol_of_texts = protocol.filter(|_| !texts.is_empty());
    let mut unit = protocol_of_texts.and_then(|protocol| protocol.configure(None, &|_| None).ok());
    for text in &texts {
        let result = unit.as_mut().and_then(|unit| unit.set_text(&text.name, &text.text));
        let why = match result {
            Some(Ok(())) => continue,
            Some(Err(why)) => why.into(),
            None => {
                let known = protocol.map_or(&[][..], |protocol| protocol.about().texts);
                let known: Vec<_> = known.iter().map(|(name, _)| *name).collect();
                match known.as_slice() {
                    [] => format!("there is no list called `{}` here", text.name),
                    known => {
                        format!("no list is called `{}`; there is {}", text.name, known.join(", "))
                    }
                }
            }
        };
        return Err(OpenError::at(text.origin.clone(), Problem::Parameter(why)));
    }
    source.texts = texts;
    source.words.clear();
    // Of several spellings of a name the first one applies, which comes from the command line.
    let origin = |name: &str| source.origins.iter().position(|(known, _)| known == name);
    registers.sort_by_key(|register| origin(&register.name));
    source.registers = Registers::default();
    for register in registers {
        add(protocol, register, &mut source.registers);
    }
    let checked = protocol.map_or(Ok(()), |protocol| protocol.check(&|name| source.register(name)));
    checked.map_err(|wrong| {
        OpenError::at(parameter_origin(source, wrong.name), Problem::Parameter(wrong.why))
    })
}

/// No parameter of the protocol has this name.
fn unknown(protocol: AnyProtocol, name: &str) -> Invalid {
    let about = protocol.about();
    let texts = about.texts.iter().map(|(name, _)| *name);
    let known: Vec<&str> = about.registers.iter().map(|own| own.name).chain(texts).collect();
    format!("no parameter is called `{name}`; {}", expected_names(name, &known)).into()
}

/// Adds a register by the name that the protocol knows it by. A value that is there stays: a
/// capture lists the values that override others first. Nothing is added for a name on which
/// nothing depends.
fn add(protocol: Option<AnyProtocol>, mut register: Register, registers: &mut Registers) {
    if let Some(protocol) = protocol {
        if protocol.is_unused(&register.name) {
            return;
        }
        if let Some(name) = protocol.canonical(&register.name) {
            if registers.get(name).is_some() {
                return;
            }
            register.name = name.to_owned();
        }
    }
    registers.0.push(register);
}

/// Where a capture gives the parameter `name` of `source`.
fn parameter_origin(source: &Source, name: &str) -> Origin {
    if let Some((_, origin)) = source.origins.iter().find(|(known, _)| known == name) {
        return origin.clone();
    }
    let key = Some(name.to_owned());
    let section = Some(source.name.clone()).filter(|name| !name.is_empty());
    Origin { section, key, ..Origin::file(&source.path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registers(protocol: &str, parameters: &[(&str, &str)]) -> Result<Registers, String> {
        let mut source = Source { device_type: protocol.into(), ..Source::default() };
        for (name, value) in parameters {
            source.parameter(name, value);
        }
        let mut capture = Capture { sources: vec![source], ..Capture::default() };
        resolve(&mut capture).map_err(|error| error.to_string())?;
        Ok(capture.sources.remove(0).registers)
    }

    #[test]
    fn text_becomes_registers() {
        let got =
            registers("etrace", &[("xlen", "64"), ("version", "1.0"), ("full_address", "true")]);
        let want = Registers::from_iter([("xlen", 64), ("version", 10), ("full_address", 1)]);
        assert_eq!(got, Ok(want));
        // Parameters of the reference flow that do not affect the trace are accepted.
        assert!(registers("etrace", &[("arch_p", "0"), ("iaddress_lsb_p", "1")]).is_ok());
        // The names of the specification, of the reference flow's files and lists.
        let got = registers(
            "etrace",
            &[
                ("SCF[iaddress_lsb_p]", "0"),
                ("UCF[resync-max]", "1"),
                ("UCF[implicit-return]", "true"),
                ("UCF[full-data]", "false"),
                ("retires_p", "2"),
                ("filter_excint_p", "1"),
                ("filter_time_p", "1"),
            ],
        );
        let want = Registers::from_iter([
            ("iaddress_lsb", 0),
            ("resync_max", 32),
            ("retires", 2),
            ("filter_interrupt", 1),
            ("implicit_return", 1),
            ("data-full-data", 0),
        ]);
        assert_eq!(got, Ok(want));
        // The first of two spellings is that of the command line.
        let got = registers("etrace", &[("iaddress_lsb", "0"), ("iaddress_lsb_p", "1")]);
        assert_eq!(got, Ok(Registers::from_iter([("iaddress_lsb", 0)])));
        // Registers of protocols without named parameters are accepted as they are.
        let arm = Registers::from_iter([("TRCCONFIGR", 0x18c1), ("anything", 1)]);
        assert_eq!(registers("ETM4", &[("TRCCONFIGR", "0x18c1"), ("anything", "1")]), Ok(arm));
    }

    #[test]
    fn wrong_parameters_are_reported() {
        for (protocol, name, value, want) in [
            (
                "etrace",
                "profle",
                "spec",
                "profle: no parameter is called `profle`; similar names: profile",
            ),
            (
                "etrace",
                "trap",
                "thaddr",
                "no parameter is called `trap`; similar names: trap_packet",
            ),
            ("etrace", "profile", "best", "profile: `profile` cannot be `best`"),
            ("etrace", "xlen", "77", "xlen: `xlen` cannot be `77`"),
            ("ETM4", "TRCCONFIGR", "on", "TRCCONFIGR: `on` is not a number"),
        ] {
            let got = registers(protocol, &[(name, value)]).unwrap_err();
            assert!(got.contains(want), "{got}");
        }
    }

    #[test]
    fn units_that_do_not_exist_are_refused() {
        let got = registers("etrace", &[("profile", "esp32"), ("version", "2.0")]).unwrap_err();
        let want = "version: version `2.0` has no profile `esp32`, which exists in version `1.0`";
        assert!(got.contains(want), "{got}");
    }
}
