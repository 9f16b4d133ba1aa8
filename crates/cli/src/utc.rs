//! Times of the wall clock as text.

/// A time of the wall clock in UTC (proleptic Gregorian calendar), with microseconds.
pub(crate) fn show(nanos: i64) -> String {
    const DAY: i64 = 86_400_000_000;
    let micros = nanos.div_euclid(1_000);
    let (days, rest) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    // Years that begin in March have their leap day at the end: 400 of them are 146,097 days.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let seconds = rest / 1_000_000;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:06}Z",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60,
        rest % 1_000_000
    )
}

#[cfg(test)]
mod tests {
    use super::show;

    #[test]
    fn times_are_shown_in_utc() {
        assert_eq!(show(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(show(1_709_210_096_123_456_789), "2024-02-29T12:34:56.123456Z");
        assert_eq!(show(-1_000), "1969-12-31T23:59:59.999999Z");
        assert_eq!(show(4_107_542_400_000_000_000), "2100-03-01T00:00:00.000000Z");
    }
}
