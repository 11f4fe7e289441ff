//! The ledger's laws, L1 to L10, as a judgement over what an audit reads.
//!
//! Owns what each law means and how it is shown to be broken. Pages go in, a [`Report`] comes out;
//! nothing here knows a database, a file or a terminal. One job at a time is replayed, so that the
//! memory needed is that of one page, however large the ledger is; what spans jobs is kept as
//! counters. `docs/verify.md` says of each law how it is checked and what the check cannot see. The
//! walk: [`law`], then `replay`, which rebuilds a row from its events, then `laws`, which holds
//! each event against the row before it.

use crate::ledger::audit::{Chapter, Ending, Outline, Page, Twins};

pub mod law;
mod laws;
mod replay;
pub mod report;
mod rules;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use law::Law;
pub use report::{Breach, Report};

use laws::{Findings, on_event, on_missing_row, on_row};
use replay::Replay;
use rules::Rulebook;

/// Judges a ledger, page by page.
#[derive(Debug)]
pub struct Verifier {
    outline: Outline,
    report: Report,
    /// The job that the last page left open.
    open: Option<Job>,
    /// How many events had a number up to the last one of the outline.
    numbered: u64,
}

/// The job that is being replayed.
#[derive(Debug, Default)]
struct Job {
    replay: Replay,
    breached: bool,
}

impl Verifier {
    /// A judgement that keeps at most `keep` breaches and counts all of them.
    pub fn new(outline: Outline, keep: usize) -> Self {
        Self {
            outline,
            report: Report::new(outline.as_of, keep),
            open: None,
            numbered: 0,
        }
    }

    /// What was found so far.
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// Judges the next page.
    pub fn page(&mut self, page: &Page) {
        let rules = Rulebook::of(&page.rules);
        self.numbered = self.numbered.saturating_add(page.numbered);
        for chapter in &page.chapters {
            let mut job = self.open.take().unwrap_or_default();
            self.events(&mut job, chapter, &rules);
            if chapter.ending == Ending::Open {
                self.open = Some(job);
            } else {
                self.ending(&mut job, chapter);
            }
        }
    }

    /// Judges keys that name more than one job.
    pub fn twins(&mut self, twins: &[Twins]) {
        for each in twins {
            self.report.add(Breach {
                law: Law::L5,
                job: Some(each.last.clone()),
                queue: None,
                version: None,
                event: None,
                expected: format!("one job with the key '{}'", each.idempotency_key),
                found: format!("{} jobs, the first of them {}", each.jobs, each.first),
            });
        }
    }

    /// Judges what only the whole ledger shows, and closes the report.
    pub fn finish(mut self) -> Report {
        if let Some(last) = self.outline.last_event
            && last != self.numbered
        {
            let expected = format!("{last} events up to number {last}, none ever removed");
            let found = format!("{} events", self.numbered);
            self.report.add(Breach::of_ledger(Law::L3, expected, found));
        }
        let stored = self.report.stored();
        let accepted = self.report.accepted;
        if stored != accepted {
            let expected = format!("{accepted} jobs over all states, as many as were accepted");
            let found = format!("{stored} jobs");
            self.report.add(Breach::of_ledger(Law::L9, expected, found));
        }
        self.report
    }

    /// Judges the events of a chapter, one after the other.
    fn events(&mut self, job: &mut Job, chapter: &Chapter, rules: &Rulebook<'_>) {
        for entry in &chapter.entries {
            let mut findings = Findings::default();
            match entry {
                Ok(entry) => {
                    self.report.count(entry);
                    on_event(&job.replay, entry, rules, &mut findings);
                    job.replay.apply(entry, rules);
                }
                Err(unreadable) => {
                    self.report.count_unreadable();
                    findings.unreadable(Law::L1, unreadable);
                    job.replay.lose(unreadable);
                }
            }
            self.note(job, chapter, findings);
        }
    }

    /// Judges the row of a job whose events are complete.
    fn ending(&mut self, job: &mut Job, chapter: &Chapter) {
        let mut findings = Findings::default();
        match &chapter.ending {
            Ending::Open => {}
            Ending::Row(row) => {
                self.report.stands_in(Some(row.state));
                on_row(&job.replay, row, &mut findings);
            }
            Ending::Unreadable(unreadable) => {
                self.report.stands_in(None);
                findings.unreadable(Law::L8, unreadable);
            }
            Ending::Missing => on_missing_row(&job.replay, &mut findings),
        }
        self.note(job, chapter, findings);
        self.report.count_job(job.breached);
    }

    fn note(&mut self, job: &mut Job, chapter: &Chapter, findings: Findings) {
        job.breached |= !findings.is_empty();
        for finding in findings {
            let queue = job.replay.queue().cloned();
            self.report
                .add(Breach::of_job(chapter.job.clone(), queue, finding));
        }
    }
}
