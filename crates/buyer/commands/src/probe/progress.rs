//! Progress of a run: a bar on a terminal, and nothing elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tradepost_probe::RunProgress;

/// Interval at which the bar's time is updated during a request.
const TICK: Duration = Duration::from_millis(500);

/// Progress bar.
pub(super) struct Bar(ProgressBar);

impl Bar {
    /// Creates a bar on standard error, visible when that is a terminal.
    pub(super) fn new() -> Self {
        let bar = Self::with_target(ProgressDrawTarget::stderr());
        bar.0.set_message("reading the card");
        bar.0.enable_steady_tick(TICK);
        bar
    }

    fn with_target(target: ProgressDrawTarget) -> Self {
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{elapsed} {bar:20} {pos}/{len} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self(bar)
    }

    /// Shows the current step.
    pub(super) fn show(&self, progress: &RunProgress<'_>) {
        self.0.set_length(progress.total as u64);
        self.0.set_position(progress.done as u64);
        self.0.set_message(line(progress));
    }

    /// Removes the bar.
    pub(super) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

fn line(progress: &RunProgress<'_>) -> String {
    let RunProgress { requests, failed, check, on, .. } = progress;
    let failed = if *failed > 0 { format!("{failed} failed, ") } else { String::new() };
    format!("{failed}{requests} requests, {} on {on}", check.id)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;
    use tradepost_probe::checks;

    use super::*;

    /// Terminal that records what was written.
    #[derive(Debug, Clone, Default)]
    struct Screen(Arc<Mutex<String>>);

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            100
        }
        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_terminal_shows_the_running_check_and_findings_so_far() {
        let check = checks().find(|check| check.id == "a2a.card.etag").unwrap();
        let progress = RunProgress {
            done: 7,
            total: 200,
            requests: 12,
            failed: 1,
            check,
            on: "card",
            finding: None,
        };
        let screen = Screen::default();
        let bar = Bar::with_target(ProgressDrawTarget::term_like(Box::new(screen.clone())));
        bar.show(&progress);
        bar.0.abandon();
        let shown = screen.0.lock().unwrap().clone();
        assert!(shown.contains("7/200 1 failed, 12 requests, a2a.card.etag on card"), "{shown}");
    }
}
