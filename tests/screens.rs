//! What is drawn: the screens at the sizes people use, with the text strangers send, with and without
//! colours, and how few bytes a change costs.

#[path = "screens/sample.rs"]
mod sample;

use std::time::Duration;

use ledgertop::board::summary::{QueueSummary, Summary};
use ledgertop::console::model::{Hold, Link, Model};
use ledgertop::console::msg::Msg;
use ledgertop::console::terminal::frame::Encoder;
use ledgertop::console::theme::Depth;
use ledgertop::console::update::update;
use ledgertop::ledger::text::SafeText;
use ratatui::style::{Color, Modifier};
use sample::{drawn, empty, frame, incident, key, lines, model, summary, thumbnails};

#[test]
fn the_overview_at_the_sizes_people_use() {
    for (width, height) in [(80, 24), (120, 36), (160, 45), (200, 60), (40, 10)] {
        let model = model(incident(), width, height);
        insta::assert_snapshot!(format!("overview_{width}x{height}"), drawn(&model));
    }
}
