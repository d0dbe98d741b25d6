//! Reads Rust as text: enough of the language to tell code from comments and strings, and to spell
//! out `use` trees.

/// The source with comments, strings and characters blanked out; lines and columns stay.
pub(crate) fn code_only(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut code = String::with_capacity(source.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match chars[at] {
            '/' if chars.get(at + 1) == Some(&'/') => line_end(&chars, at),
            '/' if chars.get(at + 1) == Some(&'*') => comment_end(&chars, at),
            '"' => string_end(&chars, at),
            '\'' => character_end(&chars, at),
            _ => at,
        };
        if end == at {
            code.push(chars[at]);
            at += 1;
        } else {
            code.extend(
                chars[at..end]
                    .iter()
                    .map(|&c| if c == '\n' { '\n' } else { ' ' }),
            );
            at = end;
        }
    }
    code
}

fn line_end(chars: &[char], at: usize) -> usize {
    chars[at..]
        .iter()
        .position(|&c| c == '\n')
        .map_or(chars.len(), |n| at + n)
}

/// Block comments nest.
fn comment_end(chars: &[char], mut at: usize) -> usize {
    let mut depth = 0;
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at.min(chars.len())
}

/// A string is raw if `r` and any number of `#` stand before its quote.
fn string_end(chars: &[char], quote: usize) -> usize {
    let hashes = chars[..quote]
        .iter()
        .rev()
        .take_while(|&&c| c == '#')
        .count();
    let raw = quote > hashes && chars[quote - hashes - 1] == 'r';
    let mut at = quote + 1;
    while at < chars.len() {
        match chars[at] {
            '\\' if !raw => at += 1,
            '"' if !raw => return at + 1,
            '"' if chars[at + 1..].iter().take_while(|&&c| c == '#').count() >= hashes => {
                return at + 1 + hashes;
            }
            _ => {}
        }
        at += 1;
    }
    chars.len()
}

/// `'a'` and `'\n'` are characters, `'a` is a lifetime.
fn character_end(chars: &[char], quote: usize) -> usize {
    match (chars.get(quote + 1), chars.get(quote + 2)) {
        (Some('\\'), Some(_)) => {
            let rest = chars[quote + 3..].iter().position(|&c| c == '\'');
            rest.map_or(chars.len(), |n| quote + 3 + n + 1)
        }
        (Some(_), Some('\'')) => quote + 3,
        _ => quote,
    }
}

/// The code before a `#[cfg(test)] mod .. {`, which by custom stands last.
pub(super) fn without_tests(code: &str) -> &str {
    let mut from = 0;
    while let Some(found) = code[from..].find("#[cfg(test)]") {
        let start = from + found;
        from = start + "#[cfg(test)]".len();
        let next = code[from..].trim_start();
        if next.starts_with("mod ") && next.find('{') < next.find(';').or(Some(usize::MAX)) {
            return &code[..start];
        }
    }
    code
}

/// Whether `text` has `word` at `at` and no longer word around it.
fn is_whole(text: &str, at: usize, word: &str) -> bool {
    let part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    !text[..at].ends_with(part_of_word) && !text[at + word.len()..].starts_with(part_of_word)
}

/// The lines, counted from 1, in which `word` stands as a whole word.
pub(super) fn lines_with<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.lines().enumerate().filter_map(move |(index, line)| {
        line.match_indices(word)
            .any(|(at, _)| is_whole(line, at, word))
            .then_some(index + 1)
    })
}

/// Every path that a `use` tree with braces brings in, with the line the `use` begins on.
pub(super) fn used_paths(code: &str) -> Vec<(usize, String)> {
    let mut paths = Vec::new();
    for (at, _) in code
        .match_indices("use ")
        .filter(|&(at, _)| is_whole(code, at, "use"))
    {
        let tree = &code[at + "use ".len()..];
        let Some(tree) = tree.find(';').map(|end| &tree[..end]) else {
            continue;
        };
        if tree.contains('{') {
            let line = code[..at].matches('\n').count() + 1;
            let tree = tree.split_whitespace().collect::<Vec<_>>().join(" ");
            expand("", &tree, &mut |path| paths.push((line, path)));
        }
    }
    paths
}

fn expand(prefix: &str, tree: &str, found: &mut impl FnMut(String)) {
    let Some(open) = tree.find('{') else {
        return found(format!("{prefix}{}", tree.trim()));
    };
    let prefix = format!("{prefix}{}", &tree[..open]);
    let inner = tree[open + 1..]
        .strip_suffix('}')
        .unwrap_or(&tree[open + 1..]);
    let mut depth = 0;
    let branches = inner.split(|c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    for branch in branches.map(str::trim).filter(|branch| !branch.is_empty()) {
        expand(&prefix, branch, found);
    }
}

#[cfg(test)]
mod tests {
    use super::{code_only, lines_with, used_paths, without_tests};

    #[test]
    fn comments_strings_and_characters_are_blanked() {
        let source = r##"a /* b /* c */ d */ e // f
let s = "g \" h"; let r = r#"i " j"#; let q = '"'; let n = '\''; fn k<'l>() {}"##;
        let words: Vec<String> = code_only(source)
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let expected = "a e let s = ; let r = r# ; let q = ; let n = ; fn k<'l>() {}";
        assert_eq!(words.join(" "), expected);
        assert_eq!(code_only(source).lines().count(), 2);
    }

    #[test]
    fn words_are_found_whole() {
        let text = "unsafe_code\nunsafe {}\nnot_unsafe\n(unsafe)";
        assert_eq!(lines_with(text, "unsafe").collect::<Vec<_>>(), [2, 4]);
    }

    #[test]
    fn use_trees_are_spelled_out() {
        let code = "x;\nuse std::{cell::{Cell, UnsafeCell as Raw}, thread};\nuse std::fmt;";
        let paths: Vec<String> = used_paths(code).into_iter().map(|(_, path)| path).collect();
        assert_eq!(
            paths,
            [
                "std::cell::Cell",
                "std::cell::UnsafeCell as Raw",
                "std::thread"
            ]
        );
        assert_eq!(used_paths(code)[0].0, 2);
    }

    #[test]
    fn a_test_module_is_cut_off_but_not_a_test_function() {
        assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests { b }"), "a\n");
        let kept = "a\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\nfn b() {}";
        assert_eq!(without_tests(kept), kept);
    }
}
