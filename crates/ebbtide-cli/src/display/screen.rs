//! The lines that stand on a terminal, and what to write so that others stand there instead.

/// A block of lines above the cursor that is written anew in place.
///
/// Each change is one piece of text, which overwrites before it erases, so that nothing flickers. The cursor waits at
/// the beginning of the line below: whatever else is printed, or echoed, does no harm, and there is nothing to restore.
#[derive(Debug, Default)]
pub struct Screen {
    lines: Vec<String>,
    columns: usize,
}

impl Screen {
    /// What to write so that these lines stand there; nothing if they do.
    pub fn draw(&mut self, lines: Vec<String>, columns: usize) -> String {
        if lines == self.lines && columns == self.columns {
            return String::new();
        }
        let text = self.up(columns) + &block(&lines) + "\x1b[J";
        *self = Self { lines, columns };
        text
    }

    /// What to write so that a line of any length stands above.
    pub fn insert(&mut self, line: &str, columns: usize) -> String {
        let text = self.up(columns) + &format!("\x1b[J{line}\n") + &block(&self.lines);
        self.columns = columns;
        text
    }

    /// What to write so that the lines are gone.
    pub fn clear(&mut self, columns: usize) -> String {
        let text = if self.lines.is_empty() { String::new() } else { self.up(columns) + "\x1b[J" };
        self.lines.clear();
        text
    }

    /// Moves the cursor to the first line.
    fn up(&self, columns: usize) -> String {
        match self.height(columns) {
            0 => "\r".to_owned(),
            height => format!("\r\x1b[{height}A"),
        }
    }

    /// Lines of the terminal that are taken. One that became narrower has broken those that were too long.
    fn height(&self, columns: usize) -> usize {
        let height = |line: &String| console::measure_text_width(line).div_ceil(columns.max(1)).max(1);
        self.lines.iter().map(height).sum()
    }
}

/// Lines that erase what stood to their right.
fn block(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\x1b[K\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn lines_are_replaced_in_place() {
        let mut screen = Screen::default();
        assert_eq!(screen.draw(lines(&["a", "b"]), 80), "\ra\x1b[K\nb\x1b[K\n\x1b[J");
        assert_eq!(screen.draw(lines(&["a", "b"]), 80), "", "nothing has changed");
        assert_eq!(screen.draw(lines(&["c"]), 80), "\r\x1b[2Ac\x1b[K\n\x1b[J");
        assert_eq!(screen.clear(80), "\r\x1b[1A\x1b[J");
        assert_eq!(screen.clear(80), "");
    }

    #[test]
    fn remarks_go_above() {
        let mut screen = Screen::default();
        assert_eq!(screen.insert("first", 80), "\r\x1b[Jfirst\n");
        screen.draw(lines(&["a"]), 80);
        assert_eq!(screen.insert("second", 80), "\r\x1b[1A\x1b[Jsecond\na\x1b[K\n");
    }

    #[test]
    fn lines_that_a_narrower_terminal_broke_are_counted() {
        let mut screen = Screen::default();
        screen.draw(lines(&["0123456789", "", "01234"]), 80);
        assert!(screen.draw(lines(&["a"]), 5).starts_with("\r\x1b[4A"));
    }
}
