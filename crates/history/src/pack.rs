//! Records are text that packs to a tenth.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

/// `text`, packed: fast, for somebody waits.
pub(crate) fn pack(text: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    // A vector takes everything.
    let _ = encoder.write_all(text.as_bytes());
    encoder.finish().unwrap_or_default()
}

/// What was packed; its checksum is held against it.
pub(crate) fn unpack(bytes: &[u8]) -> io::Result<String> {
    let mut text = String::new();
    ZlibDecoder::new(bytes).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_comes_back(text in ".*") {
            prop_assert_eq!(unpack(&pack(&text)).unwrap(), text);
        }

        #[test]
        fn garbage_is_refused(bytes in any::<Vec<u8>>()) {
            // Whatever it says, it says it without panic; all but a stream that is one by chance is refused.
            let _ = unpack(&bytes);
        }

        #[test]
        fn a_changed_byte_is_seen(text in ".{20,}", place in any::<prop::sample::Index>(), by in 1u8..) {
            let mut packed = pack(&text);
            let at = place.index(packed.len());
            packed[at] ^= by;
            prop_assert!(unpack(&packed).map_or(true, |found| found == text));
        }
    }
}
