//! Hostile requests: too many, too slow, too large, malformed.
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::sync::mpsc;

use testkit::namespace::alone;

use crate::stage::{Stage, connect, dropped};

/// What comes until the server ends a connection, which it has to.
fn until_let_go(stream: &mut TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        // What was sent and not read makes it a reset.
        let is_waiting = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
        assert!(!is_waiting, "the connection is not ended: {error}");
    }
    answer
}

#[test]
fn a_thousand_connections_do_no_harm() {
    alone(|| {
        let stage = Stage::shown();
        let crowd: Vec<TcpStream> = (0..1_000).map(|_| connect(stage.address)).collect();
        // Those beyond the limit are told so; the others are let go when they say nothing.
        let mut told = 0;
        for mut stream in crowd {
            let answer = until_let_go(&mut stream);
            told += usize::from(answer.starts_with(b"HTTP/1.1 503"));
        }
        assert!((800..=900).contains(&told), "{told}");
        assert_eq!(stage.get("/api/v1/network").status, 200);
    });
}

#[test]
fn who_sends_slowly_or_nothing_is_let_go() {
    alone(|| {
        let stage = Stage::shown();
        let mut slow: Vec<TcpStream> = [
            "GET /api/v1/network HTTP/1.1\r\nHost: ",
            "POST /api/v1/requests HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
            "",
            "\u{16}\u{3}\u{1}",
        ]
        .map(|text| {
            let mut stream = connect(stage.address);
            stream.write_all(text.replace("127.0.0.1", &stage.address.to_string()).as_bytes()).unwrap();
            stream
        })
        .into();
        let mut long = connect(stage.address);
        let head = format!(
            "POST /api/v1/requests HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{{",
            stage.address
        );
        long.write_all(head.as_bytes()).unwrap();
        slow.push(long);
        slow.iter_mut().for_each(|stream| drop(until_let_go(stream)));
    });
}

