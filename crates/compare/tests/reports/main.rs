//! Reports in all their forms, and the way back from JSON. One program, for each that is linked costs more than it runs.

mod by_hand;
mod golden;
mod history;
mod joined;
mod page;
mod way_back;

use steady_testing::{goldens, made, values};
