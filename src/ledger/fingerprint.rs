//! The fingerprint of an error: what is left of its message when all that differs from one
//! occurrence to the next is folded.
//!
//! Numbers become `#`, UUIDs, long hexadecimal and mixed identifiers `<id>`, network addresses
//! `<ip>`, e-mail addresses `<@>`, what stands in quotes `…`, and what varies in a URL `*`; white
//! space becomes one space. Folding a fingerprint changes nothing, whatever the text was. Pure.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The longest fingerprint, in characters.
pub const FINGERPRINT_MAX: usize = 300;
/// The most that is looked at of a message, in characters; a ledger keeps no more.
const READ_MAX: usize = 2_000;
/// From this many characters on, hexadecimal digits are an identifier.
const HEX_MIN: usize = 8;
/// From this many characters on, letters and digits that take turns are an identifier.
const MIXED_MIN: usize = 10;
/// How often they must take turns.
const TURNS_MIN: usize = 3;

/// The fingerprint of a message.
pub fn fingerprint(error: &str) -> String {
    let mut text: String = error.chars().take(READ_MAX).collect();
    // Each round that changes anything leaves fewer letters, digits and spaces, or is shorter, so
    // this ends; the first round does the work, the second finds nothing.
    loop {
        let folded: String = fold(&text).chars().take(FINGERPRINT_MAX).collect();
        if folded == text {
            return folded;
        }
        text = folded;
    }
}

fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.trim();
    let mut before = ' ';
    while let Some(next) = rest.chars().next() {
        let taken = if next.is_whitespace() {
            out.push(' ');
            length(rest, char::is_whitespace)
        } else if let Some(end) = quoted(rest, next, before) {
            out.push(next);
            out.push('…');
            end
        } else if is_word(next) {
            let end = length(rest, is_word);
            let word = rest.get(..end).unwrap_or_default();
            if let Some(end) = url(rest, word) {
                fold_url(rest.get(..end).unwrap_or_default(), &mut out);
                end
            } else {
                fold_word(word, &mut out);
                end
            }
        } else {
            out.push(next);
            next.len_utf8()
        };
        before = rest
            .get(..taken)
            .and_then(|taken| taken.chars().next_back())
            .unwrap_or(' ');
        rest = rest.get(taken..).unwrap_or_default();
    }
    out
}

/// The length in bytes of the beginning whose characters all are `what`.
fn length(text: &str, what: impl Fn(char) -> bool) -> usize {
    text.find(|each: char| !what(each)).unwrap_or(text.len())
}

/// What a word may hold besides letters and digits: as much as a UUID, an address of the network or
/// of a mailbox.
fn is_word(each: char) -> bool {
    each.is_alphanumeric() || matches!(each, '_' | '-' | '.' | ':' | '@' | '+' | '%')
}

/// Where the text within the quotes that begin here ends: at the closing quote, which the next
/// round keeps. `None` where it is no quote, closes nowhere, or holds nothing.
fn quoted(rest: &str, opening: char, before: char) -> Option<usize> {
    let closing = match opening {
        '"' | '`' => opening,
        // Within a word it is an apostrophe.
        '\'' if !before.is_alphanumeric() => opening,
        '“' => '”',
        '‘' => '’',
        '«' => '»',
        _ => return None,
    };
    let inside = rest.get(opening.len_utf8()..)?;
    let mut from = 0;
    loop {
        let tail = inside.get(from..)?;
        let at = from.checked_add(tail.find(closing)?)?;
        let behind = inside.get(at.checked_add(closing.len_utf8())?..)?;
        let is_apostrophe = closing == '\''
            && behind.starts_with(char::is_alphanumeric)
            && !inside
                .get(..at)?
                .ends_with(|each: char| !each.is_alphanumeric());
        if !is_apostrophe {
            return (at > 0).then(|| opening.len_utf8().saturating_add(at));
        }
        from = at.checked_add(closing.len_utf8())?;
    }
}

