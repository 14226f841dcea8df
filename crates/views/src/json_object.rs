//! One JSON object, written field by field in the order of the calls.

pub use tracewright_base::json_string as string;

use crate::digits::{decimal, hex};

/// An incomplete object.
#[derive(Debug)]
pub struct Object<'a> {
    out: &'a mut String,
    first: bool,
}

impl<'a> Object<'a> {
    /// Begins an object at the end of `out`.
    #[inline]
    pub fn new(out: &'a mut String) -> Self {
        out.push('{');
        Object { out, first: true }
    }

    /// Continues an object that has fields.
    #[inline]
    pub fn more(out: &'a mut String) -> Self {
        Object { out, first: false }
    }

    #[inline]
    fn key(&mut self, key: &str) {
        if !self.first {
            self.out.push(',');
        }
        self.first = false;
        self.out.push('"');
        self.out.push_str(key);
        self.out.push_str("\":");
    }

    /// A string.
    pub fn text(mut self, key: &str, value: &str) -> Self {
        self.key(key);
        string(value, self.out);
        self
    }

    /// A string, where it is not `None`.
    pub fn maybe_text(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    /// A number below 2^53.
    #[inline]
    pub fn number(mut self, key: &str, value: u64) -> Self {
        self.key(key);
        decimal(value, self.out);
        self
    }

    /// A number below 2^53, where it is not `None`.
    pub fn maybe_number(self, key: &str, value: Option<u64>) -> Self {
        match value {
            Some(value) => self.number(key, value),
            None => self,
        }
    }

    /// A number of up to 64 bits, as a string of hexadecimal digits after `0x`.
    #[inline]
    pub fn hex(mut self, key: &str, value: u64) -> Self {
        self.key(key);
        self.out.push_str("\"0x");
        hex(value, self.out);
        self.out.push('"');
        self
    }

    /// [`hex`](Self::hex), where it is not `None`.
    pub fn maybe_hex(self, key: &str, value: Option<u64>) -> Self {
        match value {
            Some(value) => self.hex(key, value),
            None => self,
        }
    }

    /// A number of up to 64 bits, as a string of decimal digits.
    pub fn digits(mut self, key: &str, value: u64) -> Self {
        self.key(key);
        self.out.push('"');
        decimal(value, self.out);
        self.out.push('"');
        self
    }

    /// `true` or `false`.
    #[inline]
    pub fn flag(mut self, key: &str, value: bool) -> Self {
        self.key(key);
        self.out.push_str(if value { "true" } else { "false" });
        self
    }

    /// `true`; the field is left out where `value` is false.
    pub fn mark(self, key: &str, value: bool) -> Self {
        if value { self.flag(key, true) } else { self }
    }

    /// Bytes, as a string of two hexadecimal digits each.
    pub fn bytes(mut self, key: &str, bytes: &[u8]) -> Self {
        self.key(key);
        self.out.push('"');
        for &byte in bytes {
            crate::digits::hex_padded(byte.into(), 2, self.out);
        }
        self.out.push('"');
        self
    }

    /// The JSON value that `write` appends.
    pub fn value(mut self, key: &str, write: impl FnOnce(&mut String)) -> Self {
        self.key(key);
        write(self.out);
        self
    }

    /// A list: `write` appends each of `items`.
    pub fn list<T>(
        self,
        key: &str,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(T, &mut String),
    ) -> Self {
        self.value(key, |out| {
            out.push('[');
            for (n, item) in items.into_iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        })
    }

    /// Ends the object.
    #[inline]
    pub fn end(self) {
        self.out.push('}');
    }

    /// Ends the object and its line.
    pub fn line(self) {
        self.out.push_str("}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects() {
        let mut out = String::new();
        Object::new(&mut out)
            .text("name", "a \"b\"\\\n\u{1}é")
            .number("n", 12)
            .hex("address", u64::MAX)
            .digits("time", u64::MAX)
            .maybe_number("none", None)
            .mark("no", false)
            .flag("yes", true)
            .bytes("bytes", &[0, 0xff])
            .list("list", [1, 2], decimal)
            .end();
        let want = concat!(
            r#"{"name":"a \"b\"\\\n\u0001é","n":12,"address":"0xffffffffffffffff","#,
            r#""time":"18446744073709551615","yes":true,"bytes":"00ff","list":[1,2]}"#,
        );
        assert_eq!(out, want);
    }
}
