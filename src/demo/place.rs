//! Where the demo's private ledger lives: a directory of its own among the system's temporary
//! files, readable by its owner only, and gone when the demo ends.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// A directory that is removed with the value.
#[derive(Debug)]
pub struct PrivatePlace {
    directory: PathBuf,
}

impl PrivatePlace {
    /// Makes the directory under `parent`, usually [`std::env::temp_dir`].
    ///
    /// # Errors
    /// Where `parent` cannot be written.
    pub fn create(parent: &Path) -> io::Result<Self> {
        let name = format!("ledgertop-demo-{}", Uuid::now_v7().simple());
        let directory = parent.join(name);
        DirBuilder::new().mode(0o700).create(&directory)?;
        Ok(Self { directory })
    }

    /// The file of the ledger in it; not there yet.
    pub fn ledger(&self) -> PathBuf {
        self.directory.join("ledger.db")
    }
}

impl Drop for PrivatePlace {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.directory) {
            tracing::warn!(%error, directory = %self.directory.display(), "could not clean up");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_place_is_its_owners_only_and_goes_with_all_that_is_in_it() {
        let place = PrivatePlace::create(&std::env::temp_dir()).unwrap();
        let file = place.ledger();
        fs::write(&file, "x").unwrap();
        let mode = fs::metadata(file.parent().unwrap()).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o700);
        drop(place);
        assert!(!file.parent().unwrap().exists());
    }
}
