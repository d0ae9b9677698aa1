//! A proxy as companies have them: it opens tunnels (CONNECT), passes requests without TLS on, and may want
//! to know who asks. Whatever name is asked for, it leads to one address, as the name service of a network
//! would that the client is not in.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::proxy::Passing;

/// A proxy on a port of its own.
pub struct ConnectProxy {
    pub address: SocketAddr,
    asked: Receiver<Passing>,
}

impl ConnectProxy {
    /// Starts one that leads to this address, for callers with this `Proxy-Authorization`.
    pub fn start(target: SocketAddr, wanted: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, asked) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let sender = sender.clone();
                std::thread::spawn(move || serve(&stream, target, wanted, &sender));
            }
        });
        Self { address, asked }
    }

    /// What was asked of it since the last look: the first lines of requests.
    pub fn asked(&self) -> Vec<String> {
        self.asked.try_iter().map(|passing| passing.first).collect()
    }
}

fn serve(
    client: &TcpStream,
    target: SocketAddr,
    wanted: Option<&str>,
    asked: &Sender<Passing>,
) -> Option<()> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let mut request = Passing::read(&mut reader)?;
    let is_known =
        wanted.is_none_or(|wanted| request.header("proxy-authorization") == Some(wanted));
    let _ = asked.send(request.clone());
    let mut out = client;
    if !is_known {
        let answer = "HTTP/1.1 407 Who are you?\r\nproxy-authenticate: Basic realm=\"p\"\r\n\
                      content-length: 0\r\nconnection: close\r\n\r\n";
        out.write_all(answer.as_bytes()).ok()?;
        return out.shutdown(Shutdown::Write).ok();
    }
    let mut server = TcpStream::connect(target).ok()?;
    if request.first.starts_with("CONNECT ") {
        out.write_all(b"HTTP/1.1 200 Here it is\r\n\r\n").ok()?;
    } else {
        // A request without TLS names the whole address.
        request.read_body(&mut reader)?;
        let (method, rest) = request.first.split_once(" http://")?;
        let (_, path) = rest.split_once('/')?;
        request.first = format!("{method} /{path}");
        request.drop_header("proxy-authorization");
        request.set_header("connection", "close");
        request.write(&mut server).ok()?;
    }
    let mut from_server = server.try_clone().ok()?;
    let mut to_client = client.try_clone().ok()?;
    let back = std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Write);
    });
    let mut buffer = [0; 8192];
    while let Ok(count @ 1..) = reader.read(&mut buffer) {
        server.write_all(buffer.get(..count)?).ok()?;
    }
    let _ = server.shutdown(Shutdown::Write);
    back.join().ok()
}
