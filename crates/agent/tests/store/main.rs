//! The store from outside: what is written comes out again, within its limits, whatever is done to the file.

mod made;
mod retention;
mod written;
