//! `workload[/variant][@system]`: which cells a command is about.

use regex_lite::Regex;

use crate::arena::cells::workload::{self, CellId, WORKLOADS};
use crate::arena::exit::Stop;

/// One pattern, for which globs (`*`, `?`) are allowed in each part.
#[derive(Clone, Debug)]
struct Glob {
    text: String,
    regex: Regex,
}

impl Glob {
    fn new(text: &str) -> Result<Self, Stop> {
        let pattern: String = text
            .chars()
            .map(|c| match c {
                '*' => ".*".to_owned(),
                '?' => ".".to_owned(),
                c => regex_lite::escape(&c.to_string()),
            })
            .collect();
        let regex = Regex::new(&format!("^{pattern}$"))
            .map_err(|e| Stop::usage(format!("{text:?} is not a pattern: {e}")))?;
        Ok(Self {
            text: text.to_owned(),
            regex,
        })
    }

    fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    fn is_literal(&self) -> bool {
        !self.text.contains(['*', '?'])
    }
}

/// One filter; parts that were not given select everything.
#[derive(Clone, Debug)]
struct Filter {
    workload: Option<Glob>,
    variant: Option<Glob>,
    systems: Vec<Glob>,
}

impl Filter {
    /// Whether it names the cell's workload, not by a pattern, and that is how all of it is asked for.
    fn means_all_of(&self, cell: &CellId) -> bool {
        let named = self.workload.as_ref().map(|glob| glob.text.as_str());
        cell.definition().is_by_name() && named == Some(cell.workload)
    }
}

/// The filters of one command. None at all selects everything the profile has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filters(Vec<Filter>);

impl Filters {
    /// Reads the arguments; unknown names end here, with the known ones in the message.
    pub(crate) fn parse(arguments: &[String], systems: &[&str]) -> Result<Self, Stop> {
        let mut filters: Vec<Filter> = Vec::new();
        let pieces = arguments.iter().flat_map(|a| {
            a.split(',')
                .enumerate()
                .map(|(index, piece)| (index > 0, piece.trim()))
        });
        for (continues, piece) in pieces {
            if piece.is_empty() {
                return Err(Stop::usage(
                    "an empty filter; write workload[/variant][@system]",
                ));
            }
            // `pingpong@go,akka*`: after an `@` a bare word goes on with the list of systems, unless it names a workload.
            let goes_on =
                continues && !piece.contains(['/', '@']) && workload::workload(piece).is_none();
            if let Some(last) = filters
                .last_mut()
                .filter(|f| goes_on && !f.systems.is_empty())
            {
                last.systems.push(known_system(Glob::new(piece)?, systems)?);
                continue;
            }
            filters.push(one(piece, systems)?);
        }
        Ok(Self(filters))
    }

    /// Whether the cell is selected. `everything`: the profile has all variants, else only the headline ones, those
    /// whose variant a filter names, and those of a workload that runs by its name only, if a filter names it.
    pub(crate) fn selects(&self, cell: &CellId, system: &str, everything: bool) -> bool {
        let by_default = everything || cell.is_headline();
        if self.0.is_empty() {
            return by_default;
        }
        self.0.iter().any(|filter| {
            filter
                .workload
                .as_ref()
                .is_none_or(|glob| glob.matches(cell.workload))
                && filter
                    .variant
                    .as_ref()
                    .map_or(by_default || filter.means_all_of(cell), |glob| {
                        glob.matches(&cell.variant)
                    })
                && (filter.systems.is_empty() || filter.systems.iter().any(|s| s.matches(system)))
        })
    }

    /// Whether a filter names the variant itself, not by a pattern.
    pub(crate) fn names_variant(&self, cell: &CellId) -> bool {
        let named = |f: &Filter| f.variant.as_ref().is_some_and(|v| v.text == cell.variant);
        self.0.iter().any(named)
    }

    /// Whether a filter names the system itself: then it was asked for, and its absence is a failure.
    pub(crate) fn names_system(&self, system: &str) -> bool {
        self.0
            .iter()
            .flat_map(|f| &f.systems)
            .any(|glob| glob.text == system)
    }
}

