//! The table of actions: name, keys, help, and where each is to be had.

/// Something a person can ask of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// To the first line.
    First,
    /// To the last line.
    Last,
    /// Half a screen up.
    HalfUp,
    /// Half a screen down.
    HalfDown,
    /// Open what is selected, or accept what was typed.
    Enter,
    /// Out by one level; never out of the program.
    Out,
    /// Back by one level, or quit.
    Back,
    /// Filter, or search.
    Filter,
    /// Put the chosen candidate in place.
    Complete,
    /// The next order of queues.
    Sort,
    /// Hold the numbers still, or let them go on.
    Pause,
    /// Read the ledger more often.
    Faster,
    /// Read the ledger less often.
    Slower,
    /// The next way to show times.
    TimeZone,
    /// The next tab.
    NextTab,
    /// The tab before.
    PreviousTab,
    /// The overview.
    Overview,
    /// The list of jobs.
    Jobs,
    /// Dead letters in groups.
    DeadLetters,
    /// The list of leases.
    Leases,
    /// The list of plans.
    Plans,
    /// What operators did.
    Audit,
    /// Mark the selected job, or take its mark away.
    Mark,
    /// Begin a range of marks, or mark it.
    MarkRange,
    /// Take every mark away.
    Unmark,
    /// Look the list up again now.
    Again,
    /// The list of screens and actions.
    Palette,
    /// The help.
    Help,
    /// Paint the screen anew.
    Redraw,
    /// Stop the process, as ctrl-z does.
    Suspend,
    /// End the program.
    Quit,
    /// Show the payload of a job.
    Reveal,
    /// Do what a dialog asks about.
    Confirm,
    /// Set jobs aside.
    Quarantine,
    /// Take running jobs from their workers and set them aside.
    Revoke,
    /// Send dead letters back to work.
    Redrive,
    /// End retry waits early.
    Promote,
    /// Close dead letters for good.
    Discard,
    /// Act on every job of the filter.
    Whole,
    /// Copy what a dialog shows.
    Copy,
    /// Take away the character before the cursor.
    Erase,
    /// Take away the word before the cursor.
    EraseWord,
    /// Empty the field.
    EraseAll,
}

impl Action {
    /// The actions that open an act.
    pub const OPENING: [Self; 6] = [
        Self::Quarantine,
        Self::Revoke,
        Self::Redrive,
        Self::Promote,
        Self::Discard,
        Self::Reveal,
    ];
}

/// Where keys have their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// The overview.
    Overview,
    /// One queue.
    Queue,
    /// A list of jobs.
    Jobs,
    /// Dead letters in groups.
    DeadLetters,
    /// The list of leases.
    Leases,
    /// The list of plans.
    Plans,
    /// What operators did.
    Audit,
    /// One job.
    Job,
    /// The help.
    Help,
    /// A dialog that asks whether something is to be done.
    Question,
    /// What a dialog brought: a receipt, a payload.
    Result,
    /// The choice of what is done to every job of a filter.
    Whole,
    /// A field that takes text: filter, search, palette.
    Field,
}

impl Place {
    /// Every place.
    pub const ALL: [Self; 13] = [
        Self::Overview,
        Self::Queue,
        Self::Jobs,
        Self::DeadLetters,
        Self::Leases,
        Self::Plans,
        Self::Audit,
        Self::Job,
        Self::Help,
        Self::Question,
        Self::Result,
        Self::Whole,
        Self::Field,
    ];

    /// Its name in help and errors.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Queue => "queue",
            Self::Jobs => "jobs",
            Self::DeadLetters => "dead letters",
            Self::Leases => "leases",
            Self::Plans => "plans",
            Self::Audit => "audit",
            Self::Job => "job",
            Self::Help => "help",
            Self::Question => "question",
            Self::Result => "result",
            Self::Whole => "whole filter",
            Self::Field => "text field",
        }
    }
}

/// One entry of the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding {
    /// What it does.
    pub action: Action,
    /// Its name in the config.
    pub name: &'static str,
    /// Its keys, unless the config says otherwise; the first stands in the footer.
    pub keys: &'static [&'static str],
    /// What it does, in the help.
    pub help: &'static str,
    /// A word for the footer, where it matters enough to stand there.
    pub footer: Option<&'static str>,
    /// Where it is to be had.
    pub places: &'static [Place],
}

