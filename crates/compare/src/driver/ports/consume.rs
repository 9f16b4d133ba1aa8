//! A process that consumes until it is told to end.
use std::sync::Arc;
use std::time::Duration;

use super::Order;
use super::board::Board;
use super::carriers::{Carrier, consuming};
use crate::driver::measure::{Wrong, end_of_input, ready, until_silent};

/// How often the publisher is told what it may not have heard.
const REMIND: Duration = Duration::from_millis(10);

/// Consumes.
pub(super) fn run(carrier: Carrier, has_ports: bool, order: &Order) -> Result<(), Wrong> {
    let board = Arc::new(Board::new(order, carrier == Carrier::Apart, true)?);
    let kept = consuming(carrier, has_ports, order, &board)?;
    let ends = end_of_input();
    ready();
    until_silent(&ends, || {
        std::thread::sleep(REMIND);
        board.remind();
        Ok(board.deliveries())
    })?;
    board.say();
    drop(kept);
    Ok(())
}
