//! What is made of the times and counts of commands: parts that are the whole, no time in two of them.

mod experiment;
mod made_up;
mod pairs;
mod parts;
