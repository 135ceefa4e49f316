//! Reports built by hand, one for each kind of result.

pub(crate) mod comparisons;
pub(crate) mod joins;
