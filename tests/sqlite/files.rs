//! The file itself.
//!
//! Next: `store.rs`.

use std::os::unix::fs::PermissionsExt as _;

use crate::ledger::ledger;

#[tokio::test]
async fn a_ledger_is_readable_by_its_owner_alone() {
    let ledger = ledger().await;
    for suffix in ["", "-wal", "-shm"] {
        let path = format!("{}{suffix}", ledger.path().display());
        let mode = std::fs::metadata(&path)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{path}");
    }
}
