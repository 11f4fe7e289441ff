//! A snapshot as PostgreSQL prints it: `xmin:xmax:xip,…`.
//!
//! Owns the reading of that text. The numbers stay text: they are only ever handed back.

use crate::store::StoreError;
use crate::store::row::corrupt;

/// Which transactions are visible: those below `xmax` that were not in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Snapshot {
    xmax: String,
    in_progress: Vec<String>,
}

impl Snapshot {
    /// Reads the text of a `pg_snapshot`.
    pub(super) fn parse(text: &str) -> Result<Self, StoreError> {
        let mut parts = text.split(':');
        let (Some(_xmin), Some(xmax), Some(list), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(corrupt("-", "snapshot", text));
        };
        let in_progress: Vec<String> = list
            .split(',')
            .filter(|number| !number.is_empty())
            .map(str::to_owned)
            .collect();
        let numbers = in_progress.iter().map(String::as_str).chain([xmax]);
        if numbers.map(str::parse::<u64>).any(|number| number.is_err()) {
            return Err(corrupt("-", "snapshot", text));
        }
        Ok(Self {
            xmax: xmax.to_owned(),
            in_progress,
        })
    }

    /// No transaction from this number on is visible.
    pub(super) fn xmax(&self) -> &str {
        &self.xmax
    }

    /// Those below `xmax` that are not visible.
    pub(super) fn in_progress(&self) -> &[String] {
        &self.in_progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_that_the_server_prints_are_read() {
        let quiet = Snapshot::parse("738:738:").expect("nothing in progress");
        assert_eq!((quiet.xmax(), quiet.in_progress().len()), ("738", 0));
        let busy = Snapshot::parse("735:4294967999:735,737").expect("two in progress");
        assert_eq!(busy.xmax(), "4294967999");
        assert_eq!(busy.in_progress(), ["735", "737"]);
    }

    #[test]
    fn anything_else_is_corrupt() {
        for text in ["", "1:2", "1:x:", "1:2:3,y", "1:2:3:4", "-1:-2:"] {
            assert!(Snapshot::parse(text).is_err(), "'{text}'");
        }
    }
}
