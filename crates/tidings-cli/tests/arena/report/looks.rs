//! How the page looks: pictures against committed ones, and nothing wider than the window.
//!
//! `UPDATE_GOLDEN=1 cargo test -p tidings-cli` takes them anew; look at them before you commit them. The measure is
//! tolerant, since fonts differ between machines: it sees a lost plot or a broken layout, not another shape of a letter.

use std::fs;
use std::path::PathBuf;

use super::browser::Browser;
use super::picture::Picture;
use super::{beside, fixture, read, report};
use crate::stage::Stage;

/// Committed pictures are so small; each of their pixels is a block of the page.
const SMALL: (usize, usize) = (80, 300);
/// Mean difference of a channel that is still the same page.
const TOLERANCE: f64 = 3.0;

/// The reports that are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Run,
    Machines,
    Baseline,
}

impl Of {
    fn page(self, stage: &Stage) -> String {
        let (html, _) = match self {
            Self::Run => report(stage, &fixture()),
            Self::Machines => beside::machines(stage),
            Self::Baseline => beside::compared(stage),
        };
        html
    }
}

/// Name, report, width, dark, and the only page that is shown, for those that the first view does not reach.
const VIEWS: &[(&str, Of, u32, bool, Option<&str>)] = &[
    ("wide-light", Of::Run, 1280, false, None),
    ("wide-dark", Of::Run, 1280, true, None),
    ("phone-light", Of::Run, 390, false, None),
    ("phone-dark", Of::Run, 390, true, None),
    ("plots-light", Of::Run, 1280, false, Some("w-pingpong")),
    ("plots-phone-dark", Of::Run, 390, true, Some("w-skynet")),
    ("machines-light", Of::Machines, 1280, false, None),
    (
        "machines-phone-dark",
        Of::Machines,
        390,
        true,
        Some("w-pingpong"),
    ),
    (
        "baseline-light",
        Of::Baseline,
        1280,
        false,
        Some("baseline"),
    ),
    (
        "baseline-phone-dark",
        Of::Baseline,
        390,
        true,
        Some("baseline"),
    ),
];

/// The page with one font, whatever the machine would choose.
fn with_one_font(html: &str) -> String {
    let font = "<style>:root, body, code, pre { font-family: 'DejaVu Sans', sans-serif !important }</style></head>";
    html.replacen("</head>", font, 1)
}

/// Height of the part of a report that is looked at.
const HEIGHT: u32 = 2400;
/// A picture is so much smaller than the pages on it: most of the time goes into reading its pixels.
const SCALE: u32 = 2;

/// Pages beside each other on one, each in a frame of its width: a window cannot be as narrow as a phone, and a browser
/// takes seconds to start.
#[derive(Debug, Default)]
struct Frames {
    pages: Vec<(String, u32)>,
}

impl Frames {
    /// Adds a page; gives where it begins and how wide it is.
    fn add(&mut self, html: String, width: u32) -> (u32, u32) {
        let left = self.width();
        self.pages.push((html, width));
        (left, width)
    }

    fn width(&self) -> u32 {
        self.pages.iter().map(|(_, width)| width).sum()
    }

    /// Writes all pages and the one that shows them. What a page says to its parent is noted at its frame.
    fn write(&self, stage: &Stage) -> PathBuf {
        let mut frames = String::new();
        for (index, (html, width)) in self.pages.iter().enumerate() {
            let shown = format!("shown-{index}.html");
            fs::write(stage.root.join(&shown), html).expect("written");
            let style = format!("flex:none;width:{width}px;height:{HEIGHT}px;border:0");
            frames += &format!("<iframe src={shown} style='{style}'></iframe>");
        }
        let whole = format!(
            "<!doctype html><html lang=en><meta charset=utf-8><title>frames</title>\
             <body style='margin:0;display:flex;width:{}px;transform:scale({});transform-origin:0 0'>\
             <script>addEventListener('message', e => [...document.querySelectorAll('iframe')]\
             .find(f => f.contentWindow === e.source).dataset.said = e.data)</script>{frames}",
            self.width(),
            1.0 / f64::from(SCALE)
        );
        let page = stage.root.join("frames.html");
        fs::write(&page, whole).expect("written");
        page
    }

    /// A picture of all pages.
    fn picture(&self, browser: &Browser, stage: &Stage, dark: bool) -> Picture {
        let picture = stage.root.join(format!("dark-{dark}.png"));
        let size = (self.width() / SCALE, HEIGHT / SCALE);
        browser.picture(&self.write(stage), dark, size, &picture);
        Picture::read(&picture)
    }
}

