//! Text in pieces that may stand out.

/// What a piece of text is, for its look. Nothing is expressed by the look alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emphasis {
    /// The bulk.
    Plain,
    /// A heading, or a claim that is no verdict.
    Heading,
    /// The verdict is that it costs less.
    Less,
    /// The verdict is that it costs more.
    More,
    /// The verdict is that it costs the same.
    Same,
    /// There is no verdict, or something to beware of.
    Open,
    /// The words of a command, a name or a path.
    Code,
}

/// A piece of text and what it is.
pub type Span = (Emphasis, String);

/// A sentence, or several, in spans.
pub type Sentence = Vec<Span>;
