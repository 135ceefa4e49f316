//! Tests of the store through its public interface: reading what was written, limits, and failures of the file.

mod made;
mod retention;
mod written;
