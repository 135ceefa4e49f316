//! Text in pieces with an emphasis.

/// The role of a piece of text, which decides its look. No information is in the look alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emphasis {
    /// Normal text without emphasis.
    Plain,
    /// A heading, or a claim that is not a verdict.
    Heading,
    /// The verdict that a command costs less.
    Less,
    /// The verdict that a command costs more.
    More,
    /// The verdict that commands cost the same.
    Same,
    /// An open verdict, or a warning.
    Open,
    /// The words of a command, a name or a path.
    Code,
}

/// A piece of text with its role.
pub type Span = (Emphasis, String);

/// One or more sentences, in pieces.
pub type Sentence = Vec<Span>;
