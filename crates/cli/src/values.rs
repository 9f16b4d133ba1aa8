//! Values with their origins, as `punctual config explain` and `punctual qos show` print them: options and columns.
use clap::Args;

use crate::output::print;

/// Which values are shown, and how.
#[derive(Args, Clone, Debug)]
pub(crate) struct ValueOptions {
    /// Shows the QoS that writers and readers of this topic get.
    #[arg(long, value_name = "NAME")]
    pub(crate) topic: Option<String>,
    /// Leaves out what is the default.
    #[arg(long)]
    pub(crate) changed: bool,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A line of the table.
pub(crate) struct Row {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) origin: String,
}

/// Prints rows in columns, each behind `indent`.
pub(crate) fn print_columns(indent: &str, rows: &[Row]) {
    let width = |of: fn(&Row) -> usize| rows.iter().map(of).max().unwrap_or(0).min(48);
    let (keys, values) = (width(|row| row.key.len()), width(|row| row.value.len()));
    for Row { key, value, origin } in rows {
        print(format_args!("{indent}{key:keys$}  {value:values$}  {origin}"));
    }
}
