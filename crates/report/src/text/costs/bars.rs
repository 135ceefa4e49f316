//! Histograms made of letters.

/// Eighths of a line, from the least that can be seen to all of it.
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The counts in at most so many columns: as many neighbouring bins together as it takes.
pub(super) fn gathered(counts: &[u32], columns: usize) -> Vec<u64> {
    let together = counts.len().div_ceil(columns.max(1)).max(1);
    counts.chunks(together).map(|bins| bins.iter().map(|count| u64::from(*count)).sum()).collect()
}

/// Lines of bars from the top, `height` of them; whatever is not empty shows.
pub(super) fn bars(counts: &[u64], height: usize) -> Vec<String> {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let levels = (height * EIGHTHS.len()) as f64;
    let tall = |count: u64| match count {
        0 => 0,
        count => ((count as f64 / most as f64 * levels).round() as usize).max(1),
    };
    let line = |from_top: usize| {
        let below = (height - 1 - from_top) * EIGHTHS.len();
        let cell = |count: &u64| match tall(*count).saturating_sub(below) {
            0 => ' ',
            eighths => EIGHTHS[eighths.min(EIGHTHS.len()) - 1],
        };
        counts.iter().map(cell).collect()
    };
    (0..height).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_there_shows() {
        assert_eq!(bars(&[0, 1, 50, 100], 1), [" ▁▄█"]);
        assert_eq!(bars(&[0, 1, 50, 100], 2), ["   █", " ▁██"]);
        assert_eq!(bars(&[0, 0], 1), ["  "]);
        assert_eq!(bars(&[], 2), ["", ""]);
    }

    #[test]
    fn bins_that_have_no_room_stand_together() {
        assert_eq!(gathered(&[1, 2, 3, 4, 5], 3), [3, 7, 5]);
        assert_eq!(gathered(&[1, 2], 8), [1, 2]);
        assert_eq!(gathered(&[], 8), Vec::<u64>::new());
        assert_eq!(gathered(&[u32::MAX, u32::MAX], 0), [2 * u64::from(u32::MAX)]);
    }
}
