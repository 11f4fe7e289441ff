//! The few shapes that every screen is made of. Each draws into a rectangle of a frame and cannot
//! write outside it; none knows a board. Next on the walk of a row to a cell: [`super::terminal`].

pub mod bar;
pub mod canvas;
pub mod facts;
pub mod histogram;
pub mod list;
pub mod machine;
pub mod pane;
pub mod sparkline;
pub mod timeline;

pub use canvas::Canvas;
