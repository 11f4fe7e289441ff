//! What the demo's jobs say: references with a digest and a size, never bodies; and how a handler
//! reads them. Pure.

use rand::{Rng, RngExt as _};
use serde_json::{Value, json};
use uuid::Uuid;

use super::scenario::Shape;
use crate::ledger::job::NewJob;
use crate::worker::HandlerError;

/// The picture formats that can be scaled.
const FORMATS: [&str; 3] = ["jpeg", "png", "webp"];
/// The schema of good invoices.
const INVOICE_SCHEMA: &str = "2026-11-a";

/// What is decided about a job before its details are drawn.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    /// What it is about.
    pub(super) shape: Shape,
    /// Whose it is.
    pub(super) tenant: String,
    /// Its number in its queue.
    pub(super) number: u64,
    /// The tag of the run.
    pub(super) tag: String,
    /// Whether its input is malformed.
    pub(super) malformed: bool,
    /// The schema version of a bad deploy, which leaves a field out.
    pub(super) poison: Option<String>,
}

impl Draft {
    /// The key of an operation on an entity: tenant, entity, operation.
    fn key(&self, entity: &str, operation: &str) -> String {
        let Self {
            tenant,
            number,
            tag,
            ..
        } = self;
        if tag.is_empty() {
            format!("{tenant}:{entity}_{number:06}:{operation}")
        } else {
            format!("{tenant}:{entity}_{number:06}:{operation}@{tag}")
        }
    }
}

/// The part of a key that does not depend on the run.
pub(super) fn stable(key: &str) -> &str {
    key.split_once('@').map_or(key, |(stable, _)| stable)
}

/// The job of a draft; queue, policy and id are set by the caller.
pub(super) fn job(draft: &Draft, random: &mut impl Rng) -> NewJob {
    let (tenant, number) = (&draft.tenant, draft.number);
    match draft.shape {
        Shape::Thumbnail => {
            let format = FORMATS[random.random_range(0..FORMATS.len())];
            let format = if draft.malformed { "psd" } else { format };
            let mut job = new("render_thumbnail", draft, draft.key("image", "thumb_256"));
            job.payload = reference(&format!("media/{tenant}/image_{number:06}"), random);
            set(&mut job.payload, "format", json!(format));
            set(&mut job.payload, "width", json!(256));
            job
        }
        Shape::Digest => {
            let mut job = new("send_digest", draft, draft.key("digest", "send"));
            job.payload = reference(&format!("lists/{tenant}/week_{number:06}"), random);
            job
        }
        Shape::Invoice => {
            let mut job = new("collect_invoice", draft, draft.key("invoice", "collect"));
            let amount: u32 = random.random_range(900..=250_000);
            job.payload = reference(&format!("invoices/{tenant}/{number:06}"), random);
            set(&mut job.payload, "currency", json!("EUR"));
            if draft.poison.is_none() {
                set(&mut job.payload, "amount_cents", json!(amount));
            }
            let version = draft.poison.as_deref().unwrap_or(INVOICE_SCHEMA);
            job.schema_version = Some(version.to_owned());
            job
        }
        Shape::Payout => {
            let mut job = new("pay_out", draft, draft.key("payout", "pay"));
            let amount: u32 = random.random_range(5_000..=90_000);
            job.payload = reference(&format!("payouts/{tenant}/{number:06}"), random);
            set(&mut job.payload, "currency", json!("EUR"));
            set(&mut job.payload, "amount_cents", json!(amount));
            job
        }
        Shape::Webhook => {
            let mut job = new("deliver_webhook", draft, draft.key("event", "deliver"));
            job.event_id = Some(format!("evt_{number:08}"));
            job.payload = reference(&format!("events/{tenant}/{number:08}"), random);
            job
        }
    }
}

