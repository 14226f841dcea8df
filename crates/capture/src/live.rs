//! Trace data that arrive while they are read, and events that leave as they arrive.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::path::Path;
use std::time::Duration;

use crate::open_files::reason;
use crate::problem::{OpenError, Problem};

/// How an address of a connection begins.
pub const TCP: &str = "tcp://";

/// The longest time that a connection may take.
const CONNECT: Duration = Duration::from_secs(5);

/// An open source of trace data.
pub enum Live {
    /// A regular file, which has an end.
    File(File),
    /// Standard input, a pipe, a serial port or another device.
    Stream(Box<dyn Read + Send>),
    /// A connection to a debug probe.
    Connection(TcpStream),
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Live::File(_) => "File",
            Live::Stream(_) => "Stream",
            Live::Connection(_) => "Connection",
        })
    }
}

impl Live {
    /// Opens `path`: `-` for the standard input, `tcp://HOST:PORT` for a connection, or a file.
    ///
    /// # Errors
    /// [`OpenError`] where it cannot be opened.
    pub fn open(path: &Path) -> Result<Live, OpenError> {
        let failed = |why: String| OpenError::new(path, Problem::Unreadable(why));
        if path == Path::new("-") {
            return Ok(Live::Stream(Box::new(io::stdin())));
        }
        if let Some(address) = path.to_str().and_then(|path| path.strip_prefix(TCP)) {
            return connect(address).map(Live::Connection).map_err(failed);
        }
        let file = File::open(path).map_err(|error| failed(reason(&error)))?;
        let about = file.metadata().map_err(|error| failed(reason(&error)))?;
        if about.is_dir() {
            return Err(failed("it is a folder".to_owned()));
        }
        Ok(if about.is_file() { Live::File(file) } else { Live::Stream(Box::new(file)) })
    }
}

/// Connects to `HOST:PORT`.
fn connect(address: &str) -> Result<TcpStream, String> {
    let address = address.trim_end_matches('/');
    let known = address.to_socket_addrs().map_err(|error| {
        let mut why = error.to_string().to_lowercase();
        if !address.contains(':') {
            let _ = write!(why, "; write the port, too, such as tcp://localhost:3344");
        }
        why
    })?;
    let mut last = "the host has no address".to_owned();
    for address in known {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = reason(&error),
        }
    }
    Err(last)
}

/// How the address of a receiver of datagrams begins.
pub const UDP: &str = "udp://";

/// Lines that are sent as datagrams. A datagram without a receiver is lost.
#[derive(Debug)]
pub struct Datagrams {
    socket: UdpSocket,
    /// The beginning of a line.
    line: Vec<u8>,
}

impl Datagrams {
    /// Sends to `HOST:PORT`.
    ///
    /// # Errors
    /// Why the address cannot be used.
    pub fn connect(address: &str) -> io::Result<Datagrams> {
        let address = address.trim_end_matches('/');
        let to = address.to_socket_addrs()?.next();
        let to = to.ok_or_else(|| io::Error::other("the host has no address"))?;
        let any = match to {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(to)?;
        Ok(Datagrams { socket, line: Vec::new() })
    }

    fn send(&mut self) -> io::Result<()> {
        let sent = self.socket.send(&self.line);
        self.line.clear();
        match sent {
            // No program receives at the port of this machine.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
            sent => sent.map(|_| ()),
        }
    }
}

impl Write for Datagrams {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for &byte in bytes {
            match byte {
                b'\n' => self.send()?,
                byte => self.line.push(byte),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_connection_is_read() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let path = format!("{TCP}{}", server.local_addr().unwrap());
        let Live::Connection(mut stream) = Live::open(Path::new(&path)).unwrap() else {
            panic!("no connection");
        };
        server.accept().unwrap().0.write_all(b"abc").unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"abc");
    }

    #[test]
    fn failures_have_reasons() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let path = format!("{TCP}{}", server.local_addr().unwrap());
        drop(server);
        let why = Live::open(Path::new(&path)).unwrap_err().to_string();
        assert!(why.contains("refused"), "{why}");
        let why = Live::open(Path::new("tcp://localhost")).unwrap_err().to_string();
        assert!(why.contains("write the port"), "{why}");
        let why = Live::open(Path::new("tcp://localhost:99999999")).unwrap_err().to_string();
        assert!(why.contains("port"), "{why}");
        assert!(Live::open(&std::env::temp_dir()).is_err());
    }
}
