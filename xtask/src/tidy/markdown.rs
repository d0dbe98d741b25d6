//! Checks that the relative links of the Markdown files lead somewhere.

use std::fs;
use std::path::Path;

use super::Tree;

/// `[text](path#heading)`: the path exists, and so does the heading if the path is Markdown.
pub(super) fn links(tree: &Tree, problems: &mut Vec<String>) {
    for file in tree.with(".md") {
        let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
        for (line, link) in relative_links(&file.text) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = tree.root.join(folder).join(path);
            let text = if path.is_empty() {
                Ok(file.text.clone())
            } else {
                fs::read_to_string(&target)
            };
            let says = if !path.is_empty() && !target.exists() {
                "there is no such file"
            } else if !heading.is_empty()
                && (path.is_empty() || path.ends_with(".md"))
                && !text.is_ok_and(|text| headings(&text).any(|anchor| anchor == heading))
            {
                "there is no such heading"
            } else {
                continue;
            };
            problems.push(format!("{}:{line}: link to `{link}`: {says}", file.path));
        }
    }
}

/// The targets of the links outside of code that are not addresses or paths of rustdoc.
fn relative_links(text: &str) -> Vec<(usize, &str)> {
    let mut links = Vec::new();
    for (line, text) in prose(text) {
        // Every second piece between backticks is code; a link's text may be code, its target not.
        for (at, _) in text.match_indices("](") {
            let rest = &text[at + 2..];
            let target = rest.split([')', ' ']).next().unwrap_or(rest);
            let in_code = text[..at].matches('`').count() % 2 == 1;
            let elsewhere =
                target.contains("://") || target.contains("::") || target.starts_with("mailto:");
            if !in_code && !elsewhere && !target.is_empty() {
                links.push((line, target));
            }
        }
    }
    links
}

/// The numbered lines outside of fenced code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

/// The anchors a renderer makes of the headings.
fn headings(text: &str) -> impl Iterator<Item = String> {
    prose(text)
        .filter(|(_, line)| line.starts_with('#'))
        .map(|(_, line)| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            title
                .chars()
                .filter(|&c| c.is_alphanumeric() || c == ' ' || c == '-' || c == '_')
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
}

#[cfg(test)]
mod tests {
    use super::{Tree, links};

    #[test]
    fn links_that_lead_nowhere_are_named() {
        let text = "# A title, with `code`\n\
                    [x](Cargo.toml) [x](xtask) [x](#a-title-with-code)\n\
                    [x](https://a.b/c) [x](crate::X)\n\
                    [x](gone.md) `[x](code.md)` [x](#gone)\n\
                    ```\n[x](fenced.md)\n```\n";
        assert_eq!(
            Tree::problems(links, &[("a.md", text)]),
            [
                "a.md:4: link to `gone.md`: there is no such file",
                "a.md:4: link to `#gone`: there is no such heading",
            ]
        );
    }
}
