//! Programs kept warm, in words.

pub(crate) mod bench;
pub(crate) mod status;
