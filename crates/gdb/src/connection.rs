//! Connections to gdb: over two streams, or over a port of the loopback interface.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::packet::{Framer, Received};
use crate::server::Server;

/// Packets that wait for the server: gdb sends one, and then waits for the answer.
const WAITING: usize = 64;

/// A port of the loopback interface at which gdb connects.
#[derive(Debug)]
pub struct Port(TcpListener);

impl Port {
    /// Opens a port of 127.0.0.1; 0: any free one. No other interface is ever opened.
    ///
    /// # Errors
    /// Where the port is in use, or not permitted.
    pub fn open(port: u16) -> io::Result<Port> {
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map(Port)
    }

    /// Its address.
    ///
    /// # Errors
    /// Where the operating system states none.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Accepts one connection, and answers it until it ends.
    ///
    /// # Errors
    /// Where the connection fails.
    pub fn serve(self, server: &mut Server<'_>) -> io::Result<()> {
        let (mut stream, _) = self.0.accept()?;
        drop(self.0);
        // An answer is one packet, for which gdb waits.
        stream.set_nodelay(true)?;
        serve(server, stream.try_clone()?, &mut stream)
    }
}

/// Answers what `reader` receives until the session or the connection ends. A thread reads, so that
/// Ctrl-C ends a run; it ends with the connection.
///
/// # Errors
/// Where `writer` fails, but not where the other side has closed the connection.
pub fn serve(
    server: &mut Server<'_>,
    reader: impl Read + Send + 'static,
    writer: &mut impl Write,
) -> io::Result<()> {
    let (send, packets) = sync_channel(WAITING);
    let stop = server.stop();
    thread::Builder::new().spawn(move || read(reader, &stop, &send))?;
    answer(server, &packets, writer)
}

fn read(mut reader: impl Read, stop: &Arc<AtomicBool>, send: &SyncSender<Received>) {
    let mut framer = Framer::default();
    let mut space = [0; 1 << 12];
    loop {
        let read = match reader.read(&mut space) {
            Ok(read) if read > 0 => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            _ => return,
        };
        for byte in space.get(..read).unwrap_or_default() {
            let Some(received) = framer.byte(*byte) else { continue };
            if received == Received::Interrupt {
                stop.store(true, Ordering::Relaxed);
            }
            if send.send(received).is_err() {
                return;
            }
        }
    }
}

fn answer(
    server: &mut Server<'_>,
    packets: &Receiver<Received>,
    writer: &mut impl Write,
) -> io::Result<()> {
    let mut out = Vec::new();
    for received in packets {
        server.receive(&received, &mut out);
        match writer.write_all(&out).and_then(|()| writer.flush()) {
            Err(error) if is_closed(&error) => return Ok(()),
            done => done?,
        }
        out.clear();
        if server.is_closed() {
            break;
        }
    }
    Ok(())
}

/// Whether gdb was ended.
fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_loopback_interface_is_opened() {
        let port = Port::open(0).expect("a free port");
        let address = port.address().expect("an address");
        assert!(address.ip().is_loopback() && address.port() != 0, "{address}");
    }
}
