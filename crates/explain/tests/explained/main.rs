//! Tests of the evaluation: parts add up to the whole, do not overlap, and intervals contain the truth.

mod experiment;
mod made_up;
mod pairs;
mod parts;