/// One page of a picture of several.
fn small(whole: &Picture, (left, width): (u32, u32)) -> Picture {
    let columns = left / SCALE..(left + width) / SCALE;
    whole.shrunk(columns.start as usize..columns.end as usize, SMALL)
}

#[test]
fn the_page_looks_as_it_did_at_two_widths_in_light_and_dark() {
    let stage = Stage::new("report-looks");
    let Some(browser) = Browser::find(&stage.root) else {
        return;
    };
    let run = with_one_font(&Of::Run.page(&stage));
    let machines = with_one_font(&Of::Machines.page(&stage));
    let compared = with_one_font(&Of::Baseline.page(&stage));
    let (mut light, mut dark) = (Frames::default(), Frames::default());
    let mut places = Vec::new();
    for (_, of, width, is_dark, only) in VIEWS {
        let html = match of {
            Of::Run => &run,
            Of::Machines => &machines,
            Of::Baseline => &compared,
        };
        let shown = only.map_or(html.clone(), |id| {
            let style =
                format!("<style>main > section:not(#{id}) {{ display: none }}</style></head>");
            html.replacen("</head>", &style, 1)
        });
        let frames = if *is_dark { &mut dark } else { &mut light };
        places.push(frames.add(shown, *width));
    }
    let hidden = "<style>table.heat { visibility: hidden }</style></head>";
    let hidden = light.add(run.replacen("</head>", hidden, 1), 1280);
    let light = light.picture(&browser, &stage, false);
    let dark = dark.picture(&browser, &stage, true);
    let mut taken = Vec::new();
    for ((name, _, _, is_dark, _), place) in VIEWS.iter().zip(places) {
        let now = small(if *is_dark { &dark } else { &light }, place);
        let golden = fixture().join(format!("../pictures/{name}.png"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            now.write(&golden);
        }
        let apart = now.apart(&Picture::read(&golden));
        println!("{name}: {apart:.2} of 255 apart");
        assert!(
            apart <= TOLERANCE,
            "{name} in {} is {apart:.1} apart from {}: look at both",
            stage.root.join(format!("dark-{is_dark}.png")).display(),
            golden.display()
        );
        taken.push(now);
    }
    // The measure sees what it must: a page without its heat map is another page.
    let apart = small(&light, hidden).apart(&taken[0]);
    println!("without the heat map: {apart:.2} of 255 apart");
    assert!(apart > TOLERANCE, "{apart}");
    assert!(taken[0].apart(&taken[1]) > 100.0, "dark is dark");
    assert!(
        taken[0].apart(&taken[2]) > 2.0 * TOLERANCE,
        "a phone is no desktop"
    );
}

#[test]
fn nothing_is_wider_than_the_window_and_the_script_works() {
    let stage = Stage::new("report-width");
    let Some(browser) = Browser::find(&stage.root) else {
        return;
    };
    // Everything open, then measured; and what the script added is counted.
    let probe = "<script>document.querySelectorAll('details').forEach(d => d.open = true);\
        const all = document.documentElement;\
        const count = s => document.querySelectorAll(s).length;\
        document.querySelector('table.sorts thead button').click();\
        parent.postMessage(JSON.stringify([all.scrollWidth - all.clientWidth, count('.downloads button'),\
        count('.filter input'), count('th[aria-sort=ascending]')]), '*')</script></body>";
    let (mut frames, mut expected) = (Frames::default(), Vec::new());
    for (of, says) in [
        (Of::Run, "[0,4,3,1]"),
        (Of::Machines, "[0,0,0,1]"),
        (Of::Baseline, "[0,4,2,1]"),
    ] {
        let html = of.page(&stage).replacen("</body>", probe, 1);
        for width in [390, 1280] {
            frames.add(html.clone(), width);
            expected.push((of, width, says));
        }
    }
    let page = frames.write(&stage);
    assert!(read(&stage.root.join("shown-0.html")).contains("postMessage"));
    let document = browser.document(&page);
    let said: Vec<&str> = document.split("<iframe").skip(1).collect();
    assert_eq!(said.len(), expected.len(), "{document}");
    for ((of, width, expected), frame) in expected.into_iter().zip(said) {
        let said = frame.split("data-said=\"").nth(1).unwrap_or_default();
        let said = said.split('"').next().unwrap_or_default();
        assert_eq!(
            said, expected,
            "{of:?}, {width}: too wide by, buttons, filters, sorted columns"
        );
    }
}
