//! The parameters of a request.

use crate::answer::Problem;

/// A route and its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// The route: what follows `api/`.
    pub(crate) route: String,
    parameters: Vec<(String, String)>,
}

impl Request {
    /// A request with the text after `?`.
    pub(crate) fn new(route: &str, query: &str) -> Request {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let parameters = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        Request { route: route.to_owned(), parameters: parameters.collect() }
    }

    /// A parameter.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A number.
    ///
    /// # Errors
    /// Where it is none.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| text.parse().ok()).flatten();
        number.map(Some).ok_or_else(|| Problem::parameter(name, "a number"))
    }

    /// A number that must be there.
    ///
    /// # Errors
    /// Where it is absent.
    pub(crate) fn needed(&self, name: &str) -> Result<u64, Problem> {
        self.number(name)?.ok_or_else(|| Problem::parameter(name, "a number"))
    }

    /// A number of at most `most`, by default `default`.
    ///
    /// # Errors
    /// Where it is no number, or too large.
    pub(crate) fn limit(&self, name: &str, default: usize, most: usize) -> Result<usize, Problem> {
        let Some(number) = self.number(name)? else { return Ok(default) };
        let number = usize::try_from(number).ok().filter(|number| *number <= most);
        number.ok_or_else(|| Problem::parameter(name, &format!("at most {most}")))
    }

    /// One of these words; by default the first.
    ///
    /// # Errors
    /// Where it is another one.
    pub(crate) fn word(&self, name: &str, words: &[&'static str]) -> Result<&'static str, Problem> {
        let wanted = self.get(name);
        let found = words.iter().find(|word| wanted.is_none_or(|wanted| wanted == **word));
        found.copied().ok_or_else(|| Problem::parameter(name, &words.join(" or ")))
    }

    /// An address, in hexadecimal after `0x` or in decimal.
    ///
    /// # Errors
    /// Where it is none.
    pub(crate) fn address(&self, name: &str) -> Result<Option<u64>, Problem> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let address = match text.strip_prefix("0x") {
            Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok(),
            _ => return self.number(name),
        };
        address.map(Some).ok_or_else(|| Problem::parameter(name, "an address"))
    }
}

/// `text` with `%41` and `+` decoded. What is no UTF-8 is replaced.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let digit = |n: usize| after.get(n).and_then(|digit| char::from(*digit).to_digit(16));
        match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high << 4 | low) as u8);
                rest = after.get(2..).unwrap_or_default();
            }
            (b'+', ..) => bytes.push(b' '),
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let request = Request::new("find", "q=write+0+%7Eok%21&from=12&x&bad=%zz&utf=%ff");
        assert_eq!(request.get("q"), Some("write 0 ~ok!"));
        assert_eq!(request.number("from"), Ok(Some(12)));
        assert_eq!((request.get("x"), request.get("bad")), (Some(""), Some("%zz")));
        assert_eq!((request.get("utf"), request.get("y")), (Some("\u{fffd}"), None));
        for text in ["n=-1", "n=+1", "n=", "n=1.5", "n=99999999999999999999", "n=0x10", "n=../1"] {
            assert!(Request::new("", text).number("n").is_err(), "{text}");
        }
        assert_eq!(Request::new("", "a=0xffffffffffffffff").address("a"), Ok(Some(u64::MAX)));
        assert!(Request::new("", "a=0x%2b1").address("a").is_err());
        assert!(request.limit("from", 3, 11).is_err());
        assert_eq!(request.word("from", &["12", "b"]), Ok("12"));
        assert_eq!(request.word("no", &["a", "b"]), Ok("a"));
    }
}
