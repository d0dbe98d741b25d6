//! The list of mutants, as cargo-mutants makes it of the files.

use std::collections::BTreeMap;
use std::ops::Range;
use std::process::Command;

use super::super::sites::SOURCES;
use super::super::tree::Fingerprint;
use crate::command::{read, root};
use crate::tools;

/// One mechanical change of one function.
#[derive(Debug)]
pub(super) struct Mutant {
    /// Below the library's `src`.
    pub(super) file: String,
    /// What is changed into what, and where; which of those that are alike there.
    pub(super) name: String,
    /// Its function and its name: what was seen of it says nothing once the function is another.
    pub(super) id: String,
    /// The function it stands in, as bytes of the file.
    pub(super) function: Range<usize>,
    /// The function gives back a type that has no name, so its body cannot be exchanged at run time.
    pub(super) nameless: bool,
    /// What is replaced.
    pub(super) span: Range<usize>,
    pub(super) replacement: String,
}

/// All mutants of those files whose path below `src` contains one of `filters`, by file and place.
pub(super) fn all(filters: &[&str]) -> Result<Vec<Mutant>, String> {
    let tool = tools::MUTANTS.get()?;
    // `mutants` twice: a plug-in of cargo is told its own name.
    let arguments = ["mutants", "--list", "--json", "--package", "tidings"];
    let output = Command::new(&tool)
        .args(arguments)
        .current_dir(root())
        .output()
        .map_err(|error| format!("{tool} cannot be started: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{said}\n{tool} {}: failed", arguments.join(" ")));
    }
    let mut objects = objects(&String::from_utf8_lossy(&output.stdout))?;
    objects.sort_by_key(|object| (object.get("file").cloned(), place(object)));
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let mut alike: BTreeMap<String, usize> = BTreeMap::new();
    let mut mutants = Vec::new();
    for object in &objects {
        let path = text(object, "file")?;
        let Some(file) = path.strip_prefix(SOURCES).map(|file| &file[1..]) else {
            continue;
        };
        // What is no part of a function is a constant: no switch can change it.
        if !filters.iter().any(|filter| file.contains(filter))
            || !object.contains_key("function.span.start.line")
        {
            continue;
        }
        if !texts.contains_key(path) {
            texts.insert(path.to_owned(), read(path)?);
        }
        let source = &texts[path];
        let span = span(object, "span", source)?;
        let function = self::span(object, "function.span", source)?;
        let replacement = text(object, "replacement")?.to_owned();
        // `crates/../file.rs:3:5: replace ..`
        let change = text(object, "name")?.splitn(4, ':').last().unwrap_or("");
        let mut name = format!("{file}: {}", change.trim());
        let n = alike.entry(name.clone()).or_default();
        *n += 1;
        if *n > 1 {
            name += &format!(" ({n})");
        }
        let mut print = Fingerprint::default();
        print.add(&source.as_bytes()[function.clone()]);
        print.add(&(span.start - function.start).to_le_bytes());
        print.add(replacement.as_bytes());
        mutants.push(Mutant {
            file: file.to_owned(),
            id: format!("{} {}", print.text(), name.replace('\n', " ")),
            name,
            nameless: text(object, "function.return_type")?.contains("impl "),
            function,
            span,
            replacement,
        });
    }
    Ok(mutants)
}

type Object = BTreeMap<String, String>;

fn text<'a>(object: &'a Object, key: &str) -> Result<&'a str, String> {
    let value = object.get(key).map(String::as_str);
    value.ok_or_else(|| format!("cargo-mutants says no `{key}`: {object:?}"))
}

fn number(object: &Object, key: &str) -> Result<usize, String> {
    let value = text(object, key)?;
    value.parse().map_err(|_| format!("`{key}` is `{value}`"))
}

fn place(object: &Object) -> Option<(usize, usize)> {
    let number = |key: &str| object.get(key)?.parse().ok();
    Some((number("span.start.line")?, number("span.start.column")?))
}

