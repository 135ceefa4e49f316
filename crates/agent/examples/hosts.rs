//! `hosts STORE SERVICE`: prints the load of the hosts and the readings of the agents' own rulers, one line for each
//! second: `busy SECOND SHARE` and `RULER SECOND READINGS LOG LOG_SQUARED`.
#![allow(clippy::print_stdout, reason = "a bench reads it")]

use std::path::PathBuf;

use steady_agent::store::Reader;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [store, service] = &words[..] else { return Err("hosts STORE SERVICE".into()) };
    let rows = Reader::open(&PathBuf::from(store))?.rows(service, 0, u64::MAX)?;
    for row in &rows.seconds {
        if let Some(busy) = row.busy {
            println!("busy {} {busy}", row.second);
        }
    }
    for row in rows.rulers.iter().filter(|row| row.process == 0) {
        let sums = row.sums;
        println!("{} {} {} {} {}", row.ruler.name(), row.second, sums.readings, sums.log, sums.log_squared);
    }
    Ok(())
}
