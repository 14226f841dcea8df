//! What the user asked for.

/// What to measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum What {
    /// Full decode, beside OpenCSD.
    #[default]
    Ratio,
    /// Cost against size.
    Sizes,
    /// Listings, beside OpenCSD.
    Listings,
    /// Full decode through OpenCSD's C interface, by each library.
    Interface,
}

/// The options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) what: What,
    /// Names of inputs; all where empty.
    pub(super) only: Vec<String>,
    pub(super) rounds: usize,
    /// Of the inputs' sizes.
    pub(super) percent: usize,
    pub(super) record: Option<String>,
    /// The folder with OpenCSD; the installed library where it is `None`.
    pub(super) opencsd: Option<String>,
    /// The folder that listings are written to; that for temporary files where it is `None`.
    pub(super) output: Option<String>,
}

impl Options {
    /// From the command line.
    pub(super) fn of(words: &[&str]) -> Result<Self, String> {
        let mut options = Options {
            what: What::Ratio,
            only: Vec::new(),
            rounds: 3,
            percent: 100,
            record: None,
            opencsd: None,
            output: None,
        };
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let mut value = || words.next().copied().ok_or(format!("{word} wants a value"));
            let number = |text: &str| {
                let number = text.parse::<usize>().ok().filter(|&n| n > 0);
                number.ok_or(format!("{word} {text}: not a number above 0"))
            };
            match word {
                "--only" => options.only.push(value()?.to_owned()),
                "--rounds" => options.rounds = number(value()?)?,
                "--scale" => options.percent = number(value()?)?,
                "--record" => options.record = Some(value()?.to_owned()),
                "--opencsd" => options.opencsd = Some(value()?.to_owned()),
                "--output" => options.output = Some(value()?.to_owned()),
                "--sizes" => options.what = What::Sizes,
                "--listings" => options.what = What::Listings,
                "--interface" => options.what = What::Interface,
                _ => return Err(format!("`{word}` is no option; see cargo xtask")),
            }
        }
        Ok(options)
    }

    /// Whether the input called `name` is wanted.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        let options = Options::of(&[
            "--sizes",
            "--only",
            "a",
            "--rounds",
            "5",
            "--only",
            "b",
            "--opencsd",
            "c",
            "--output",
            "d",
        ])
        .unwrap();
        assert_eq!((options.what, options.rounds), (What::Sizes, 5));
        assert_eq!(options.opencsd.as_deref(), Some("c"));
        assert_eq!(options.output.as_deref(), Some("d"));
        assert!(options.wants("a") && options.wants("b") && !options.wants("c"));
        assert!(Options::of(&[]).unwrap().wants("anything"));
        assert_eq!(Options::of(&["--interface"]).unwrap().what, What::Interface);
        for bad in [&["--rounds", "0"][..], &["--rounds"], &["--scale", "x"], &["loop"]] {
            assert!(Options::of(bad).is_err(), "{bad:?}");
        }
    }
}