/// Lines and columns, both from 1 and the columns in characters, as bytes.
fn span(object: &Object, key: &str, text: &str) -> Result<Range<usize>, String> {
    let at = |end: &str| {
        let line = number(object, &format!("{key}.{end}.line"))?;
        let column = number(object, &format!("{key}.{end}.column"))?;
        let mut start = 0;
        for old in text.split_inclusive('\n').take(line - 1) {
            start += old.len();
        }
        let before = text[start..].chars().take(column - 1);
        Ok::<_, String>(start + before.map(char::len_utf8).sum::<usize>())
    };
    Ok(at("start")?..at("end")?)
}

/// The objects of an array in JSON; what lies in objects of theirs is called `outer.inner`.
fn objects(json: &str) -> Result<Vec<Object>, String> {
    let mut found = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut object = Object::new();
    let mut key: Option<String> = None;
    let mut rest = json.trim_start().trim_start_matches('[');
    while let Some(c) = rest.chars().next() {
        match c {
            '"' => {
                let (string, after) = string(&rest[1..])?;
                rest = after;
                match key.take() {
                    None => key = Some(string),
                    Some(name) => drop(object.insert(inner(&path, &name), string)),
                }
                continue;
            }
            '{' => path.push(key.take().unwrap_or_default()),
            '}' => {
                path.pop();
                if path.is_empty() {
                    found.push(std::mem::take(&mut object));
                }
            }
            '0'..='9' | 'n' | 't' | 'f' | '-' => {
                let end = rest.find([',', '}', '\n', ']']).unwrap_or(rest.len());
                if let Some(name) = key.take().filter(|_| c.is_ascii_digit()) {
                    object.insert(inner(&path, &name), rest[..end].trim().to_owned());
                }
                rest = &rest[end..];
                continue;
            }
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    Ok(found)
}

/// The name of a field in the objects `path`, of which the outermost has none.
fn inner(path: &[String], name: &str) -> String {
    let outer = path.iter().skip(1).map(String::as_str);
    outer.chain([name]).collect::<Vec<_>>().join(".")
}

/// A string behind its first quote, and what follows it.
fn string(json: &str) -> Result<(String, &str), String> {
    let mut string = String::new();
    let mut chars = json.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok((string, &json[at + 1..])),
            '\\' => match chars.next().map(|(_, escaped)| escaped) {
                Some('n') => string.push('\n'),
                Some('t') => string.push('\t'),
                Some('r') => string.push('\r'),
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).map(|(_, digit)| digit).collect();
                    let code = u32::from_str_radix(&digits, 16).ok();
                    string.push(code.and_then(char::from_u32).unwrap_or('?'));
                }
                Some(escaped) => string.push(escaped),
                None => break,
            },
            _ => string.push(c),
        }
    }
    Err("a string without an end".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{objects, span};

    #[test]
    fn fields_of_objects_within_objects_are_found() {
        let json = "[\n {\"name\": \"a \\\"b\\\"\\n\", \"function\": {\"span\": {\"line\": 12}},\n\
                    \"none\": null}, {\"name\": \"\"}\n]";
        let objects = objects(json).unwrap();
        assert_eq!(objects.len(), 2);
        assert_eq!(objects[0]["name"], "a \"b\"\n");
        assert_eq!(objects[0]["function.span.line"], "12");
        assert_eq!(objects[0].len(), 2);
        assert_eq!(objects[1]["name"], "");
    }

    #[test]
    fn places_are_counted_in_characters() {
        let json = "[{\"span\": {\"start\": {\"line\": 2, \"column\": 3}, \"end\": {\"line\": 2, \"column\": 4}}}]";
        let text = "one\né+x\n";
        let object = &objects(json).unwrap()[0];
        assert_eq!(&text[span(object, "span", text).unwrap()], "x");
    }
}
