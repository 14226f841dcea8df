//! The file of a Debian package: an archive of `ar` with three members. (deb(5), ar(5))

/// The package with these members, each a `.tar.xz`.
pub(super) fn deb(control: &[u8], data: &[u8], time: u64) -> Vec<u8> {
    let mut file = b"!<arch>\n".to_vec();
    for (name, content) in
        [("debian-binary", &b"2.0\n"[..]), ("control.tar.xz", control), ("data.tar.xz", data)]
    {
        // Name, time, owner, group, mode in octal, size, and the end of the header.
        let header =
            format!("{name:<16}{time:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", content.len());
        file.extend(header.as_bytes());
        file.extend(content);
        if content.len() % 2 != 0 {
            file.push(b'\n');
        }
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Headers have 60 bytes and begin at even offsets.
    #[test]
    fn members_are_aligned() {
        let file = deb(b"abc", b"d", 7);
        let text = String::from_utf8(file).unwrap();
        let (magic, first, member) = (8, 8 + 60, 8 + 60 + 4);
        assert_eq!(&text[..magic], "!<arch>\n");
        assert!(
            text[magic..first].starts_with("debian-binary   7           0     0     100644  4  ")
        );
        assert!(text[first..].starts_with("2.0\ncontrol.tar.xz  "));
        assert_eq!(&text[member + 60..member + 64], "abc\n");
        assert!(text[member + 64..].starts_with("data.tar.xz "));
    }
}
