//! What is shown of comparisons.

use steady_feature::Report;
use steady_model::Joined;
use steady_render::document::Document;

/// A comparison that has been judged.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'a>(pub &'a steady_model::Report);

/// Comparisons that are joined. They have neither runs nor samples of their own: nothing asks for their CSV.
#[derive(Clone, Copy, Debug)]
pub struct Together<'a>(pub &'a Joined);

impl Report for Compared<'_> {
    fn document(&self) -> Document {
        steady_report::document(self.0)
    }

    fn csv(&self) -> String {
        steady_report::csv(self.0)
    }

    fn json(&self, samples: bool) -> String {
        steady_report::json_text(self.0, samples)
    }
}

impl Report for Together<'_> {
    fn document(&self) -> Document {
        steady_report::joined_document(self.0)
    }

    fn csv(&self) -> String {
        String::new()
    }

    fn json(&self, _samples: bool) -> String {
        steady_report::joined_json_text(self.0)
    }
}
