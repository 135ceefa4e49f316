//! Reports in all their forms, and the way back from JSON. One program, for each that is linked costs more than it runs.

mod by_hand;
mod explain;
mod golden;
#[allow(dead_code, reason = "shared with other crates")]
mod goldens;
mod history;
mod joined;
#[allow(dead_code, reason = "shared with other crates")]
mod made;
mod page;
#[allow(dead_code, reason = "shared with other crates")]
mod values;
mod warm;
mod warm_bench;
mod way_back;
