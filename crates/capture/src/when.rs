//! The keys of a dump that state when memory has its contents: see [`When`].
//!
//! | key | value |
//! |---|---|
//! | `context`, `vmid` | the contexts and virtual machines, separated by commas |
//! | `from`, `until` | the first timestamp, and the first one after |
//! | `overlay` | the name of the place in memory, of which one image is selected |
//! | `selected_by` | the address of the instruction that selects the image |
//! | `selected_by_write` | data address and value of the write that selects it: `0x2000=1` |
//! | `selected` | 1: it is selected at the beginning |

use crate::When;
use crate::number::number64;

/// The keys.
pub(crate) const KEYS: [&str; 8] =
    ["context", "vmid", "from", "until", "overlay", "selected_by", "selected_by_write", "selected"];

/// Sets what `key`, one of [`KEYS`], states. Returns what was expected instead of `text`.
pub(crate) fn set(when: &mut When, key: &str, text: &str) -> Result<(), &'static str> {
    let number = || number64(text).ok_or("a number");
    let ids = || {
        let words = text.split([',', ' ', '\t']).filter(|word| !word.is_empty());
        let ids: Option<Vec<u32>> = words.map(|word| number64(word)?.try_into().ok()).collect();
        ids.filter(|ids| !ids.is_empty()).ok_or("identifiers of 32 bits, separated by commas")
    };
    match key {
        "context" => when.contexts = ids()?,
        "vmid" => when.vmids = ids()?,
        "from" => when.from = Some(number()?),
        "until" => when.until = Some(number()?),
        _ => {
            let overlay = when.overlay.get_or_insert_default();
            match key {
                "overlay" => overlay.place = text.to_owned(),
                "selected_by" => overlay.address = Some(number()?),
                "selected_by_write" => {
                    let pair = text.split_once('=');
                    let pair = pair.and_then(|(at, value)| number64(at).zip(number64(value)));
                    overlay.write =
                        Some(pair.ok_or("a data address and a value, such as 0x2000=1")?);
                }
                _ => overlay.initial = number64(text).filter(|n| *n < 2).ok_or("0 or 1")? == 1,
            }
        }
    }
    Ok(())
}

/// The keys and their values.
pub(crate) fn pairs(when: &When) -> Vec<(&'static str, String)> {
    let hex = |number: u64| format!("{number:#x}");
    let ids = |ids: &[u32]| {
        let ids: Vec<_> = ids.iter().map(|id| hex((*id).into())).collect();
        (!ids.is_empty()).then(|| ids.join(","))
    };
    let mut values =
        vec![ids(&when.contexts), ids(&when.vmids), when.from.map(hex), when.until.map(hex)];
    if let Some(overlay) = &when.overlay {
        values.extend([
            Some(overlay.place.clone()),
            overlay.address.map(hex),
            overlay.write.map(|(at, value)| format!("{at:#x}={value:#x}")),
            Some(u8::from(overlay.initial).to_string()),
        ]);
    }
    let pairs = KEYS.into_iter().zip(values);
    pairs.filter_map(|(key, value)| Some((key, value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Overlay;

    #[test]
    fn conditions_are_read_as_they_were_written() {
        for (texts, want) in [
            (
                vec![("context", "5, 0x6"), ("vmid", "1"), ("from", "10"), ("until", "0x14")],
                When {
                    contexts: vec![5, 6],
                    vmids: vec![1],
                    from: Some(10),
                    until: Some(20),
                    overlay: None,
                },
            ),
            (
                vec![("selected_by_write", "0x2000=1"), ("overlay", "bank"), ("selected", "1")],
                When {
                    overlay: Some(Overlay {
                        place: "bank".into(),
                        write: Some((0x2000, 1)),
                        initial: true,
                        address: None,
                    }),
                    ..When::default()
                },
            ),
            (vec![], When::default()),
        ] {
            let mut when = When::default();
            for (key, text) in texts {
                assert_eq!(set(&mut when, key, text), Ok(()), "{key}={text}");
            }
            assert_eq!(when, want);
            let mut again = When::default();
            for (key, text) in pairs(&when) {
                assert_eq!(set(&mut again, key, &text), Ok(()), "{key}={text}");
            }
            assert_eq!(again, want);
        }
        for (key, text) in [
            ("context", ""),
            ("context", "0x100000000"),
            ("from", "soon"),
            ("selected_by_write", "0x2000"),
            ("selected", "2"),
        ] {
            assert!(set(&mut When::default(), key, text).is_err(), "{key}={text}");
        }
    }
}
