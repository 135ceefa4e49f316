//! Datagrams to the agent's socket, whose content the sender controls.

use steady_agent::table::{Limits, Now, Table};

/// Separates datagrams in the fuzzer's bytes. No valid line contains it.
const MARK: u8 = 0x1e;
/// Small limits, which short inputs can reach.
const LIMITS: Limits = Limits {
    services: 3,
    versions: 3,
    routes: 4,
    route_bytes: 200,
    classes: 2,
    processes: 4,
    rows: 64,
    late_seconds: 60,
};
/// A hundred seconds after the boot.
const NOW: Now = Now { monotonic: 100_500_000_000, ahead: 1_700_000_000 };

/// Gives datagrams to the agent's table.
///
/// Each request is counted in a row or as folded, tables stay within their limits, and all sums are finite.
pub fn datagrams(bytes: &[u8]) {
    let mut table = Table::new(LIMITS);
    let mut kept = 0;
    for datagram in bytes.split(|byte| *byte == MARK) {
        table.take_in(datagram, NOW);
        if table.is_full() {
            kept += checked_requests(&mut table);
        }
    }
    kept += checked_requests(&mut table);
    let arrived = *table.arrived();
    assert!(table.services(NOW).len() <= LIMITS.services);
    assert!(kept <= arrived.requests, "{kept} requests in rows, {arrived:?}");
    assert!(kept + arrived.folded >= arrived.requests, "{kept} requests in rows, {arrived:?}");
}

/// Removes the rows from the table and checks them. Returns the number of their requests.
fn checked_requests(table: &mut Table) -> u64 {
    let mut requests = 0;
    for rows in table.take("host") {
        let classes = rows.classes.len().max(1);
        assert!(classes <= LIMITS.classes + 2, "{rows:?}");
        for row in &rows.processes {
            assert!(row.cpu.is_finite() && row.requests_cpu.is_finite(), "{row:?}");
            assert!(row.version.is_none_or(|version| rows.versions.get(version as usize).is_some()), "{row:?}");
        }
        for row in &rows.requests {
            assert!((row.class as usize) < classes, "{row:?}");
            let sums = [row.sums.cpu, row.sums.cpu_squared, row.sums.log, row.sums.log_squared, row.sums.wall];
            assert!(sums.iter().all(|sum| sum.is_finite()), "{row:?}");
            assert!(rows.versions.get(row.version as usize).is_some() && rows.routes.get(row.route as usize).is_some());
            requests += row.sums.requests + row.sums.first_requests;
        }
        let routes = LIMITS.routes + 1;
        assert!(rows.versions.len() <= LIMITS.versions && rows.routes.len() <= routes, "{rows:?}");
    }
    requests
}