/// The length of the URL that begins with this word.
fn url(rest: &str, word: &str) -> Option<usize> {
    let scheme = word.strip_suffix(':')?;
    let is_scheme = scheme.len() >= 2 && scheme.chars().all(|each| each.is_ascii_alphabetic());
    let after = rest.get(word.len()..)?;
    if !is_scheme || !after.starts_with("//") {
        return None;
    }
    let end = length(rest, |each| {
        !each.is_whitespace() && !matches!(each, '"' | '\'' | '`' | '<' | '>' | ')' | ']' | ',')
    });
    let url = rest.get(..end)?.trim_end_matches(['.', ':', ';', '!']);
    (url.len() >= word.len().saturating_add(2)).then_some(url.len())
}

fn fold_url(url: &str, out: &mut String) {
    let (front, query) = match url.find(['?', '#']) {
        Some(at) => url.split_at(at),
        None => (url, ""),
    };
    for (place, part) in front.split('/').enumerate() {
        if place > 0 {
            out.push('/');
        }
        if place == 2 {
            fold_host(part, out);
        } else if part.contains(char::is_numeric) || part.contains('@') {
            out.push('*');
        } else {
            out.push_str(part);
        }
    }
    if let Some(mark) = query.chars().next() {
        out.push(mark);
        if query.len() > mark.len_utf8() {
            out.push('…');
        }
    }
}

/// A host with its user and port.
fn fold_host(host: &str, out: &mut String) {
    let host = host.rsplit_once('@').map_or(host, |(_user, host)| host);
    for (place, part) in host.split(':').enumerate() {
        if place > 0 {
            out.push(':');
        }
        if part.parse::<Ipv4Addr>().is_ok() {
            out.push('*');
            continue;
        }
        for (place, label) in part.split('.').enumerate() {
            if place > 0 {
                out.push('.');
            }
            out.push_str(if label.contains(char::is_numeric) {
                "*"
            } else {
                label
            });
        }
    }
}

fn fold_word(word: &str, out: &mut String) {
    let bare = word.trim_end_matches(['.', ':', '-']);
    let tail = word.get(bare.len()..).unwrap_or_default();
    if is_uuid(bare) {
        out.push_str("<id>");
    } else if is_mailbox(bare) {
        out.push_str("<@>");
    } else if is_address(bare) {
        out.push_str("<ip>");
    } else {
        let mut rest = bare;
        while let Some(next) = rest.chars().next() {
            let taken = if next.is_alphanumeric() {
                let end = length(rest, char::is_alphanumeric);
                fold_run(rest.get(..end).unwrap_or_default(), out);
                end
            } else {
                out.push(next);
                next.len_utf8()
            };
            rest = rest.get(taken..).unwrap_or_default();
        }
    }
    out.push_str(tail);
}

/// Letters and digits.
fn fold_run(run: &str, out: &mut String) {
    if !run.contains(char::is_numeric) {
        out.push_str(run);
        return;
    }
    let is_hex = run.chars().all(|each| each.is_ascii_hexdigit());
    let has_letters = run.contains(|each: char| !each.is_numeric());
    let is_prefixed = run.strip_prefix("0x").is_some_and(|digits| {
        !digits.is_empty() && digits.chars().all(|each| each.is_ascii_hexdigit())
    });
    let characters = run.chars().count();
    let is_mixed = characters >= MIXED_MIN && turns(run) >= TURNS_MIN;
    if is_prefixed || is_mixed || has_letters && is_hex && characters >= HEX_MIN {
        out.push_str("<id>");
        return;
    }
    let mut in_number = false;
    for each in run.chars() {
        if !each.is_numeric() {
            out.push(each);
        } else if !in_number {
            out.push('#');
        }
        in_number = each.is_numeric();
    }
}

/// How often letters and digits take turns.
fn turns(run: &str) -> usize {
    let kinds = || run.chars().map(char::is_numeric);
    kinds()
        .zip(kinds().skip(1))
        .filter(|(one, next)| one != next)
        .count()
}

