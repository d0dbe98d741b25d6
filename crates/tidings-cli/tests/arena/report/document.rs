//! The page as a parser sees it: errors, outline, anchors, what a reader with other senses gets.

use std::collections::{BTreeMap, BTreeSet};

use html5ever::tendril::TendrilSink as _;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// One element: its name, attributes, text and children's names.
pub(super) struct Element {
    pub(super) name: String,
    pub(super) attributes: BTreeMap<String, String>,
    /// All text below it.
    pub(super) text: String,
    /// Names of the elements directly below it.
    children: Vec<String>,
    /// How many rows are below it.
    rows: usize,
}

pub(super) struct Page {
    pub(super) errors: Vec<String>,
    /// In the order of the document.
    pub(super) elements: Vec<Element>,
}

impl Page {
    pub(super) fn parse(html: &str) -> Self {
        let dom: RcDom = parse_document(RcDom::default(), ParseOpts::default()).one(html);
        let mut elements = Vec::new();
        walk(&dom.document, &mut elements);
        let errors = dom
            .errors
            .borrow()
            .iter()
            .map(ToString::to_string)
            .collect();
        Self { errors, elements }
    }

    fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.elements.iter().filter(move |e| e.name == name)
    }

    /// Rows of tables but for their heads, as text.
    pub(super) fn rows(&self) -> Vec<&str> {
        let is_head = |row: &&Element| row.children.iter().all(|child| child == "th");
        let rows = self.named("tr").filter(|row| !is_head(row));
        rows.map(|row| &*row.text).collect()
    }

    /// What plots are called.
    pub(super) fn plots(&self) -> Vec<&str> {
        self.named("title").map(|title| &*title.text).collect()
    }

    pub(super) fn count(&self, name: &str) -> usize {
        self.named(name).count()
    }

    /// Headings, tables and plots, one a line.
    pub(super) fn outline(&self) -> String {
        let mut outline = String::new();
        for element in &self.elements {
            let line = match element.name.as_str() {
                "h1" | "h2" | "h3" | "h4" => {
                    let level = usize::from(element.name.as_bytes()[1] - b'1');
                    format!("{}{} {}", "  ".repeat(level), element.name, element.text)
                }
                "summary" => format!("    details {}", element.text),
                "table" => {
                    let caption = element.text.split('\n').next().unwrap_or_default();
                    let caption: String = caption.chars().take(40).collect();
                    format!("      table of {} rows: {caption}", element.rows)
                }
                "svg" => {
                    let class = &element.attributes["class"];
                    let id = &element.attributes["aria-labelledby"];
                    let id = id.split(' ').next().unwrap_or_default();
                    format!("      {class}: {id}")
                }
                _ => continue,
            };
            outline += line.trim_end();
            outline.push('\n');
        }
        outline
    }

    /// Every id is there once, and every link inside the page leads somewhere.
    pub(super) fn assert_anchors(&self) {
        let mut ids = BTreeSet::new();
        for id in self.elements.iter().filter_map(|e| e.attributes.get("id")) {
            assert!(ids.insert(id.as_str()), "id {id:?} twice");
        }
        for element in &self.elements {
            let inside = element
                .attributes
                .get("href")
                .and_then(|h| h.strip_prefix('#'));
            let labels = element.attributes.get("aria-labelledby");
            for id in inside
                .into_iter()
                .chain(labels.iter().flat_map(|l| l.split(' ')))
            {
                assert!(ids.contains(id), "{} leads to {id:?}", element.name);
            }
        }
    }

    pub(super) fn assert_accessible(&self) {
        for svg in self.named("svg") {
            assert_eq!(svg.attributes.get("role").map(String::as_str), Some("img"));
            let starts = svg.children.iter().take(2).map(String::as_str);
            assert!(starts.eq(["title", "desc"]), "{:?}", svg.children);
        }
        for table in self.named("table") {
            assert_eq!(table.children.first().map(String::as_str), Some("caption"));
        }
        for head in self.named("th") {
            assert!(head.attributes.contains_key("scope"), "{}", head.text);
        }
        let html = self.named("html").next().expect("a document");
        assert_eq!(html.attributes.get("lang").map(String::as_str), Some("en"));
        // Headings do not skip a level.
        let mut last = 0;
        for element in &self.elements {
            if let Some(level) = element
                .name
                .strip_prefix('h')
                .and_then(|l| l.parse::<u32>().ok())
            {
                assert!(
                    level <= last + 1,
                    "h{level} after h{last}: {}",
                    element.text
                );
                last = level;
            }
        }
    }

    /// Nothing is loaded, and the only addresses are those of sources.
    pub(super) fn assert_self_contained(&self, sources: &str) {
        for element in &self.elements {
            let loads = [
                "img", "link", "iframe", "object", "embed", "video", "audio", "base",
            ];
            assert!(!loads.contains(&element.name.as_str()), "{}", element.name);
            for (key, value) in &element.attributes {
                assert!(!key.starts_with("on"), "{key}");
                assert!(
                    !matches!(key.as_str(), "src" | "action" | "style"),
                    "{key}={value}"
                );
                if key == "href" && !value.starts_with('#') {
                    assert!(value.starts_with(sources), "{value}");
                }
            }
        }
    }
}

/// Adds an element and everything below it; its text.
fn walk(node: &Handle, elements: &mut Vec<Element>) -> (String, usize) {
    let mut place = None;
    if let NodeData::Element { name, attrs, .. } = &node.data {
        place = Some(elements.len());
        let attributes = attrs.borrow();
        let attributes = attributes
            .iter()
            .map(|a| (a.name.local.to_string(), a.value.to_string()));
        elements.push(Element {
            name: name.local.to_string(),
            attributes: attributes.collect(),
            text: String::new(),
            children: Vec::new(),
            rows: 0,
        });
    }
    let (mut text, mut rows) = (String::new(), 0);
    if let NodeData::Text { contents } = &node.data {
        text.push_str(&contents.borrow());
    }
    let mut children = Vec::new();
    for child in node.children.borrow().iter() {
        let (below, rows_below) = walk(child, elements);
        text += &below;
        rows += rows_below;
        if let NodeData::Element { name, .. } = &child.data {
            children.push(name.local.to_string());
            if &*name.local == "caption" {
                text.push('\n');
            }
            rows += usize::from(&*name.local == "tr");
        }
    }
    if let Some(place) = place {
        let element = &mut elements[place];
        element.text.clone_from(&text);
        element.children = children;
        element.rows = rows;
    }
    (text, rows)
}