use Place::{
    Audit, DeadLetters, Field, Help, Job, Jobs, Leases, Overview, Plans, Question, Queue, Result,
    Whole,
};

const SCREENS: &[Place] = &[
    Overview,
    Queue,
    Jobs,
    DeadLetters,
    Leases,
    Plans,
    Audit,
    Job,
];
const LISTS: &[Place] = &[
    Overview,
    Queue,
    Jobs,
    DeadLetters,
    Leases,
    Plans,
    Audit,
    Job,
    Help,
    Result,
];
const EVERYWHERE: &[Place] = &[
    Overview,
    Queue,
    Jobs,
    DeadLetters,
    Leases,
    Plans,
    Audit,
    Job,
    Help,
    Field,
    Question,
    Result,
    Whole,
];
const LOOKED_UP: &[Place] = &[Jobs, DeadLetters, Leases, Plans, Audit, Job];
const MARKABLE: &[Place] = &[Jobs];
const OPERABLE: &[Place] = &[Jobs, Job, DeadLetters, Leases, Whole];
const TYPING: &[Place] = &[Field];

const fn binding(
    action: Action,
    name: &'static str,
    keys: &'static [&'static str],
    places: &'static [Place],
    help: &'static str,
) -> Binding {
    Binding {
        action,
        name,
        keys,
        help,
        footer: None,
        places,
    }
}

impl Binding {
    const fn footer(self, word: &'static str) -> Self {
        Self {
            footer: Some(word),
            ..self
        }
    }
}

