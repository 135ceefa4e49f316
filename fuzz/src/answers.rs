//! What a fleet's store answers, and which of its series are asked for.

use std::str;

use steady_fleet::{Address, Matchers, answer, header};

/// Whatever stands there, no more series and values are read than there is text for; matchers that can be read are
/// written as what is read again.
pub fn answers(bytes: &[u8]) {
    let (mut series, mut values) = (0, 0);
    let _ = answer::read(bytes, &mut |one| {
        series += 1;
        values += one.samples.len();
    });
    assert!(series + values <= bytes.len(), "{series} series with {values} values of {} bytes", bytes.len());
    let Ok(text) = str::from_utf8(bytes) else { return };
    let _ = (text.parse::<Address>(), header(text));
    if let Ok(matchers) = text.parse::<Matchers>() {
        assert_eq!(matchers.to_string().parse::<Matchers>(), Ok(matchers));
    }
}
