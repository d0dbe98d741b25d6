//! The fake peer's cells over TCP: real connections and real bytes, one connection for all clients, and blocks instead of
//! single requests. It is not the system that is measured.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What one request and its answer take of a block.
const REQUEST: usize = 12;
const BLOCK: usize = 16 * 1024;

/// Listens and echoes until the process ends; gives the address for the client.
pub(crate) fn serve(mode: &str) -> Option<String> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let addr = listener.local_addr().expect("bound").to_string();
    match mode {
        "no-addr" => return None,
        "wrong-addr" => return Some(addr), // where nobody listens any more
        "far-addr" => return Some("192.0.2.1:80".to_owned()),
        _ => {}
    }
    // The first echoes are those of `prep`; then it is a sample that the crash falls into.
    let crash_after = if mode == "server-crash" {
        20_000
    } else {
        usize::MAX
    };
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || echo(stream.expect("a client"), crash_after));
        }
    });
    Some(addr)
}

fn echo(mut stream: TcpStream, crash_after: usize) {
    let mut block = [0; BLOCK];
    let mut echoed = 0;
    while let Ok(count @ 1..) = stream.read(&mut block) {
        echoed += count;
        if echoed > crash_after {
            eprintln!("the server crashes");
            std::process::exit(9);
        }
        if stream.write_all(&block[..count]).is_err() {
            return;
        }
    }
}

/// The client's end.
pub(crate) struct Client {
    stream: TcpStream,
    pub(crate) ready_ns: u128,
}

impl Client {
    /// Connects and makes `clients` echoes.
    pub(crate) fn connect(addr: &str, clients: usize) -> Result<Self, String> {
        let begin = Instant::now();
        let stream = TcpStream::connect(addr).map_err(|e| format!("cannot connect: {e}"))?;
        let mut client = Self {
            stream,
            ready_ns: 0,
        };
        client.ask(clients)?;
        client.ready_ns = begin.elapsed().as_nanos();
        Ok(client)
    }

    /// So many requests and their answers, in blocks.
    pub(crate) fn ask(&mut self, requests: usize) -> Result<(), String> {
        let gone = |e: std::io::Error| format!("the connection ended: {e}");
        let mut left = requests * REQUEST;
        let mut block = [7; BLOCK];
        while left > 0 {
            let count = left.min(BLOCK);
            self.stream.write_all(&block[..count]).map_err(gone)?;
            self.stream.read_exact(&mut block[..count]).map_err(gone)?;
            left -= count;
        }
        Ok(())
    }

    /// A paced sample: so many requests at once, then rest until the schedule is over. The histograms are made up.
    /// Tells the time that the schedule takes, not the one it took: a busy machine must not make it late.
    pub(crate) fn paced(
        &mut self,
        rate: u64,
        secs: u64,
        mode: &str,
    ) -> Result<(String, Duration), String> {
        let (begin, requests) = (Instant::now(), rate * secs);
        self.ask(usize::try_from(requests).expect("few"))?;
        let time = match mode {
            "hasty" => Duration::from_millis(20),
            "late" => Duration::from_secs(secs) * 11 / 10,
            _ => Duration::from_secs(secs),
        };
        sleep(time.saturating_sub(begin.elapsed()));
        // Bucket 96 is 128 to 131 ns, bucket 160 is 512 to 527 ns.
        let half = requests - requests / 2;
        let late = match mode {
            "liar-hist" => requests - half + 1,
            _ => requests - half,
        };
        let (latency, service) = match mode {
            "early" => (96, 160),
            "unsorted" => (160, 96),
            _ => (160, 160),
        };
        let low = if mode == "unsorted" { 200 } else { 64 };
        let histograms = format!(
            r#","hist":[[{low},{half}],[{latency},{late}]],"hist_service":[[64,{half}],[{service},{}]]"#,
            requests - half
        );
        Ok((histograms, time))
    }
}
