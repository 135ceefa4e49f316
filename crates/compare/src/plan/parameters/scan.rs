//! Numbers at equal steps, in exact decimal arithmetic: 0.1 + 0.2 is 0.3.

/// The maximum number of digits before the point, and after it.
const DIGITS_MAX: usize = 18;

/// A decimal number: `units / 10^places`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decimal {
    units: i128,
    places: usize,
}

/// The numbers from `low` to `high` at distances of `step`, as text. All have as many decimals as the most precise of
/// the three. An error if there are more than `limit`.
pub(super) fn values(low: &str, high: &str, step: &str, limit: usize) -> Result<Vec<String>, String> {
    let [low, high, step] = [read(low)?, read(high)?, read(step)?];
    let places = low.places.max(step.places).max(high.places);
    let [low, high, step] = [low, high, step].map(|number| number.units * 10i128.pow((places - number.places) as u32));
    if step <= 0 {
        return Err("the step must be above zero".to_owned());
    }
    if low > high {
        return Err("MIN is above MAX".to_owned());
    }
    let steps = (high - low) / step;
    if steps >= limit as i128 {
        return Err(format!("it makes {} commands; the maximum is {limit}", steps.saturating_add(1)));
    }
    Ok((0..=steps).map(|index| written(low + index * step, places)).collect())
}

fn read(text: &str) -> Result<Decimal, String> {
    let wrong = || format!("'{text}' is not a number; write 12, -3 or 0.25");
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_valid = |part: &str| part.len() <= DIGITS_MAX && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_valid(whole) || !is_valid(fraction) || whole.is_empty() || digits.ends_with('.') {
        return Err(wrong());
    }
    let units: i128 = format!("{whole}{fraction}").parse().map_err(|_| wrong())?;
    Ok(Decimal { units: if negative { -units } else { units }, places: fraction.len() })
}

fn written(units: i128, places: usize) -> String {
    if places == 0 {
        return units.to_string();
    }
    let sign = if units < 0 { "-" } else { "" };
    let digits = format!("{:0width$}", units.unsigned_abs(), width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(low: &str, high: &str, step: &str) -> Vec<String> {
        values(low, high, step, 1001).unwrap()
    }

    #[test]
    fn numbers_increase_by_the_step() {
        assert_eq!(scan("1", "4", "1"), ["1", "2", "3", "4"]);
        assert_eq!(scan("0", "5", "2"), ["0", "2", "4"]);
        assert_eq!(scan("-1", "1", "0.5"), ["-1.0", "-0.5", "0.0", "0.5", "1.0"]);
        assert_eq!(scan("0.5", "2.5", "1"), ["0.5", "1.5", "2.5"]);
        assert_eq!(scan("7", "7", "3"), ["7"]);
    }

    #[test]
    fn a_thousand_steps_have_no_rounding_error() {
        let tenths = scan("0", "100", "0.1");
        assert_eq!((tenths.len(), tenths[3].as_str(), tenths[1000].as_str()), (1001, "0.3", "100.0"));
    }

    #[test]
    fn invalid_scans_are_refused_with_the_reason() {
        for (low, high, step, why) in [
            ("2", "1", "1", "above MAX"),
            ("1", "2", "0", "above zero"),
            ("1", "2", "-1", "above zero"),
            ("a", "2", "1", "not a number"),
            ("1", "2.", "1", "not a number"),
            ("1e3", "2", "1", "not a number"),
            ("0", "999999999999999999", "0.000000000000000001", "the maximum is"),
        ] {
            let error = values(low, high, step, 1000).unwrap_err();
            assert!(error.contains(why), "{low} {high} {step}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn scans_agree_with_integers(low in -5_000i64..5_000, steps in 0i64..200, step in 1i64..500, places in 0usize..5) {
            let text = |units: i64| written(i128::from(units), places);
            let all = scan(&text(low), &text(low + steps * step), &text(step));
            let expected: Vec<String> = (0..=steps).map(|index| text(low + index * step)).collect();
            proptest::prop_assert_eq!(all, expected);
        }

        #[test]
        fn written_numbers_are_read_back(units in proptest::num::i64::ANY, places in 0usize..18) {
            let text = written(i128::from(units), places);
            let read = read(&text);
            // A number with too many digits is refused, not truncated.
            if text.trim_start_matches('-').split('.').next().unwrap().len() <= DIGITS_MAX {
                proptest::prop_assert_eq!(read, Ok(Decimal { units: i128::from(units), places }));
            } else {
                proptest::prop_assert!(read.is_err());
            }
        }

        #[test]
        fn any_text_is_read_as_a_number_or_refused(text in ".*|[-0-9.]{0,40}") {
            let _ = values(&text, "10", "1", 100);
            let _ = values("0", "10", &text, 100);
        }
    }
}
