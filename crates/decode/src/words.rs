//! Parameters that a capture gives in words, as the registers that their protocols make of them.

use tracewright_capture::{Capture, OpenError, Place, Register, Source, Wrong};
use tracewright_protocols::registry::AnyProtocol;

/// Turns the words of every source of `capture` into registers.
///
/// # Errors
/// [`OpenError`] where a protocol does not know one.
pub fn settle(capture: &mut Capture) -> Result<(), OpenError> {
    capture.sources.iter_mut().try_for_each(source)
}

fn source(source: &mut Source) -> Result<(), OpenError> {
    // Numbers are checked where the protocol has words at all: a name that it does not know is a slip.
    let protocol = AnyProtocol::named(&source.device_type);
    let number = |name: &str, word: &str| match protocol.and_then(|p| p.word(name, word)) {
        Some(number) => number.map(Some),
        None => Ok(None),
    };
    let wrong = |name: &str, why: String| {
        let key = Some(name.to_owned());
        let section = Some(source.name.clone());
        let place = Place { section, key, ..Place::file(&source.path) };
        OpenError::at(place, Wrong::Parameter(why))
    };
    for register in &source.registers.0 {
        let value = register.value.to_string();
        number(&register.name, &value).map_err(|why| wrong(&register.name, why))?;
    }
    let mut settled = Vec::new();
    for (name, word) in &source.words {
        let value = number(name, word).map_err(|why| wrong(name, why))?;
        let Some(value) = value else {
            let why = format!("`{word}` is not a number");
            return Err(wrong(name, why));
        };
        let value = value.into();
        settled.push(Register { name: name.clone(), id: None, size: None, value });
    }
    source.words.clear();
    source.registers.0.extend(settled);
    Ok(())
}
