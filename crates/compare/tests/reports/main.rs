//! Reports in all formats, and reading them back from JSON. The files form one program, because linking takes longer
//! than running.

mod by_hand;
mod golden;
mod history;
mod joined;
mod page;
mod way_back;

use steady_testing::{goldens, made, values};
