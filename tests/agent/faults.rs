//! Kills, resource limits, full disks and changes of the clock.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use crate::running::{self, Agent, request, requests, rows};
use crate::steady::{eventually, output_of, skip};

#[test]
fn a_kill_loses_the_open_second_at_most() {
    let mut agent = Agent::start("killed", &["--no-rulers"]);
    requests(&agent.sender(), 100, |number| request(number, "v1", "/", "none"));
    agent.await_requests(100);
    for turn in 1..=4 {
        // Kill at different fractions of a second.
        sleep(Duration::from_millis(170 * turn));
        agent.kill_and_start_again();
        requests(&agent.sender(), 100, |number| request(number, "v1", "/", "none"));
        // All requests stored before the kill are still there.
        agent.await_requests(100 * (turn + 1));
    }
    let kept = agent.end();
    assert_eq!(kept.requests.iter().map(|row| row.sums.first_requests).sum::<u64>(), 500);
}

#[test]
fn only_requests_of_the_last_second_are_lost_with_a_killed_agent() {
    // The numbers of stored requests, and of those that are older than the last second.
    let attempt = || {
        let mut agent = Agent::start("open", &["--no-rulers"]);
        let sender = agent.sender();
        let mut sent = Vec::new();
        for number in 1..=250 {
            let line = request(number, "v1", "/", "none");
            requests(&sender, 1, |_| line.clone());
            sent.push(steady_linux::clock::monotonic().0);
            sleep(Duration::from_millis(10));
        }
        let killed = steady_linux::clock::monotonic().0;
        agent.kill_and_start_again();
        let kept = rows(&agent.store()).requests;
        let kept = kept.iter().map(|row| row.sums.requests + row.sums.first_requests).sum::<u64>();
        // The writer has all completed seconds. Writing may take half a second, which gives 1.5 s.
        let older = sent.iter().filter(|at| **at + 1_500_000_000 < killed).count() as u64;
        assert!(older > 50, "{older}");
        (kept, older)
    };
    // On a busy machine, writing may take longer.
    let mut found = vec![];
    let is_kept = (0..3).any(|_| {
        let (kept, older) = attempt();
        found.push((kept, older));
        kept >= older
    });
    assert!(is_kept, "stored, and older than the last second: {found:?}");
}

/// What services could send before the agent has ended is stored.
#[test]
fn every_request_that_was_sent_before_the_end_is_stored() {
    let agent = Agent::start("sent", &["--listen", "127.0.0.1:0"]);
    let sender = agent.sender();
    sender.set_nonblocking(true).unwrap();
    let sent = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&sent);
    let services = std::thread::spawn(move || {
        loop {
            let line = request(count.load(Ordering::Relaxed) + 1, "v1", "/", "none");
            match sender.send(format!("steady/1\tshop\t7\t1\n{line}").as_bytes()) {
                Ok(_) => {
                    count.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => sleep(Duration::from_micros(200)),
                Err(_) => return,
            }
        }
    });
    // The end is in the middle of a second, while requests arrive.
    sleep(Duration::from_millis(700));
    assert!(eventually(|| sent.load(Ordering::Relaxed) > 1_000), "{sent:?}");
    let rows = agent.end();
    services.join().unwrap();
    let stored: u64 = rows.requests.iter().map(|row| row.sums.requests + row.sums.first_requests).sum();
    assert_eq!(stored, sent.load(Ordering::Relaxed));
}

