//! Acts on jobs: the only place of the console that holds a handle which may write.
//!
//! The handle is made by an [`OpenOperate`], which a read-only console is not given: it has no
//! [`Permit`] either, and so not even an effect that asks for an act. It is opened by the first
//! act. Orders are carried out one after the other; each gets one answer.

use std::time::Instant;

use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::console::dialog::operate::Order;
use crate::console::msg::{Ended, Msg, Outbox};
use crate::ledger::plan::{Pace, PlanEvent};
use crate::ledger::text::SafeText;
use crate::operate::{self, Operate, Receipt};
use crate::store::StoreError;

/// Opens the ledger for acts.
#[async_trait]
pub trait OpenOperate: Send + Sync {
    /// Opens it through a connection that may write.
    ///
    /// # Errors
    /// Where the ledger cannot be reached or is none.
    async fn open(&self) -> Result<Operate, StoreError>;
}

/// What only a console has that may operate: made from what opens the ledger for acts, and from
/// nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permit(());

impl Permit {
    /// The permit that comes with an opener.
    pub fn of(_opener: &dyn OpenOperate) -> Self {
        Self(())
    }
}

/// How many orders may wait: more than a person gives while one is carried out.
const ORDERS_MAX: usize = 16;

/// Where orders are put in.
#[derive(Debug, Clone)]
pub struct Orders(mpsc::Sender<(u64, Order)>);

impl Orders {
    /// Puts an order in.
    ///
    /// # Errors
    /// Where too many wait: what is to be told instead of the receipt.
    pub fn give(&self, number: u64, order: Order) -> Result<(), Msg> {
        self.0.try_send((number, order)).map_err(|_full| Msg::Operated {
            number,
            result: Err(SafeText::new(
                "too many orders wait for the ledger; this one was not given, nothing was changed",
            )),
        })
    }
}

/// Carries orders out for a screen.
pub struct Clerk {
    open: Box<dyn OpenOperate>,
    outbox: Outbox,
    orders: mpsc::Receiver<(u64, Order)>,
    handle: Option<Operate>,
}

impl Clerk {
    /// A clerk, and where it takes orders.
    pub fn new(open: Box<dyn OpenOperate>, outbox: Outbox) -> (Self, Orders) {
        let (sender, orders) = mpsc::channel(ORDERS_MAX);
        let clerk = Self {
            open,
            outbox,
            orders,
            handle: None,
        };
        (clerk, Orders(sender))
    }

    /// Carries orders out until the screen is gone.
    pub async fn run(mut self) {
        while let Some((number, order)) = self.orders.recv().await {
            let result = self.carry_out(&order).await;
            let result = result.map(Box::new).map_err(|error| {
                tracing::warn!(%error, operation = order.operation.name(), "an act failed");
                SafeText::from(error.to_string())
            });
            let told = self.tell(Msg::Operated { number, result }).await;
            if told.is_err() {
                return;
            }
        }
    }

    async fn tell(&self, msg: Msg) -> Result<(), Ended> {
        self.outbox.send_async(Instant::now(), msg).await
    }

    async fn carry_out(&mut self, order: &Order) -> Result<Receipt, StoreError> {
        let handle = match self.handle.take() {
            Some(handle) => handle,
            None => self.open.open().await?,
        };
        let result = carry_out(&handle, order).await;
        // After a failure the ledger is opened anew by the next act.
        self.handle = result.is_ok().then_some(handle);
        result
    }
}

async fn carry_out(handle: &Operate, order: &Order) -> Result<Receipt, StoreError> {
    match order.targets.as_slice() {
        [target] => handle.act(order.operation, *target, &order.reason).await,
        _ => plan(handle, order).await,
    }
}

/// More than one job is a plan: its jobs are frozen as they were shown, then it is approved.
async fn plan(handle: &Operate, order: &Order) -> Result<Receipt, StoreError> {
    let bulk = operate::Order {
        operation: order.operation,
        query: order.query.as_deref().unwrap_or_default(),
        reason: &order.reason,
        pace: order.pace.unwrap_or(Pace::of(order.operation)),
    };
    let draft = handle.draft(&bulk, &order.targets).await?;
    handle
        .act_on_plan(draft.id, PlanEvent::Approve, &order.reason)
        .await?;
    let (executor, plan) = (handle.executor(), draft.id);
    tokio::spawn(async move {
        // Where this process ends first, the lease does too, and another executor goes on.
        let never = CancellationToken::new();
        if let Err(error) = executor.run(plan, &never, |_standing| {}).await {
            tracing::warn!(%plan, %error, "the plan is left to another executor");
        }
    });
    Ok(Receipt::of_plan(&handle.plan(draft.id).await?))
}
