//! A job as a request: its payload is the body, what else a handler needs stands in headers.

use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use http::{Method, Request, Uri};
use http_body_util::Full;
use hyper::body::Bytes;

use crate::ledger::job::Claimed;
use crate::ledger::time::Timestamp;

/// Who asks.
const AGENT: &str = concat!("ledgertop/", env!("CARGO_PKG_VERSION"));

/// The request for an attempt of `job` that must have ended by `deadline`.
pub(super) fn request(url: &Uri, job: &Claimed, deadline: Timestamp) -> Request<Full<Bytes>> {
    let body = Bytes::from(job.payload.to_string());
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = url.clone();
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    let facts = [
        ("idempotency-key", &job.idempotency_key),
        ("ledgertop-job-id", &job.id.to_string()),
        ("ledgertop-attempt", &job.attempt.to_string()),
        ("ledgertop-fence", &job.fence.to_string()),
        ("ledgertop-deadline", &deadline.rfc3339()),
        ("ledgertop-queue", &job.queue),
        ("ledgertop-kind", &job.kind),
        ("ledgertop-tenant", &job.tenant),
    ];
    for (name, value) in facts {
        // Encoded, every text is a value that headers take.
        if let Ok(value) = HeaderValue::try_from(encoded(value)) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    request
}

/// Text as a header carries it: visible ASCII as it is, every other byte and `%` as `%XX`, so that
/// no two keys look alike and `decodeURIComponent` gives the text back.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && byte != b'%' {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            for half in [byte >> 4, byte & 0xF] {
                let digit = char::from_digit(u32::from(half), 16).unwrap_or('0');
                encoded.push(digit.to_ascii_uppercase());
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_keys_stand_as_they_are() {
        let key = "tenant_7:invoice_184:collect";
        assert_eq!(encoded(key), key);
        assert_eq!(encoded("100% für\n"), "100%25%20f%C3%BCr%0A");
    }

    proptest! {
        #[test]
        fn every_text_becomes_a_value_that_can_be_read_back(text in any::<String>()) {
            let value = HeaderValue::try_from(encoded(&text)).unwrap();
            let mut decoded = Vec::new();
            let mut rest = value.to_str().unwrap();
            while let Some(first) = rest.chars().next() {
                if first == '%' {
                    decoded.push(u8::from_str_radix(&rest[1..3], 16).unwrap());
                    rest = &rest[3..];
                } else {
                    decoded.push(u8::try_from(first).unwrap());
                    rest = &rest[1..];
                }
            }
            prop_assert_eq!(decoded, text.into_bytes());
        }
    }
}
