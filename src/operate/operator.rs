//! Who acts, and from where, as events record it.
//!
//! The form is `NAME (os:USER ssh:ADDRESS)`: the name that the operator chose, then, in
//! parentheses, what the system says: the user of the process and, where the session came over SSH,
//! the client's address. What is not known is left out. The name cannot hold parentheses, so that
//! nobody can write the second part themselves. PostgreSQL's events hold the role of the database
//! besides (`db_user`). Next: `preview`.

use crate::ledger::job::NAME_MAX_BYTES;
use crate::ledger::text::SafeText;

/// The longest chosen name that is kept, in bytes: what the system says must fit behind it.
const CHOSEN_MAX_BYTES: usize = 80;
/// The longest of each thing that the system says.
const SAID_MAX_BYTES: usize = 48;

/// Who acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator {
    name: String,
    os_user: Option<String>,
    ssh_client: Option<String>,
}

impl Operator {
    /// An operator: the chosen name, the user of the process, and `SSH_CONNECTION` as it is set.
    /// Without a chosen name the user's is taken.
    pub fn new(name: Option<&str>, os_user: Option<&str>, ssh_connection: Option<&str>) -> Self {
        let os_user = os_user.map(|user| clean(user, SAID_MAX_BYTES));
        let os_user = os_user.filter(|user| !user.is_empty());
        let chosen = name.map(|name| clean(name, CHOSEN_MAX_BYTES));
        let chosen = chosen
            .filter(|name| !name.is_empty())
            .or_else(|| os_user.clone());
        Self {
            name: chosen.unwrap_or_else(|| "unknown".to_owned()),
            os_user,
            // CLIENT_ADDRESS CLIENT_PORT SERVER_ADDRESS SERVER_PORT, by sshd(8).
            ssh_client: ssh_connection
                .and_then(|said| said.split_whitespace().next())
                .map(|address| clean(address, SAID_MAX_BYTES)),
        }
    }

    /// The chosen name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the session came from, if over SSH.
    pub fn ssh_client(&self) -> Option<&str> {
        self.ssh_client.as_deref()
    }

    /// As events record it, e.g. `ada (os:ada ssh:10.0.0.7)`; at most [`NAME_MAX_BYTES`].
    pub fn actor(&self) -> String {
        let said = [("os:", &self.os_user), ("ssh:", &self.ssh_client)];
        let said: Vec<String> = said
            .into_iter()
            .filter_map(|(what, value)| value.as_ref().map(|value| format!("{what}{value}")))
            .collect();
        let actor = if said.is_empty() {
            self.name.clone()
        } else {
            format!("{} ({})", self.name, said.join(" "))
        };
        debug_assert!(actor.len() <= NAME_MAX_BYTES, "the parts are bounded");
        actor
    }
}

/// Safe, on one line, without parentheses, and bounded.
fn clean(text: &str, max: usize) -> String {
    let safe = SafeText::new(text.trim());
    let mut kept: String = safe
        .as_str()
        .chars()
        .map(|each| if matches!(each, '(' | ')') { '_' } else { each })
        .collect();
    while kept.len() > max {
        kept.pop();
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_is_a_name_and_what_the_system_says() {
        let ssh = Some("10.0.0.7 51234 10.0.0.1 22");
        let actor = |name, os, ssh| Operator::new(name, os, ssh).actor();
        assert_eq!(
            actor(Some("Ada L."), Some("ada"), ssh),
            "Ada L. (os:ada ssh:10.0.0.7)"
        );
        assert_eq!(actor(None, Some("ada"), None), "ada (os:ada)");
        assert_eq!(actor(Some(" "), None, None), "unknown");
    }

    #[test]
    fn a_name_can_neither_pose_as_what_the_system_says_nor_push_it_out() {
        let posing = Operator::new(Some("root (os:root ssh:1.1.1.1)"), Some("eve"), None);
        assert_eq!(posing.actor(), "root _os:root ssh:1.1.1.1_ (os:eve)");
        let long = "é".repeat(500);
        let actor = Operator::new(Some(&long), Some(&long), Some(&long)).actor();
        assert!(actor.len() <= NAME_MAX_BYTES, "{}", actor.len());
        assert!(actor.contains("os:"), "{actor}");
        let hostile = Operator::new(Some("a\u{1b}[2J\nb"), None, None);
        assert_eq!(hostile.actor(), "a␛[2J␊b");
    }
}