/// The `number`th chart of a digest.
pub(super) fn child(draft: &Draft, number: u64, random: &mut impl Rng) -> NewJob {
    let key = draft.key("digest", &format!("chart_{number}"));
    let mut job = new("render_chart", draft, key);
    let (tenant, digest) = (&draft.tenant, draft.number);
    job.payload = reference(&format!("charts/{tenant}/{digest:06}_{number}"), random);
    job
}

/// Reads what a handler needs from a job's payload.
///
/// # Errors
/// A permanent failure where the payload does not hold it: it never will.
pub(super) fn validate(
    kind: &str,
    payload: &Value,
    schema_version: Option<&str>,
) -> Result<(), HandlerError> {
    let text = |field: &str| payload.get(field).and_then(Value::as_str);
    if text("ref").is_none() || text("sha256").is_none() {
        return Err(HandlerError::known(
            "missing_field",
            "a payload names 'ref' and 'sha256'",
        ));
    }
    let format = text("format").unwrap_or("nothing");
    if kind == "render_thumbnail" && !FORMATS.contains(&format) {
        let error = format!("cannot render '{format}'; known: {}", FORMATS.join(", "));
        return Err(HandlerError::known("unsupported_format", error));
    }
    let amount = payload.get("amount_cents").and_then(Value::as_u64);
    if kind == "collect_invoice" && amount.is_none() {
        let version = schema_version.unwrap_or("none");
        let error = format!(
            "required field 'amount_cents' is missing (schema {version}, accepted {INVOICE_SCHEMA})"
        );
        return Err(HandlerError::known("schema_violation", error));
    }
    Ok(())
}

fn new(kind: &str, draft: &Draft, key: String) -> NewJob {
    NewJob {
        idempotency_key: key,
        tenant: draft.tenant.clone(),
        ..NewJob::new(Uuid::nil(), "", kind, "")
    }
}

/// A reference to a body kept elsewhere, with its integrity.
fn reference(path: &str, random: &mut impl Rng) -> Value {
    let digest: [u64; 4] = random.random();
    let bytes: u32 = random.random_range(2_000..4_000_000);
    json!({
        "ref": format!("s3://{path}"),
        "sha256": digest.map(|part| format!("{part:016x}")).concat(),
        "bytes": bytes,
    })
}

fn set(payload: &mut Value, field: &str, value: Value) {
    if let Value::Object(fields) = payload {
        fields.insert(field.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn draft(shape: Shape) -> Draft {
        Draft {
            shape,
            tenant: "acme".to_owned(),
            number: 184,
            tag: String::new(),
            malformed: false,
            poison: None,
        }
    }

    fn verdict(draft: &Draft) -> Result<(), String> {
        let job = job(draft, &mut ChaCha8Rng::seed_from_u64(1));
        validate(&job.kind, &job.payload, job.schema_version.as_deref())
            .map_err(|error| error.reason)
    }

    #[test]
    fn a_key_names_tenant_entity_and_operation_and_the_run_only_where_it_must() {
        let mut draft = draft(Shape::Invoice);
        assert_eq!(
            draft.key("invoice", "collect"),
            "acme:invoice_000184:collect"
        );
        draft.tag = "k3".to_owned();
        let key = draft.key("invoice", "collect");
        assert_eq!(key, "acme:invoice_000184:collect@k3");
        assert_eq!(stable(&key), "acme:invoice_000184:collect");
    }

    #[test]
    fn good_payloads_pass_and_bad_ones_fail_by_what_is_wrong_with_them() {
        for shape in [
            Shape::Thumbnail,
            Shape::Digest,
            Shape::Invoice,
            Shape::Webhook,
            Shape::Payout,
        ] {
            assert_eq!(verdict(&draft(shape)), Ok(()));
        }
        let mut odd = draft(Shape::Thumbnail);
        odd.malformed = true;
        assert_eq!(verdict(&odd), Err("unsupported_format".to_owned()));
        let mut poisoned = draft(Shape::Invoice);
        poisoned.poison = Some("2026-11-b".to_owned());
        assert_eq!(verdict(&poisoned), Err("schema_violation".to_owned()));
    }
}
