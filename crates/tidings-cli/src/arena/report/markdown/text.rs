//! Text that may come from anywhere, made harmless in Markdown.

/// On one line, with nothing that Markdown or HTML would act on.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' if is_markup(text, c) => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Underscores and hashes inside words mean nothing; the others are always escaped.
fn is_markup(text: &str, c: char) -> bool {
    match c {
        '_' | '~' | '*' => text.matches(c).count() > 1,
        '#' => text.starts_with('#'),
        _ => true,
    }
}

/// The same inside a table.
pub(super) fn cell(text: &str) -> String {
    plain(text).replace('|', "\\|")
}

/// Inside a block of code: one line, no fence.
pub(super) fn code(text: &str) -> String {
    let line = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    line.collect::<String>().replace("```", "'''")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        assert_eq!(cell("a|b\n<script>"), "a\\|b &lt;script&gt;");
        assert_eq!(
            plain("[x](javascript:1) `c`"),
            "\\[x\\](javascript:1) \\`c\\`"
        );
        assert_eq!(code("a\n```\nb"), "a ''' b");
        assert_eq!(plain("tell_fixed w=1"), "tell_fixed w=1");
    }
}
