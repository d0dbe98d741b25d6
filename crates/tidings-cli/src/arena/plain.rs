//! What others say (a peer, a tool, a document from elsewhere), fit to be shown: what a terminal would obey is written out.

use serde_json::Value;

/// One line of text. Marks that turn the direction of writing go with the characters that a terminal obeys.
pub(crate) fn text(said: &str) -> String {
    let turns = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut plain = String::with_capacity(said.len());
    for c in said.chars() {
        if c.is_control() || turns(c) {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    plain
}

/// Each line of what a program printed.
pub(crate) fn lines(said: &[u8]) -> Vec<String> {
    let said = String::from_utf8_lossy(said);
    let lines = said.trim_end().lines();
    lines
        .map(|line| text(&line.replace('\t', "    ")))
        .collect()
}

/// All texts of a document.
pub(crate) fn document(value: Value) -> Value {
    match value {
        Value::String(said) => Value::String(text(&said)),
        Value::Array(list) => list.into_iter().map(document).collect(),
        Value::Object(map) => {
            let fields = map.into_iter();
            fields.map(|(k, v)| (text(&k), document(v))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_written_out_and_the_rest_stays() {
        assert_eq!(text("käse \\ \"1.2\" 測"), "käse \\ \"1.2\" 測");
        assert_eq!(
            text("a\x1b[2Jb\r\n\u{9b}\u{202e}"),
            r"a\u{1b}[2Jb\r\n\u{9b}\u{202e}"
        );
        assert_eq!(text(&text("\x07")), text("\x07"));
        assert_eq!(lines(b"one\r\n\ttwo\x08\n\n"), ["one", r"    two\u{8}"]);
        let value = serde_json::json!({"\n": [1, {"a": "\t"}], "b": null});
        let plain = serde_json::json!({"\\n": [1, {"a": "\\t"}], "b": null});
        assert_eq!(document(value), plain);
    }
}
