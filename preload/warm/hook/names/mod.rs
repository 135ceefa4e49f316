//! What the hook stands in for: functions of the C library, by their own names.

mod exe;
mod exec;
mod spawn;
mod variadic;
