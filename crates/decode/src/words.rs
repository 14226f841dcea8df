//! Parameters that a capture gives in words, as the registers that their protocols make of them.

use tracewright_capture::{Capture, OpenError, Origin, Register, Source, Text, Wrong};
use tracewright_protocols::registry::AnyProtocol;

/// Turns the words of every source of `capture` into registers, but for those that stay text.
///
/// # Errors
/// [`OpenError`] where a protocol does not know one, or it cannot be that.
pub fn settle(capture: &mut Capture) -> Result<(), OpenError> {
    capture.sources.iter_mut().try_for_each(source)
}

fn source(source: &mut Source) -> Result<(), OpenError> {
    // Numbers are checked where the protocol has words at all: a name that it does not know is a
    // slip.
    let protocol = AnyProtocol::named(&source.device_type);
    let number = |name: &str, word: &str| match protocol.and_then(|p| p.word(name, word)) {
        Some(number) => number.map(Some),
        None => Ok(None),
    };
    let origin = |name: &str| {
        if let Some((_, origin)) = source.offsets.iter().find(|(known, _)| known == name) {
            return origin.clone();
        }
        let key = Some(name.to_owned());
        let section = Some(source.name.clone()).filter(|name| !name.is_empty());
        Origin { section, key, ..Origin::file(&source.path) }
    };
    let wrong = |name: &str, why: String| OpenError::at(origin(name), Wrong::Parameter(why));
    let mut texts = source.texts.clone();
    for register in &source.registers.0 {
        let value = register.value.to_string();
        number(&register.name, &value).map_err(|why| wrong(&register.name, why))?;
    }
    let mut settled = Vec::new();
    for (name, word) in &source.words {
        if protocol.is_some_and(|protocol| protocol.has_text(name)) {
            texts.push(Text { name: name.clone(), text: word.clone(), origin: origin(name) });
            continue;
        }
        let value = number(name, word).map_err(|why| wrong(name, why))?;
        let Some(value) = value else {
            let why = format!("`{word}` is not a number");
            return Err(wrong(name, why));
        };
        let value = value.into();
        settled.push(Register { name: name.clone(), id: None, size: None, value });
    }
    // What is text is told to a unit that knows nothing else.
    let mut unit = protocol.and_then(|protocol| protocol.configure(None, &|_| None).ok());
    for text in &texts {
        let told = unit.as_mut().and_then(|unit| unit.tell(&text.name, &text.text));
        let why = match told {
            Some(Ok(())) => continue,
            Some(Err(why)) => why,
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
        return Err(OpenError::at(text.origin.clone(), Wrong::Parameter(why)));
    }
    source.texts = texts;
    source.words.clear();
    source.registers.0.extend(settled);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright_capture::Registers;

    fn settled(protocol: &str, parameters: &[(&str, &str)]) -> Result<Registers, String> {
        let mut source = Source { device_type: protocol.into(), ..Source::default() };
        for (name, value) in parameters {
            source.parameter(name, value);
        }
        let mut capture = Capture { sources: vec![source], ..Capture::default() };
        settle(&mut capture).map_err(|error| error.to_string())?;
        Ok(capture.sources.remove(0).registers)
    }

    #[test]
    fn words_become_numbers() {
        let got =
            settled("etrace", &[("xlen", "64"), ("version", "1.0"), ("full_address", "true")]);
        let want = Registers::from_iter([("xlen", 64), ("version", 10), ("full_address", 1)]);
        assert_eq!(got, Ok(want));
        // What only the reference flow's own files have says nothing of the trace.
        assert!(settled("etrace", &[("arch_p", "0"), ("iaddress_lsb_p", "1")]).is_ok());
        // Registers of other protocols are not words.
        let arm = Registers::from_iter([("TRCCONFIGR", 0x18c1), ("anything", 1)]);
        assert_eq!(settled("ETM4", &[("TRCCONFIGR", "0x18c1"), ("anything", "1")]), Ok(arm));
    }

    #[test]
    fn slips_are_named() {
        for (protocol, name, value, want) in [
            ("etrace", "profle", "spec", "profle: no parameter is called `profle`"),
            ("etrace", "profile", "best", "profile: `profile` cannot be `best`"),
            ("etrace", "xlen", "77", "xlen: `xlen` cannot be `77`"),
            ("ETM4", "TRCCONFIGR", "on", "TRCCONFIGR: `on` is not a number"),
        ] {
            let got = settled(protocol, &[(name, value)]).unwrap_err();
            assert!(got.contains(want), "{got}");
        }
    }
}
