//! Simulates requests of a service with known effects.
//!
//! The load is a slow random walk with bursts. Hosts and processes differ, and costs have a heavy tail. Rulers in
//! workers measure most of the load, those of the agent less.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use steady_model::RequestRuler;

use super::recording::{AgentReading, Recorded};

/// Parameters of a simulated service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    pub(crate) hosts: u32,
    /// Number of processes per host.
    pub(crate) processes: u64,
    pub(crate) seconds: u64,
    /// Requests per second and process.
    pub(crate) rate: f64,
    /// Spread of the cost between processes (standard deviation of logarithms).
    pub(crate) process_spread: f64,
    /// Spread of the load over time (standard deviation of logarithms).
    pub(crate) load_spread: f64,
    /// Second and size of a step of the load, as a logarithm.
    pub(crate) step: Option<(u64, f64)>,
}

impl Service {
    /// Creates a service of two processes on one host.
    pub(crate) fn small(seconds: u64) -> Service {
        Service { hosts: 1, processes: 2, seconds, rate: 60.0, process_spread: 0.01, load_spread: 0.12, step: None }
    }
}

/// First second of simulated requests.
pub(crate) const BEGIN: u64 = 1_000;

pub(crate) fn normal(coin: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (coin.random(), coin.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Simulates requests in the order of their ends, readings of the agents, and the utilisation of the first host in each
/// second from second 0 on.
pub(crate) fn requests(
    service: &Service,
    coin: &mut ChaCha8Rng,
) -> (Vec<Recorded>, Vec<AgentReading>, Vec<Option<f64>>) {
    let (mut requests, mut agent, mut busy) = (Vec::new(), Vec::new(), Vec::new());
    for host in 0..service.hosts {
        let loads = loads(service, coin);
        if host == 0 {
            busy = (0..BEGIN + service.seconds)
                .map(|second| {
                    let tenth = second.checked_sub(BEGIN).map(|second| second as usize * 10);
                    let load = tenth.and_then(|tenth| loads.get(tenth)).copied().unwrap_or(0.0);
                    Some((0.5 + load + 0.05 * normal(coin)).clamp(0.0, 1.0))
                })
                .collect();
        }
        let host_level = 0.05 * normal(coin);
        for process in 0..service.processes {
            let level = host_level + service.process_spread * normal(coin);
            of_process(service, host, process, level, &loads, coin, &mut requests);
        }
        for (tenth, load) in loads.iter().enumerate().filter(|(tenth, _)| tenth % 2 == 0) {
            let at = BEGIN * 1_000_000_000 + tenth as u64 * 100_000_000;
            let read = |usual: f64, coin: &mut ChaCha8Rng| usual * (0.8 * load + 0.06 * normal(coin)).exp();
            for _ in 0..3 {
                agent.push(AgentReading::once(at, host, RequestRuler::Syscall, read(30e3, coin)));
                agent.push(AgentReading::once(at, host, RequestRuler::Alu, read(12e3, coin)));
            }
        }
    }
    requests.sort_by_key(|request| (request.end, request.host, request.process));
    (requests, agent, busy)
}

/// Simulates the load in each tenth of a second: a slow random walk, and bursts of about a second.
fn loads(service: &Service, coin: &mut ChaCha8Rng) -> Vec<f64> {
    let (mut slow, mut burst) = (service.load_spread * normal(coin), 0.0);
    (0..service.seconds * 10)
        .map(|tenth| {
            slow = 0.998 * slow + service.load_spread * (1.0_f64 - 0.998 * 0.998).sqrt() * normal(coin);
            burst = if coin.random::<f64>() < 0.05 { coin.random_range(0.0..0.15) } else { 0.9 * burst };
            let step = service.step.map_or(0.0, |(from, size)| if tenth / 10 >= from { size } else { 0.0 });
            slow + burst + step
        })
        .collect()
}

fn of_process(
    service: &Service,
    host: u32,
    process: u64,
    level: f64,
    loads: &[f64],
    coin: &mut ChaCha8Rng,
    requests: &mut Vec<Recorded>,
) {
    let (mut at, mut number) = (0.0, 150);
    loop {
        at += -(1.0 - coin.random::<f64>()).ln() / service.rate;
        let Some(load) = loads.get((at * 10.0) as usize) else { return };
        number += 1;
        let route = coin.random_range(0..3_u32);
        let tail = if coin.random::<f64>() < 0.05 { coin.random_range(0.1..1.5) } else { 0.0 };
        let log = [14.8, 14.5, 14.3][route as usize] + level + load + tail + 0.05 * normal(coin);
        let (cpu, end) = (log.exp() as u64, BEGIN * 1_000_000_000 + (at * 1e9) as u64);
        let kind = RequestRuler::ALL[coin.random_range(0..RequestRuler::ALL.len())];
        let ruler = (coin.random::<f64>() < 0.6).then(|| (kind, 40e3 * (0.9 * load + 0.05 * normal(coin)).exp()));
        let wall = cpu + coin.random_range(10_000..2_000_000_u64);
        requests.push(Recorded { end, host, process, number, version: 0, route, cpu, wall, ruler });
    }
}
