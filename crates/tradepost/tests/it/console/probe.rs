//! The prober, run from the console.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use super::*;

/// Looks until nothing is at work.
fn done(browser: &Browser<'_>) -> String {
    for _ in 0..6_000 {
        let shown = text(&browser.get("/console/probe"));
        if !shown.contains(">Running<") {
            return shown;
        }
        thread::park_timeout(Duration::from_millis(20));
    }
    panic!("it did not end within two minutes");
}

/// An address that leads to a server once it is known where that is: cards name it before.
pub fn leading() -> (String, Arc<OnceLock<SocketAddr>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let target = Arc::new(OnceLock::<SocketAddr>::new());
    let known = Arc::clone(&target);
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Some(Ok(server)) = known.get().map(TcpStream::connect) else { continue };
            let ways =
                [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)];
            for (mut from, mut to) in ways {
                thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
    (url, target)
}

#[test]
fn the_prober_asks_the_dealers_agent_and_its_report_stays() {
    let (url, target) = leading();
    let fixture = Fixture::with(|config| {
        config.dealers[0].hosts.clear();
        config.dealers[0].public_url = Some(url);
        config.dealers[0].rate_limit.requests = 0;
    });
    target.set(fixture.server.address).unwrap();
    let egon = fixture.enter("egon");
    let before = text(&egon.get("/console/probe"));
    assert!(before.contains("No run yet") && before.contains("Probe now"), "{before}");
    assert_eq!(egon.get(&format!("/console/probe/report?dealer={ONE}")).status, 404);
    assert_eq!(egon.do_it("/console/probe", &[("dealer", ONE)]), "probe");
    let shown = done(&egon);
    for part in ["Grade A", "egon, <time", "the whole report", "Probe again", "Passed ("] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let report = egon.get(&format!("/console/probe/report?dealer={ONE}"));
    assert_eq!(report.header("content-disposition"), Some("attachment; filename=\"probe.html\""));
    assert!(text(&report).contains("grade A"));
    assert!(fixture.record(ONE).contains(&("egon".to_owned(), "agent_probed".to_owned(), None)));
    // What is another's is not there.
    let other = fixture.enter("other");
    assert_eq!(other.get(&format!("/console/probe?dealer={ONE}")).status, 404);
    assert_eq!(other.get(&format!("/console/probe/report?dealer={ONE}")).status, 404);
    assert_eq!(other.post("/console/probe", &[("dealer", ONE)]).status, 404);
    assert!(text(&other.get("/console/probe")).contains("No run yet"));
}

#[test]
fn one_run_at_a_time_and_reaching_nobody_is_said() {
    // It takes connections and says nothing until it is gone.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let fixture = Fixture::with(|config| config.dealers[0].public_url = Some(url.clone()));
    let maria = fixture.enter("maria");
    let other = fixture.enter("other");
    assert_eq!(maria.do_it("/console/probe", &[("dealer", ONE)]), "probe");
    let shown = text(&maria.get("/console/probe"));
    assert!(shown.contains(">Running<") && shown.contains(&url), "{shown}");
    assert_eq!(maria.post("/console/probe", &[("dealer", ONE)]).status, 422);
    assert_eq!(other.post("/console/probe", &[("dealer", TWO)]).status, 422);
    let theirs = text(&other.get("/console/probe"));
    assert!(theirs.contains("checking another agent") && !theirs.contains(&url), "{theirs}");
    drop(silent);
    let shown = done(&maria);
    assert!(shown.contains("The run failed") && shown.contains("Probe again"), "{shown}");
    // The place is free again.
    assert_eq!(other.do_it("/console/probe", &[("dealer", TWO)]), "probe");
}