fn one(piece: &str, systems: &[&str]) -> Result<Filter, Stop> {
    let (cells, system) = piece
        .split_once('@')
        .map_or((piece, None), |(c, s)| (c, Some(s)));
    let (workload, variant) = cells
        .split_once('/')
        .map_or((cells, None), |(w, v)| (w, Some(v)));
    if workload.is_empty() && (variant.is_some() || system.is_none()) {
        return Err(Stop::usage(format!("{piece:?}: the workload is missing")));
    }
    let workload = if workload.is_empty() {
        None
    } else {
        Some(Glob::new(workload)?)
    };
    let matching: Vec<_> = WORKLOADS
        .iter()
        .filter(|w| workload.as_ref().is_none_or(|glob| glob.matches(w.id)))
        .collect();
    if let (true, Some(workload)) = (matching.is_empty(), &workload) {
        let hint = if systems.iter().any(|s| workload.matches(s)) {
            format!("; for a system write @{}", workload.text)
        } else {
            String::new()
        };
        return Err(Stop::usage(format!(
            "unknown workload {:?}; there are {}{hint}",
            workload.text,
            workload::names()
        )));
    }
    let variant = variant.map(Glob::new).transpose()?;
    if let Some(variant) = &variant {
        let known = matching
            .iter()
            .flat_map(|w| w.variants)
            .any(|v| variant.matches(v.id));
        if !known && !variant.text.starts_with("original:") {
            let lists: Vec<String> = matching
                .iter()
                .map(|w| format!("{}/{{{}}}", w.id, w.variant_names()))
                .collect();
            return Err(Stop::usage(format!(
                "unknown variant {:?}; there are {}",
                variant.text,
                lists.join("; ")
            )));
        }
    }
    let systems = match system {
        Some(system) => vec![known_system(Glob::new(system)?, systems)?],
        None => Vec::new(),
    };
    Ok(Filter {
        workload,
        variant,
        systems,
    })
}

fn known_system(glob: Glob, systems: &[&str]) -> Result<Glob, Stop> {
    if systems.iter().any(|s| glob.matches(s)) {
        return Ok(glob);
    }
    let kind = if glob.is_literal() {
        "unknown system"
    } else {
        "no system matches"
    };
    Err(Stop::usage(format!(
        "{kind} {:?}; there are {}",
        glob.text,
        systems.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEMS: &[&str] = &["tidings", "go", "go-reused-timer", "tokio"];

    fn parse(text: &str) -> Result<Filters, Stop> {
        Filters::parse(&[text.to_owned()], SYSTEMS)
    }

    fn selects(filter: &str, cell: &str, system: &str) -> bool {
        let cell = workload::parse_cell_id(cell).expect("known");
        parse(filter).expect("valid").selects(&cell, system, false)
    }

    #[test]
    fn filters_select() {
        assert!(selects("pingpong", "pingpong/tell", "go"));
        assert!(
            !selects("pingpong", "pingpong/send", "go"),
            "not a headline"
        );
        assert!(selects("pingpong/*", "pingpong/send", "go"));
        assert!(selects("pingpong/send", "pingpong/send", "go"));
        assert!(selects("@go", "counter/send", "go"));
        assert!(!selects("@go", "counter/send", "go-reused-timer"));
        assert!(selects("*@go*", "counter/send", "go-reused-timer"));
        assert!(selects("pingpong@go,tok*", "pingpong/tell", "tokio"));
        assert!(!selects("pingpong@go,t*", "net/local", "tokio"));
        assert!(selects("pingpong@go,counter", "counter/send", "tokio"));
        assert!(selects("skynet/*,fan/*", "fan/obj", "go"));
        assert!(!selects("skynet/*,fan/*", "chain/obj", "go"));
        // A pack runs by its name.
        assert!(selects("savina", "savina/fib", "go"));
        assert!(selects("savina/fi*", "savina/fib", "go"));
        assert!(!selects("@go", "savina/fib", "go"));
        assert!(!selects("*", "savina/fib", "go"));
        let filters = parse("counter/select@go").expect("valid");
        assert!(filters.names_system("go") && !filters.names_system("tokio"));
        assert!(Filters::default().selects(
            &workload::parse_cell_id("counter/threads").expect("known"),
            "go",
            true
        ));
    }

    #[test]
    fn unknown_names_are_told_with_the_known_ones() {
        let cases = [
            (
                "ping",
                "unknown workload \"ping\"; there are pingpong, chain",
            ),
            ("go", "write @go"),
            ("pingpong/tall", "tell-w1000"),
            ("*/tall", "unknown variant"),
            ("pingpong@gone", "there are tidings, go"),
            ("@zz*", "no system matches"),
            ("pingpong@go,zig", "unknown system \"zig\""),
            ("", "empty filter"),
            ("a,,b", "unknown workload"),
            ("/tell", "workload is missing"),
        ];
        for (filter, names) in cases {
            let stop = parse(filter).expect_err(filter);
            assert!(stop.message.contains(names), "{filter}: {}", stop.message);
        }
    }
}
