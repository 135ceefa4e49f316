//! Programs kept warm without programs: takes that are made up, and simulated launches.

mod bench;
mod kept;
