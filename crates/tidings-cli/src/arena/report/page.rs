//! The document around the pages: head, navigation, embedded data.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::data::{Data, slug};
use super::{
    baseline, environment, latency, method, overview, raw, resources, scaling, seed_page, warmup,
    workload,
};
use crate::arena::exit::Stop;

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// One page: its anchor, its name in the navigation, its content.
pub(super) struct Page {
    id: String,
    name: String,
    part: Option<&'static str>,
    content: Markup,
}

impl Page {
    pub(super) fn new(id: &str, name: &str, part: Option<&'static str>, content: Markup) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            part,
            content,
        }
    }
}

/// The whole document.
pub(super) fn document(data: &Data) -> Result<String, Stop> {
    let mut pages = vec![Page::new(
        "overview",
        "Overview",
        None,
        overview::page(data),
    )];
    for (index, name) in data.workloads().into_iter().enumerate() {
        let part = (index == 0).then_some("Workloads");
        let id = format!("w-{}", slug(name));
        pages.push(Page::new(&id, name, part, workload::page(data, name)));
    }
    let across = Some("Across workloads");
    pages.push(Page::new("latency", "Latency", across, latency::page(data)));
    pages.push(Page::new("warm-up", "Warm-up", None, warmup::page(data)));
    pages.push(Page::new(
        "resources",
        "Resources",
        None,
        resources::page(data),
    ));
    pages.push(Page::new("scaling", "Scaling", None, scaling::page(data)));
    let compared = baseline::page(data.baseline.as_ref());
    pages.push(Page::new("baseline", "Baseline", None, compared));
    let behind = Some("Behind the figures");
    pages.push(Page::new(
        "seeds",
        "Seed figures, errata",
        behind,
        seed_page::page(data),
    ));
    pages.push(Page::new(
        "environment",
        "Environment",
        None,
        environment::page(data),
    ));
    pages.push(Page::new(
        "method",
        "Method and bias",
        None,
        method::page(data),
    ));
    pages.push(Page::new("raw", "Raw data", None, raw::page(data)));

    let title = format!("Arena report {}", data.run.id);
    let lead = html! {
        "The same message passing workloads for " (data.run.plan.reference) " and other systems, side by side on one machine."
    };
    Ok(around(&title, &lead, &pages, &raw::embedded(data)?))
}

/// Head and navigation around pages; `embedded` is data for scripts.
pub(super) fn around(title: &str, lead: &Markup, pages: &[Page], embedded: &Markup) -> String {
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "tidings " (env!("CARGO_PKG_VERSION")) };
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a class="skip" href="#overview" { "Skip to the report" }
                nav class="pages" aria-label="Pages" {
                    ul {
                        @for page in pages {
                            @if let Some(part) = page.part { li class="part" { (part) } }
                            li { a href={ "#" (page.id) } { (page.name) } }
                        }
                    }
                }
                main {
                    h1 { "Arena report" }
                    p class="lead" { (lead) }
                    @for page in pages {
                        section id=(page.id) aria-labelledby={ (page.id) "-h" } {
                            h2 id={ (page.id) "-h" } { (page.name) }
                            (page.content)
                        }
                    }
                }
                (embedded)
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    document.into_string() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_and_script_stand_in_the_page_as_they_are() {
        for text in [STYLE, SCRIPT] {
            assert!(!text.contains("</") && !text.contains("<!--"));
            assert!(
                !text.contains("http:") && !text.contains("https:"),
                "self-contained"
            );
        }
        assert!(SCRIPT.lines().count() < 200);
    }
}
