//! A network between the console and a database, to be cut and to hang.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// What the network does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weather {
    /// Passes everything on.
    Fine,
    /// Accepts everything and passes nothing on.
    Hanging,
    /// Closes every connection.
    Cut,
}

type Shared = Arc<(Mutex<Weather>, Condvar)>;

/// A network with one address before the database.
pub(crate) struct Network {
    weather: Shared,
    address: String,
}

impl Network {
    /// A network to the server at `target`, `HOST:PORT`.
    pub(crate) fn to(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let weather: Shared = Arc::new((Mutex::new(Weather::Fine), Condvar::new()));
        let (theirs, target) = (Arc::clone(&weather), target.to_owned());
        // It ends with the test's process.
        std::thread::spawn(move || {
            for inward in listener.incoming() {
                let (Ok(inward), Ok(outward)) = (inward, TcpStream::connect(&target)) else {
                    continue;
                };
                let ends = [
                    (inward.try_clone().unwrap(), outward.try_clone().unwrap()),
                    (outward, inward),
                ];
                for (from, to) in ends {
                    let weather = Arc::clone(&theirs);
                    std::thread::spawn(move || pass_on(from, to, &weather));
                }
            }
        });
        Self { weather, address }
    }

    /// Its address, `HOST:PORT`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Changes what it does.
    pub(crate) fn turn(&self, weather: Weather) {
        *self.weather.0.lock().unwrap() = weather;
        self.weather.1.notify_all();
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, weather: &(Mutex<Weather>, Condvar)) {
    let mut buffer = [0; 16_384];
    loop {
        let read = from.read(&mut buffer).unwrap_or(0);
        let mut now = weather.0.lock().unwrap();
        while *now == Weather::Hanging {
            now = weather.1.wait(now).unwrap();
        }
        let is_cut = *now == Weather::Cut;
        drop(now);
        if read == 0 || is_cut || to.write_all(&buffer[..read]).is_err() {
            // The other end may have gone first.
            drop(to.shutdown(Shutdown::Both));
            drop(from.shutdown(Shutdown::Both));
            return;
        }
    }
}
