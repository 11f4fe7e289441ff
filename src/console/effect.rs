//! What goes out: everything that the console asks of the world. Next: [`super::effects`], which
//! reads the ledger, and the loop in [`super`], which does the rest.

use std::time::Duration;

use crate::board::Board;

use super::Ended;
use super::ask::{Kind, Request, Ticket};
use super::dialog::operate::Order;
use super::effects::operate::Permit;

/// One thing to be done.
#[derive(Debug)]
pub enum Effect {
    /// Read the ledger this often from now on.
    Refresh(Duration),
    /// Open the ledger anew and count everything again.
    Recount,
    /// Look something up. It takes the place of an open question of its kind.
    Look {
        /// The number of the asking; the answer carries it.
        ticket: Ticket,
        /// The question.
        request: Request,
    },
    /// The open question of this kind is no longer of interest: it is cancelled.
    Dismiss(Kind),
    /// Act on jobs. Only a console that may operate has the permit that it takes.
    Operate {
        /// What only such a console has.
        permit: Permit,
        /// The number of the order; the answer carries it.
        number: u64,
        /// What is to be done.
        order: Order,
    },
    /// Put text into the clipboard of the terminal.
    Copy(String),
    /// Give the terminal back, stop the process, and take the terminal over again when it goes on.
    Suspend,
    /// Take the terminal over again and paint it in full.
    Retake,
    /// Paint in full.
    Repaint,
    /// Free a board that is no longer needed, somewhere it holds up nobody.
    Free(Box<Board>),
    /// End the console.
    End(Ended),
}
