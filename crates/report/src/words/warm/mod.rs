//! Programs kept warm, in words.

pub(crate) mod status;