#[test]
fn failures_due_to_resource_limits_are_reported() {
    let test = "failures_due_to_resource_limits_are_reported";
    let folder = running::folder("limits");
    let run_under = |args: &[&str]| {
        let (socket, store) = (folder.join("s/agent.sock"), folder.join("a.db"));
        let mut command = Command::new(args[0]);
        command.args(&args[1..]).args([env!("CARGO_BIN_EXE_steady"), "agent", "--socket"]);
        output_of(
            command.arg(socket).arg("--store").arg(store).output().expect("prlimit and setpriv (util-linux) start"),
        )
    };
    let (status, _, error) = run_under(&["prlimit", "--fsize=0"]);
    assert!(status == 2 && error.contains("no more than 0 bytes (ulimit -f)"), "{status} {error}");
    if !rustix::process::geteuid().is_root() {
        return skip(test, "only root can change to another user");
    }
    // A user with no other processes.
    let user = ["setpriv", "--reuid=64123", "--regid=64123", "--clear-groups"];
    let version = Command::new(user[0]).args(&user[1..]).args([env!("CARGO_BIN_EXE_steady"), "--version"]).output();
    if !version.is_ok_and(|output| output.status.success()) {
        return skip(test, "other users have no access to the binary");
    }
    fs::remove_dir_all(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::chown(&folder, Some(64_123), Some(64_123)).unwrap();
    let (status, _, error) = run_under(&[&user[..], &["prlimit", "--nproc=1"]].concat());
    assert!(status == 125 && error.contains("a thread could not be started: "), "{status} {error}");
    fs::remove_dir_all(&folder).unwrap();
}

/// Mounts a disk of 2 MiB in a new directory. Returns `None` if this user may not.
fn small_disk(name: &str) -> Option<Unmount> {
    let disk = running::folder(name).join("disk");
    fs::create_dir_all(&disk).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m,mode=0755", "none"]).arg(&disk).output();
    mounted.is_ok_and(|output| output.status.success()).then_some(Unmount(disk))
}

/// No service is in the store, but not because none has reported.
#[test]
fn a_comparison_says_that_the_agent_cannot_write() {
    let Some(unmount) = small_disk("unwritten") else {
        return skip("a_comparison_says_that_the_agent_cannot_write", "only root may mount a small disk");
    };
    let disk = &unmount.0;
    let agent = Agent::start_with(disk.join("agent.db"), running::folder("unwritten-disk"), &["--no-rulers"]);
    // The agent creates its store after its socket.
    agent.await_status(|status| status["agent"].is_object().then_some(()));
    assert!(fs::write(disk.join("filler"), vec![1; 4 << 20]).is_err());
    let line = |number: u64| request(number, &format!("v{}", number % 20), &format!("/{}", "long".repeat(100)), "none");
    let sender = agent.sender();
    // The journal has space for some rows before a write fails, so the first rows must be many.
    requests(&sender, 2_000, |number| line(number) + &line(number + 1));
    agent.await_status(|status| status["agent"]["writing"]["trouble"].is_string().then_some(()));
    let compare = |socket: &str| {
        let mut command = crate::steady::steady();
        command.args(["release", "compare", "v1", "v2", "--store"]).arg(agent.store());
        output_of(command.env("STEADY_SOCKET", agent.folder.join(socket)).output().unwrap())
    };
    let (status, _, error) = compare("s/agent.sock");
    assert!(status == 2 && error.contains("has no service: the agent cannot write rows: "), "{status} {error}");
    let (status, _, error) = compare("s/other.sock");
    assert!(status == 2 && error.contains("no service has reported to an agent yet"), "{status} {error}");
}

#[test]
fn on_a_full_disk_the_agent_reports_and_continues_later() {
    let Some(unmount) = small_disk("full") else {
        return skip("on_a_full_disk_the_agent_reports_and_continues_later", "only root may mount a small disk");
    };
    let disk = unmount.0.clone();
    let agent = Agent::start_with(disk.join("agent.db"), running::folder("full-disk"), &["--no-rulers"]);
    let sender = agent.sender();
    requests(&sender, 50, |number| request(number, "v1", "/", "none"));
    agent.await_requests(50);
    // Fill the disk. The journal of the database has already reserved some pages.
    let full = fs::write(disk.join("filler"), vec![1; 4 << 20]);
    assert!(full.is_err());
    let line = |number: u64| request(number, &format!("v{}", number % 20), &format!("/{}", "long".repeat(100)), "none");
    let trouble = agent.await_status(|status| {
        requests(&sender, 20, line);
        status["agent"]["writing"]["trouble"].as_str().map(str::to_owned)
    });
    assert!(agent.log().contains("rows cannot be written"), "{trouble}: {}", agent.log());
    let (_, text, _) = agent.steady(&["agent", "status"]);
    assert!(text.contains("rows cannot be written"), "{text}");
    fs::remove_file(disk.join("filler")).unwrap();
    agent.await_status(|status| status["agent"]["writing"]["trouble"].is_null().then_some(()));
    assert!(agent.log().contains("rows are written again"), "{}", agent.log());
    let arrived = agent.status()["agent"]["arrived"]["requests"].as_u64().unwrap();
    let given_up = agent.status()["agent"]["writing"]["given_up"].as_u64().unwrap();
    agent.await_requests(arrived - given_up);
    drop(agent);
    drop(unmount);
}

/// A mounted disk, unmounted on drop.
struct Unmount(std::path::PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        let _ = fs::remove_dir_all(self.0.parent().unwrap());
    }
}

/// Also if no rows arrive at the time.
#[test]
fn a_removed_store_is_created_again_and_no_later_request_is_lost() {
    let mut agent = Agent::start("removed-store", &["--no-rulers"]);
    let sender = agent.sender();
    requests(&sender, 10, |number| request(number, "v1", "/", "none"));
    agent.await_requests(10);
    fs::remove_file(agent.store()).unwrap();
    agent.await_status(|_| agent.log().contains("the store was removed or replaced").then_some(()));
    fs::remove_file(agent.store()).unwrap();
    requests(&sender, 20, |number| request(number, "v1", "/", "none"));
    agent.stop();
    assert_eq!(rows(&agent.store()).requests.iter().map(|row| row.sums.first_requests).sum::<u64>(), 20);
}

#[test]
fn a_clock_that_is_set_back_is_reported_and_rows_continue() {
    let folder = running::folder("clock");
    let shift = folder.join("shift");
    fs::write(&shift, "0").unwrap();
    let mut agent = Agent::start("set-back", &["--no-rulers", "--shift", shift.to_str().unwrap()]);
    requests(&agent.sender(), 10, |number| request(number, "v1", "/", "none"));
    agent.await_requests(10);
    fs::write(&shift, "-3600").unwrap();
    let clock = agent.await_status(|status| {
        let clock = &status["agent"]["clock"];
        (clock["steps"].as_u64() == Some(1)).then(|| clock.clone())
    });
    let near = |name: &str, value: f64| (clock[name].as_f64().unwrap() - value).abs() < 2.0;
    assert!(near("last_step_seconds", -3_600.0) && near("ahead_seconds", 3_600.0), "{clock}");
    assert!(agent.log().contains("set by -3600.0 s"), "{}", agent.log());
    requests(&agent.sender(), 10, |number| request(number, "v1", "/", "none"));
    agent.await_requests(20);
    // A new agent continues from the time of the stored rows.
    agent.kill_and_start_again();
    requests(&agent.sender(), 10, |number| request(number, "v1", "/", "none"));
    agent.await_requests(30);
    let kept = agent.end();
    let seconds: Vec<u64> = kept.requests.iter().map(|row| row.second).collect();
    let (first, last) = (seconds.iter().min().unwrap(), seconds.iter().max().unwrap());
    assert!(last - first < 60, "{seconds:?}");
    fs::remove_dir_all(folder).unwrap();
}