/// Every action, in the order in which help and footer list them.
pub const REGISTRY: [Binding; 45] = [
    binding(
        Action::Enter,
        "enter",
        &["enter"],
        &[
            Overview,
            Queue,
            Jobs,
            DeadLetters,
            Leases,
            Plans,
            Audit,
            Field,
            Result,
        ],
        "open what is selected: a queue, its jobs, a group's jobs, a job, \
         a receipt's plan; accept what was typed",
    )
    .footer("open"),
    binding(
        Action::Out,
        "out",
        &["esc"],
        EVERYWHERE,
        "out by one level; never out of the program",
    )
    .footer("out"),
    binding(
        Action::Filter,
        "filter",
        &["/"],
        &[Overview, Jobs, DeadLetters, Leases, Help],
        "list only what a filter says (queues: a text in the name); search the help",
    )
    .footer("filter"),
    binding(
        Action::Sort,
        "sort",
        &["s"],
        &[Overview, Jobs, DeadLetters],
        "the next order of the list",
    )
    .footer("sort"),
    binding(
        Action::Mark,
        "mark",
        &["space"],
        MARKABLE,
        "mark the selected job, or take its mark away; mark a range that was begun",
    )
    .footer("mark"),
    binding(
        Action::MarkRange,
        "mark_range",
        &["V"],
        MARKABLE,
        "begin a range of marks at the selected job; again: mark all of it",
    ),
    binding(
        Action::Reveal,
        "reveal",
        &["v"],
        &[Job],
        "show the payload of the job for a time, after asking",
    )
    .footer("payload"),
    binding(
        Action::Redrive,
        "redrive",
        &["R"],
        OPERABLE,
        "send dead letters back to work: the selected job, the marks, or the group",
    )
    .footer("redrive"),
    binding(
        Action::Quarantine,
        "quarantine",
        &["Q"],
        OPERABLE,
        "set jobs aside: the selected job, the marks, or the group",
    )
    .footer("quarantine"),
    binding(
        Action::Promote,
        "promote",
        &["P"],
        OPERABLE,
        "end a retry wait now: the selected job, or the marks",
    )
    .footer("promote"),
    binding(
        Action::Discard,
        "discard",
        &["D"],
        OPERABLE,
        "close dead letters for good: the selected job, the marks, or the group",
    )
    .footer("discard"),
    binding(
        Action::Revoke,
        "revoke",
        &["X"],
        OPERABLE,
        "take a running job from its worker and set it aside",
    )
    .footer("revoke"),
    binding(
        Action::Whole,
        "whole",
        &["*"],
        &[Jobs],
        "act on every job of the list's filter, after asking what",
    ),
    binding(
        Action::Confirm,
        "confirm",
        &["y"],
        &[Question],
        "do what the dialog asks about",
    ),
    binding(
        Action::Copy,
        "copy",
        &["y"],
        &[Result],
        "copy the receipt, where the config allows it",
    ),
    binding(
        Action::Unmark,
        "unmark",
        &["U"],
        MARKABLE,
        "take every mark away",
    )
    .footer("unmark"),
    binding(
        Action::Pause,
        "pause",
        &["p"],
        SCREENS,
        "hold the numbers still, or let them go on",
    )
    .footer("pause"),
    binding(
        Action::TimeZone,
        "time_zone",
        &["T"],
        SCREENS,
        "show times in UTC, in local time, or as ages",
    )
    .footer("time"),
    binding(
        Action::Palette,
        "palette",
        &[":"],
        SCREENS,
        "go to any screen, queue or action by name",
    )
    .footer("go to"),
    binding(
        Action::Help,
        "help",
        &["?", "f1"],
        LISTS,
        "these keys, and what the words on the screen mean",
    )
    .footer("help"),
    binding(
        Action::Back,
        "back",
        &["q"],
        LISTS,
        "back by one level; from the overview: quit",
    )
    .footer("quit"),
    binding(
        Action::Up,
        "up",
        &["k", "up"],
        EVERYWHERE,
        "one line up; on a queue: the queue before",
    ),
    binding(
        Action::Down,
        "down",
        &["j", "down"],
        EVERYWHERE,
        "one line down; on a queue: the next queue",
    )
    .footer("next queue"),
    binding(
        Action::First,
        "first",
        &["g", "home"],
        LISTS,
        "to the first line",
    ),
    binding(
        Action::Last,
        "last",
        &["G", "end"],
        LISTS,
        "to the last line",
    ),
    binding(
        Action::HalfUp,
        "half_up",
        &["ctrl-u", "pageup"],
        LISTS,
        "half a screen up",
    ),
    binding(
        Action::HalfDown,
        "half_down",
        &["ctrl-d", "pagedown"],
        LISTS,
        "half a screen down",
    ),
    binding(
        Action::Faster,
        "faster",
        &["+", "="],
        SCREENS,
        "read the ledger more often",
    ),
    binding(
        Action::Slower,
        "slower",
        &["-"],
        SCREENS,
        "read the ledger less often",
    ),
    binding(
        Action::NextTab,
        "next_tab",
        &["tab"],
        SCREENS,
        "the next tab",
    ),
    binding(
        Action::PreviousTab,
        "previous_tab",
        &["shift-tab"],
        SCREENS,
        "the tab before",
    ),
    binding(
        Action::Overview,
        "overview",
        &["1"],
        SCREENS,
        "the overview",
    ),
    binding(Action::Jobs, "jobs", &["2"], SCREENS, "the list of jobs"),
    binding(
        Action::DeadLetters,
        "dead_letters",
        &["3"],
        SCREENS,
        "dead letters in groups alike in class, reason and error",
    ),
    binding(
        Action::Leases,
        "leases",
        &["4"],
        SCREENS,
        "the list of leases, expired ones first",
    ),
    binding(
        Action::Plans,
        "plans",
        &["5"],
        SCREENS,
        "redrives and quarantines in bulk, and how they stand",
    ),
    binding(
        Action::Audit,
        "audit",
        &["6"],
        SCREENS,
        "what operators did, and why",
    ),
    binding(
        Action::Again,
        "again",
        &["r"],
        LOOKED_UP,
        "look the list up again now",
    ),
    binding(
        Action::Redraw,
        "redraw",
        &["ctrl-l"],
        EVERYWHERE,
        "paint the screen anew",
    ),
    binding(
        Action::Suspend,
        "suspend",
        &["ctrl-z"],
        EVERYWHERE,
        "stop the program and return to the shell; 'fg' goes on",
    ),
    binding(
        Action::Quit,
        "quit",
        &["ctrl-c"],
        EVERYWHERE,
        "end the program from anywhere",
    ),
    binding(
        Action::Complete,
        "complete",
        &["tab"],
        TYPING,
        "put the chosen candidate in place; up and down choose",
    ),
    binding(
        Action::Erase,
        "erase",
        &["backspace"],
        TYPING,
        "take away the last character",
    ),
    binding(
        Action::EraseWord,
        "erase_word",
        &["ctrl-w"],
        TYPING,
        "take away the last word",
    ),
    binding(
        Action::EraseAll,
        "erase_all",
        &["ctrl-u"],
        TYPING,
        "empty the field",
    ),
];
