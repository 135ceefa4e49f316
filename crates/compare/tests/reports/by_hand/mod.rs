//! Reports made by hand, one for each way in which something may end or be told.

pub(crate) mod comparisons;
pub(crate) mod joins;
