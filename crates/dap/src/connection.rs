//! Connections to a client: over two streams, or over a port of the loopback interface.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

use crate::control::Control;
use crate::framing::{Framer, Received};
use crate::handshake::{Before, Handshake, Launch};
use crate::session::Session;

/// Messages that wait for the server.
const WAITING: usize = 64;

/// A port of the loopback interface at which a client connects.
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

    /// Accepts one connection.
    ///
    /// # Errors
    /// Where the connection fails.
    pub fn accept(self) -> io::Result<Connection<TcpStream>> {
        let (stream, _) = self.0.accept()?;
        // An answer is one message, for which the client waits.
        stream.set_nodelay(true)?;
        Connection::new(stream.try_clone()?, stream)
    }
}

/// A connection to a client.
pub struct Connection<W> {
    messages: Receiver<Received>,
    control: Arc<Control>,
    writer: W,
}

impl<W: Write> Connection<W> {
    /// A connection over two streams. A thread reads, so that a request ends a run; it ends with
    /// the connection.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn new(reader: impl Read + Send + 'static, writer: W) -> io::Result<Connection<W>> {
        let (send, messages) = sync_channel(WAITING);
        let control = Arc::<Control>::default();
        let own = Arc::clone(&control);
        thread::Builder::new().spawn(move || read(reader, &own, &send))?;
        Ok(Connection { messages, control, writer })
    }

    /// What ends runs and answers of a session on this connection.
    pub fn control(&self) -> Arc<Control> {
        Arc::clone(&self.control)
    }

    /// Answers until the client wants a trace. `None` where it ends the connection.
    ///
    /// # Errors
    /// Where the connection fails.
    pub fn launch(&mut self, handshake: &mut Handshake) -> io::Result<Option<Launch>> {
        while let Ok(received) = self.messages.recv() {
            let before = handshake.receive(&received);
            if !self.write(&handshake.take())? {
                break;
            }
            match before {
                Before::Answered => {}
                Before::Launch(launch) => return Ok(Some(*launch)),
                Before::Closed => break,
            }
        }
        Ok(None)
    }

    /// Sends the messages of a handshake that wait.
    ///
    /// # Errors
    /// Where the connection fails.
    pub fn flush(&mut self, handshake: &mut Handshake) -> io::Result<()> {
        self.write(&handshake.take()).map(|_| ())
    }

    /// Answers until the session or the connection ends.
    ///
    /// # Errors
    /// Where the connection fails, but not where the client has closed it.
    pub fn serve(&mut self, session: &mut Session<'_>) -> io::Result<()> {
        let attention = self.control.attention();
        while !session.is_closed() {
            if !self.write(&session.take())? {
                break;
            }
            attention.store(false, Ordering::Relaxed);
            let received = match self.messages.try_recv() {
                Ok(received) => received,
                Err(TryRecvError::Disconnected) => break,
                Err(TryRecvError::Empty) if session.has_work() => {
                    session.work();
                    continue;
                }
                Err(TryRecvError::Empty) => match self.messages.recv() {
                    Ok(received) => received,
                    Err(_) => break,
                },
            };
            session.receive(&received);
            if !self.write(&session.take())? {
                break;
            }
            session.proceed();
        }
        self.write(&session.take()).map(|_| ())
    }

    /// Writes bytes. `false` where the client has closed the connection.
    fn write(&mut self, bytes: &[u8]) -> io::Result<bool> {
        if bytes.is_empty() {
            return Ok(true);
        }
        match self.writer.write_all(bytes).and_then(|()| self.writer.flush()) {
            Err(error) if is_closed(&error) => Ok(false),
            done => done.map(|()| true),
        }
    }
}

fn read(mut reader: impl Read, control: &Control, send: &SyncSender<Received>) {
    let mut framer = Framer::default();
    let mut space = vec![0; 1 << 14];
    loop {
        let read = match reader.read(&mut space) {
            Ok(read) if read > 0 => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            _ => return control.close(),
        };
        let mut is_open = true;
        framer.feed(space.get(..read).unwrap_or_default(), &mut |received| {
            control.arrives(&received);
            is_open = is_open && send.send(received).is_ok();
            control.waits();
        });
        if !is_open {
            return;
        }
    }
}

/// Whether the client was ended.
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
