//! The interposed functions of the C library.

mod exe;
mod exec;
mod spawn;
mod variadic;
