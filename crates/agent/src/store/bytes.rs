//! Encodes numbers as bytes: whole numbers in LEB128, doubles in eight bytes in little-endian order.

/// Whole numbers up to this one, 2 to the 53, can be represented as doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Appends a whole number in LEB128.
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends the bits of a double.
pub(super) fn put_double(out: &mut Vec<u8>, value: f64) {
    out.extend_from_slice(&value.to_bits().to_le_bytes());
}

/// Appends a double that usually has a whole value: as twice its value, or as 1 and the bits of the double.
pub(super) fn put_whole(out: &mut Vec<u8>, value: f64) {
    if (0.0..EXACT).contains(&value) && value.fract() == 0.0 && !(value == 0.0 && value.is_sign_negative()) {
        put(out, (value as u64) << 1);
    } else {
        put(out, 1);
        put_double(out, value);
    }
}

/// Appends a double that usually has a whole value, maybe negative: as four times its absolute value, plus 1 if it is
/// negative, or as 2 and the bits of the double.
pub(super) fn put_signed(out: &mut Vec<u8>, value: f64) {
    let absolute = value.abs();
    if absolute < EXACT && absolute.fract() == 0.0 && !(value == 0.0 && value.is_sign_negative()) {
        put(out, (absolute as u64) << 2 | u64::from(value < 0.0));
    } else {
        put(out, 2);
        put_double(out, value);
    }
}

/// Reads numbers from the beginning of a byte sequence. Any bytes give a number or an error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

/// The reason why bytes cannot be read.
pub(super) type Why = &'static str;

const SHORT: Why = "the data ends too early";

impl Bytes<'_> {
    pub(super) fn byte(&mut self) -> Result<u8, Why> {
        let (first, rest) = self.0.split_first().ok_or(SHORT)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn whole(&mut self) -> Result<u64, Why> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                // A number of 64 bits has one bit in its tenth byte.
                return if shift == 63 && byte > 1 { Err("a number is too large") } else { Ok(value) };
            }
        }
        Err("a number is too long")
    }

    /// Reads the number of items that follow. Each item has at least one byte, so a larger number than there are bytes
    /// is an error.
    pub(super) fn count(&mut self) -> Result<usize, Why> {
        let count = usize::try_from(self.whole()?).map_err(|_| SHORT)?;
        if count > self.0.len() { Err(SHORT) } else { Ok(count) }
    }

    pub(super) fn small(&mut self) -> Result<u32, Why> {
        u32::try_from(self.whole()?).map_err(|_| "a number is too large")
    }

    pub(super) fn double(&mut self) -> Result<f64, Why> {
        let (first, rest) = self.0.split_first_chunk::<8>().ok_or(SHORT)?;
        self.0 = rest;
        Ok(f64::from_bits(u64::from_le_bytes(*first)))
    }

    pub(super) fn whole_double(&mut self) -> Result<f64, Why> {
        match self.whole()? {
            1 => self.double(),
            doubled if doubled % 2 == 0 => Ok((doubled >> 1) as f64),
            _ => Err("a number has an invalid encoding"),
        }
    }

    pub(super) fn signed(&mut self) -> Result<f64, Why> {
        let coded = self.whole()?;
        let absolute = (coded >> 2) as f64;
        match coded {
            2 => self.double(),
            _ if coded & 3 == 0 => Ok(absolute),
            _ if coded & 3 == 1 => Ok(-absolute),
            _ => Err("a number has an invalid encoding"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_restored(whole in any::<u64>(), double in any::<f64>(), small in 0..1_u64 << 54) {
            let mut out = Vec::new();
            put(&mut out, whole);
            put_double(&mut out, double);
            put_whole(&mut out, double);
            put_whole(&mut out, small as f64);
            put_signed(&mut out, double);
            put_signed(&mut out, small as f64);
            put_signed(&mut out, -(small as f64));
            let mut bytes = Bytes(&out);
            prop_assert_eq!(bytes.whole(), Ok(whole));
            prop_assert_eq!(bytes.double().map(f64::to_bits), Ok(double.to_bits()));
            prop_assert_eq!(bytes.whole_double().map(f64::to_bits), Ok(double.to_bits()));
            prop_assert_eq!(bytes.whole_double(), Ok(small as f64));
            prop_assert_eq!(bytes.signed().map(f64::to_bits), Ok(double.to_bits()));
            prop_assert_eq!([bytes.signed(), bytes.signed()], [Ok(small as f64), Ok(-(small as f64))]);
            prop_assert!(bytes.0.is_empty());
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in any::<Vec<u8>>()) {
            let _ = Bytes(&bytes).signed();
            let _ = (Bytes(&bytes).whole(), Bytes(&bytes).count(), Bytes(&bytes).double(), Bytes(&bytes).whole_double());
        }
    }

    #[test]
    fn zeros_keep_their_sign() {
        for value in [0.0, -0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY] {
            let mut out = Vec::new();
            put_signed(&mut out, value);
            assert_eq!(Bytes(&out).signed().map(f64::to_bits), Ok(f64::to_bits(value)));
            out.clear();
            put_whole(&mut out, value);
            assert_eq!(Bytes(&out).whole_double().map(f64::to_bits), Ok(f64::to_bits(value)));
        }
    }
}
