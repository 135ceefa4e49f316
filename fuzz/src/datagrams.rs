//! Datagrams that anyone who may write to the agent's socket may send.

use steady_agent::table::{Limits, Now, Table};

/// What parts two datagrams in the fuzzer's bytes: no line holds it.
const MARK: u8 = 0x1e;
/// Small bounds, so that they are met.
const LIMITS: Limits =
    Limits { services: 3, versions: 3, routes: 4, classes: 2, processes: 4, rows: 64, late_seconds: 60 };
/// A hundred seconds after the boot.
const NOW: Now = Now { monotonic: 100_500_000_000, ahead: 1_700_000_000 };

/// Whatever arrives, each line is taken, folded or counted, rows stay within their bounds, and all sums are numbers.
pub fn datagrams(bytes: &[u8]) {
    let mut table = Table::new(LIMITS);
    let mut kept = 0;
    for datagram in bytes.split(|byte| *byte == MARK) {
        table.take_in(datagram, NOW);
        if table.is_full() {
            kept += taken(&mut table);
        }
    }
    kept += taken(&mut table);
    let arrived = *table.arrived();
    assert!(table.services(NOW).len() <= LIMITS.services);
    assert!(kept <= arrived.requests, "{kept} requests in rows, {arrived:?}");
    assert!(kept + arrived.folded >= arrived.requests, "{kept} requests in rows, {arrived:?}");
}

/// Requests in the rows that are taken.
fn taken(table: &mut Table) -> u64 {
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
            requests += row.sums.requests + row.sums.warming;
        }
        let routes = LIMITS.routes + 1;
        assert!(rows.versions.len() <= LIMITS.versions && rows.routes.len() <= routes, "{rows:?}");
    }
    requests
}
