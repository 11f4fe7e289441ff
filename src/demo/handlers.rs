//! The handlers of the demo: they read the payload, call the dependency of their kind, wait for as
//! long as the call takes and report its end. They run in the real worker.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;

use super::arrivals::Run;
use super::content;
use super::dependency::{self, Request};
use super::scenario::{DependencySpec, ScenarioError, Shape};
use crate::ledger::job::Claimed;
use crate::worker::{Context, Done, Handler, HandlerError, Handlers};

/// Does the work of one kind of job by calling a simulated dependency.
struct Simulated {
    run: Arc<Run>,
    began: Instant,
    spec: DependencySpec,
}

#[async_trait]
impl Handler for Simulated {
    async fn run(&self, job: &Claimed, _context: &Context) -> Result<Done, HandlerError> {
        content::validate(&job.kind, &job.payload, job.schema_version.as_deref())?;
        let key = content::stable(&job.idempotency_key);
        let request = Request {
            key,
            tenant: &job.tenant,
            // A redrive starts a fresh budget and is not to meet the same dice again. The fence
            // counts every claim, so it does for both.
            attempt: job.fence,
            elapsed: self.began.elapsed(),
        };
        let answer = dependency::call(&self.run.scenario, &self.spec, self.run.seed, request);
        tokio::time::sleep(answer.latency).await;
        answer.result?;
        Ok(Done {
            output_ref: Some(format!("s3://out/{}/{key}", job.queue)),
        })
    }
}

/// The handlers of every kind in the script; the demo began at `began`.
///
/// # Errors
/// Where a queue lacks a dependency.
pub(super) fn handlers(run: &Arc<Run>, began: Instant) -> Result<Handlers, ScenarioError> {
    let specs: HashMap<&str, &DependencySpec> = run
        .scenario
        .dependencies
        .iter()
        .map(|spec| (spec.name.as_str(), spec))
        .collect();
    let mut handlers = Handlers::new();
    for queue in &run.scenario.queues {
        let children = queue.child_dependency.as_ref();
        let kinds: &[(&str, Option<&String>)] = match queue.shape {
            Shape::Thumbnail => &[("render_thumbnail", Some(&queue.dependency))],
            Shape::Digest => &[
                ("send_digest", Some(&queue.dependency)),
                ("render_chart", children),
            ],
            Shape::Invoice => &[("collect_invoice", Some(&queue.dependency))],
            Shape::Webhook => &[("deliver_webhook", Some(&queue.dependency))],
            Shape::Payout => &[("pay_out", Some(&queue.dependency))],
        };
        for (kind, dependency) in kinds {
            let name = dependency.ok_or(ScenarioError::Missing {
                what: "queue",
                field: "child_dependency",
            })?;
            let spec = specs.get(name.as_str()).copied().cloned().ok_or_else(|| {
                ScenarioError::UnknownName {
                    what: "dependency",
                    name: name.clone(),
                }
            })?;
            let simulated = Simulated {
                run: Arc::clone(run),
                began,
                spec,
            };
            handlers = handlers.on(kind, Arc::new(simulated));
        }
    }
    Ok(handlers)
}