#[test]
fn nonsense_is_answered_or_closed() {
    alone(|| {
        let stage = Stage::shown();
        let host = format!("Host: {}\r\n", stage.address);
        let mut large = format!("GET / HTTP/1.1\r\n{host}");
        (0..100).for_each(|number| large += &format!("X-{number}: {}\r\n", "x".repeat(1_000)));
        let many: String = (0..1_000).map(|number| format!("X-{number}: x\r\n")).collect();
        let long = "a".repeat(100_000);
        for (text, statuses) in [
            (format!("{large}\r\n"), &[431, 400][..]),
            (format!("GET / HTTP/1.1\r\n{host}{many}\r\n"), &[431, 400]),
            (format!("GET /{long} HTTP/1.1\r\n{host}\r\n"), &[414, 431, 400]),
            (format!("GET / HTTP/9.9\r\n{host}\r\n"), &[400, 0, 505]),
            ("GET / HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(), &[421, 400]),
            (format!("G\0T / HTTP/1.1\r\n{host}\r\n"), &[400, 0]),
            (
                format!("CONNECT evil.example:443 HTTP/1.1\r\n{host}Connection: close\r\n\r\n"),
                &[400, 404, 405],
            ),
            (format!("TRACE / HTTP/1.1\r\n{host}Connection: close\r\n\r\n"), &[405]),
            (
                format!("GET http://evil.example/api/v1/network HTTP/1.1\r\n{host}Connection: close\r\n\r\n"),
                &[200],
            ),
            (format!("GET /../../etc/passwd HTTP/1.1\r\n{host}Connection: close\r\n\r\n"), &[404]),
            (format!("GET /api/v1/flows/%00%ff HTTP/1.1\r\n{host}Connection: close\r\n\r\n"), &[400, 404]),
            (
                format!(
                    "POST /api/v1/requests HTTP/1.1\r\n{host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz"
                ),
                &[400, 415, 0],
            ),
            (format!("POST /api/v1/requests HTTP/1.1\r\n{host}Content-Length: -1\r\n\r\n"), &[400]),
        ] {
            let reply = stage.raw(text.as_bytes());
            assert!(statuses.contains(&reply.status), "{:.80}: {reply:?}", text);
            assert!(reply.head.len() < 4_000);
        }
        let nested = "[".repeat(60_000);
        stage.question(nested.as_bytes()).is_wrong(400);
        let bomb = format!("{{\"from\":{}", "\"".repeat(50_000));
        stage.question(bomb.as_bytes()).is_wrong(400);
        assert_eq!(stage.get("/api/v1/network").status, 200);
        assert!(stage.asked.lock().unwrap().is_empty(), "nothing of it reaches the manager");
    });
}

#[test]
fn a_listener_that_takes_nothing_is_left_and_the_others_hear_all() {
    alone(|| {
        let stage = Stage::shown();
        let request = format!("GET /api/v1/events HTTP/1.1\r\nHost: {}\r\n\r\n", stage.address);
        let listen = || {
            let mut stream = connect(stage.address);
            stream.write_all(request.as_bytes()).unwrap();
            stream
        };
        let _deaf: Vec<TcpStream> = (0..10).map(|_| listen()).collect();
        let mut good = listen();
        stage.await_metric("punctual_web_listeners 11");
        let count = |text: &str| text.matches("event: history").count();
        let (hears, heard) = mpsc::channel();
        let reads = std::thread::spawn(move || {
            let (mut text, mut part) = (String::new(), vec![0; 1 << 20]);
            while !text.contains("the last one") {
                let read = good.read(&mut part).unwrap();
                assert!(read > 0, "{} bytes and no more", text.len());
                text += &String::from_utf8_lossy(&part[..read]);
                // What is counted is not looked at again.
                let whole = text.rfind("\n\n").map_or(0, |end| end + 2);
                hears.send(count(&text[..whole])).unwrap();
                text.drain(..whole.min(text.find("the last one").unwrap_or(usize::MAX)));
            }
        });
        let mut said = dropped(1);
        said.text = "x".repeat(20_000);
        let mut sum = 0;
        for number in 0..2_000 {
            stage.publisher.lock().unwrap().say(said.clone());
            while number > sum + 100 {
                sum += heard.recv().expect("the one that listens is not left");
            }
        }
        said.text = "the last one".to_owned();
        stage.publisher.lock().unwrap().say(said);
        reads.join().unwrap();
        assert_eq!(sum + heard.iter().sum::<usize>(), 2_001, "all that is said is heard");
        stage.await_metric("punctual_web_listeners 0\n");
    });
}

#[test]
fn so_many_listen_and_no_more() {
    alone(|| {
        let stage = Stage::shown();
        let request = format!("GET /api/v1/events HTTP/1.1\r\nHost: {}\r\n\r\n", stage.address);
        let listeners: Vec<TcpStream> = (0..32)
            .map(|_| {
                let mut stream = connect(stage.address);
                stream.write_all(request.as_bytes()).unwrap();
                stream
            })
            .collect();
        stage.await_metric("punctual_web_listeners 32");
        stage.get("/api/v1/events").is_wrong(503);
        drop(listeners);
        stage.show(9);
        stage.await_metric("punctual_web_listeners 0\n");
    });
}

#[test]
fn a_manager_that_does_not_answer_holds_nobody() {
    alone(|| {
        let stage = Stage::shown();
        stage.answers.store(false, Ordering::Relaxed);
        let question = br#"{"from":"camera","to":"display","largest_message":1,"minimum_separation":1,"maximum_latency":1}"#;
        std::thread::scope(|scope| {
            let ask = || stage.question(question).status;
            let asking: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            // Meanwhile everything else is answered.
            assert_eq!(stage.get("/api/v1/flows").status, 200);
            let mut statuses: Vec<u16> = asking.into_iter().map(|asks| asks.join().unwrap()).collect();
            statuses.sort_unstable();
            assert!(statuses.contains(&503) && statuses.contains(&429), "{statuses:?}");
        });
    });
}