fn is_uuid(word: &str) -> bool {
    let mut parts = word.split('-');
    let sized = [8, 4, 4, 4, 12].iter().all(|size| {
        parts.next().is_some_and(|part| {
            part.len() == *size && part.chars().all(|each| each.is_ascii_hexdigit())
        })
    });
    sized && parts.next().is_none()
}

fn is_mailbox(word: &str) -> bool {
    word.split_once('@').is_some_and(|(user, host)| {
        user.chars().any(char::is_alphanumeric)
            && !host.contains('@')
            && host.split('.').count() > 1
            && host.split('.').all(|label| !label.is_empty())
    })
}

fn is_address(word: &str) -> bool {
    let host = word.split_once(':').map_or(word, |(host, port)| {
        if port.chars().all(|each| each.is_ascii_digit()) {
            host
        } else {
            word
        }
    });
    let is_v6 = word.len() > "<ip>".len() && word.contains(char::is_numeric);
    host.parse::<Ipv4Addr>().is_ok() || is_v6 && word.parse::<Ipv6Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_differs_from_one_occurrence_to_the_next_is_folded() {
        for (error, folded) in [
            ("timeout after 30 s", "timeout after # s"),
            (
                "timeout after 1.5s (attempt 3)",
                "timeout after #.#s (attempt #)",
            ),
            ("user 'O Neill' not found", "user '…' not found"),
            ("can't open \"a b.png\"", "can't open \"…\""),
            ("it's gone, isn't it", "it's gone, isn't it"),
            (
                "job 019ae0c2-0000-7000-8000-00000000000a failed",
                "job <id> failed",
            ),
            ("commit deadbeef01 is bad", "commit <id> is bad"),
            ("at 0x7ffe01", "at <id>"),
            ("object A9kf03Lq8Zp1 missing", "object <id> missing"),
            ("connect 10.0.0.7:5432: refused", "connect <ip>: refused"),
            ("connect [fe80::1%eth0]", "connect [fe#::#%eth#]"),
            ("connect 2001:db8::17 failed", "connect <ip> failed"),
            (
                "mailbox jo.doe+x@mail.example is full",
                "mailbox <@> is full",
            ),
            (
                "GET https://api7.example:8443/v2/users/jo?token=abc#x: 503",
                "GET https://*.example:*/*/users/jo?…: #",
            ),
            ("GET http://u:p@10.0.0.7/a, again", "GET http://*/a, again"),
            ("invoice_184 of t7", "invoice_# of t#"),
            ("  two\n\t lines  ", "two lines"),
            ("2026-11-30T02:45:00Z", "#-#-#T#:#:#Z"),
            ("", ""),
        ] {
            assert_eq!(fingerprint(error), folded, "{error}");
        }
    }

    #[test]
    fn words_that_say_what_is_wrong_are_kept() {
        for error in [
            "the schema says 'customer' where",
            "connection refused",
            "feedface is a word",
            "bad facade",
        ] {
            let folded = fingerprint(error);
            assert!(!folded.contains("<id>"), "{folded}");
        }
        assert_ne!(fingerprint("disk full"), fingerprint("disk gone"));
    }

    proptest! {
        #[test]
        fn folding_a_fingerprint_changes_nothing(error in any::<String>()) {
            let once = fingerprint(&error);
            prop_assert_eq!(fingerprint(&once), once.clone());
            prop_assert!(once.chars().count() <= FINGERPRINT_MAX);
        }

        #[test]
        fn no_text_of_signs_and_digits_is_folded_twice(
            error in "[a-f0-9'\"`.:/@?#<> \\-%…‘’«»x*]{0,60}"
        ) {
            let once = fingerprint(&error);
            prop_assert_eq!(fingerprint(&once), once.clone());
            prop_assert!(!once.contains(char::is_numeric));
        }

        #[test]
        fn numbers_alone_never_tell_two_errors_apart(one in any::<u64>(), other in any::<u64>()) {
            let error = |number| format!("invoice {number} of tenant t{number} failed");
            prop_assert_eq!(fingerprint(&error(one)), fingerprint(&error(other)));
        }
    }
}
