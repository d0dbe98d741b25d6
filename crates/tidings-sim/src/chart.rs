//! A run as a message sequence chart: a column for each task, a row for each communication, the
//! earliest on top. As text ([`Display`](fmt::Display)) and as a picture ([`Chart::to_svg`]).
//!
//! Made of what a flight recorder keeps, of a simulated run or of an ordinary one; of a simulated run also
//! what passes between its nodes and what befalls them, with a column for each node.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::panic::Location;
use std::time::Duration;

use tidings::sched::{Communication, Happened, Party};

use crate::sights::Seen;

/// A message sequence chart.
///
/// ```
/// use tidings_sim::Chart;
/// let rt = tidings::Runtime::builder().workers(1).flight_recorder(100).build().unwrap();
/// rt.block_on(async {
///     let (tx, rx) = tidings::channel();
///     let cook = tidings::spawn(async move { tx.send("tea").await });
///     rx.recv().await.unwrap();
///     cook.await.unwrap().unwrap();
/// });
/// let chart = Chart::new(&rt.handle().flight_record());
/// assert!(chart.to_string().contains("&str"));
/// assert!(chart.to_svg().starts_with("<svg"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chart {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) rows: Vec<Row>,
    /// How it ended.
    pub(crate) end: Option<String>,
}

/// A column: a task, or a node's place in the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    pub(crate) name: String,
    /// Its first row.
    pub(crate) from: usize,
}

/// A communication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) step: Step,
    pub(crate) label: String,
    /// The line of the program.
    pub(crate) line: String,
    pub(crate) time: Duration,
}

/// What a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A lane alone: it put a value into a queue, or took one whose sender is not known.
    Alone(usize),
    /// From one lane to another: handed over in this row, or taken out of a queue in this row and put
    /// there in an earlier one.
    Arrow {
        from: usize,
        to: usize,
        sent: Option<usize>,
    },
    /// One lane started another.
    Start { from: usize, to: usize },
    /// One lane ended the wait of another.
    Release { from: usize, to: usize },
}

/// Makes a chart, one communication after the other.
#[derive(Default)]
pub(crate) struct Drawing {
    chart: Chart,
    /// By node and number of the task.
    tasks: HashMap<(usize, usize), usize>,
    channels: HashMap<(usize, usize), Channel>,
    /// By node.
    networks: HashMap<usize, usize>,
    nodes: Vec<String>,
    /// Where the simulator starts the program itself.
    main: Option<&'static Location<'static>>,
}

#[derive(Default)]
struct Channel {
    name: String,
    /// What is in it: by which lane, in which row.
    queue: VecDeque<(usize, usize)>,
}

impl Chart {
    /// Of what a flight recorder has kept.
    #[must_use]
    pub fn new(record: &[Communication]) -> Self {
        let mut drawing = Drawing::default();
        for communication in record {
            drawing.add(0, communication);
        }
        drawing.chart
    }

    /// Is there nothing on it?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A column from here on.
    fn add_lane(&mut self, node: &str, what: &str) {
        let number = self.lanes.len();
        let node = match node {
            "" => String::new(),
            node => format!("{node} "),
        };
        self.lanes.push(Lane {
            name: format!("{node}{number}: {what}"),
            from: self.rows.len(),
        });
    }
}

impl Drawing {
    /// Names a node of a simulation, whose program the simulator starts at this line.
    pub(crate) fn name_node(&mut self, node: usize, name: &str, main: &'static Location<'static>) {
        self.nodes
            .resize(self.nodes.len().max(node + 1), String::new());
        name.clone_into(&mut self.nodes[node]);
        self.main = Some(main);
    }

    /// Calls channels what the chart calls them, and the program the program.
    pub(crate) fn name_in(&self, text: &str) -> String {
        let mut named = text.to_owned();
        for ((_, number), channel) in &self.channels {
            named = named.replace(&format!("{number:#x}"), &channel.name);
        }
        match self.main {
            Some(main) => named.replace(&format!("the task started at {main}"), "the program"),
            None => named,
        }
    }

    pub(crate) fn finish(mut self, end: String) -> Chart {
        self.chart.end = Some(end);
        self.chart
    }

    /// A task has run: what it did, or, if that was nothing, that it ran.
    pub(crate) fn add_poll(
        &mut self,
        node: usize,
        who: Party,
        record: &[Communication],
        time: Duration,
    ) {
        for communication in record {
            self.add(node, communication);
        }
        let lane = self.lane(node, who);
        let ran = Row {
            step: Step::Alone(lane),
            label: "runs".to_owned(),
            line: String::new(),
            time,
        };
        if record.is_empty() && self.chart.rows.last() != Some(&ran) {
            self.chart.rows.push(ran);
        }
    }

    fn add(&mut self, node: usize, communication: &Communication) {
        let who = self.lane(node, communication.who);
        let with = match (communication.happened, communication.with) {
            // Its slot may have been another task's.
            (Happened::Spawned, Some(new)) => {
                self.tasks.remove(&(node, new.id));
                Some(self.lane(node, new))
            }
            (_, with) => with.map(|with| self.lane(node, with)),
        };
        let row = self.chart.rows.len();
        let (channel, value) = (communication.channel, plain(communication.value));
        let (step, label) = match (communication.happened, with) {
            (Happened::Spawned, Some(to)) => (Step::Start { from: who, to }, "start".to_owned()),
            (Happened::Released, Some(to)) => {
                let channel = self.channel(node, channel, 'w');
                let label = format!("{value} {}", channel.name);
                (Step::Release { from: who, to }, label)
            }
            (Happened::Sent, Some(to)) => {
                let channel = self.channel(node, channel, 'c');
                let (from, sent) = (who, None);
                (
                    Step::Arrow { from, to, sent },
                    format!("{value} {}", channel.name),
                )
            }
            (Happened::Received, Some(from)) => {
                let channel = self.channel(node, channel, 'c');
                let (to, sent) = (who, None);
                (
                    Step::Arrow { from, to, sent },
                    format!("{value} {}", channel.name),
                )
            }
            (Happened::Sent, None) => {
                let channel = self.channel(node, channel, 'c');
                channel.queue.push_back((who, row));
                (
                    Step::Alone(who),
                    format!("puts {value} into {}", channel.name),
                )
            }
            (Happened::Received, None) => {
                let channel = self.channel(node, channel, 'c');
                let label = format!("{value} {}", channel.name);
                match channel.queue.pop_front() {
                    Some((from, sent)) => {
                        let (to, sent) = (who, Some(sent));
                        (Step::Arrow { from, to, sent }, label)
                    }
                    None => (Step::Alone(who), format!("takes {label}")),
                }
            }
            _ => (Step::Alone(who), value),
        };
        self.chart.rows.push(Row {
            step,
            label,
            line: communication.at.map_or(String::new(), short),
            time: communication.time,
        });
    }

    /// Something in the network, between nodes of these names.
    pub(crate) fn add_passage<'a>(&mut self, seen: &Seen, name: impl Fn(usize) -> Cow<'a, str>) {
        let from = self.network_lane(seen.node, &name(seen.node));
        let mut label = seen.what.clone();
        let step = match seen.other {
            Some(other) if seen.arrived => {
                let to = self.network_lane(other, &name(other));
                let sent = None;
                Step::Arrow { from, to, sent }
            }
            Some(other) => {
                let other = name(other);
                let other = if other.is_empty() { "program" } else { &other };
                label = format!("{label}: {other}");
                Step::Alone(from)
            }
            None => Step::Alone(from),
        };
        self.chart.rows.push(Row {
            step,
            label,
            line: String::new(),
            time: seen.time,
        });
    }

    fn network_lane(&mut self, node: usize, name: &str) -> usize {
        let next = self.chart.lanes.len();
        let lane = *self.networks.entry(node).or_insert(next);
        if lane == next {
            self.chart.add_lane(name, "network");
        }
        lane
    }

    fn lane(&mut self, node: usize, party: Party) -> usize {
        let next = self.chart.lanes.len();
        // Threads have one lane: who acts outside of tasks has another number than who is woken there.
        let id = party.started.map_or(0, |_| party.id);
        let lane = *self.tasks.entry((node, id)).or_insert(next);
        if lane == next {
            let what = match party.started {
                None => "thread".to_owned(),
                at if at == self.main => "main".to_owned(),
                Some(at) => short(at),
            };
            let node = self.nodes.get(node).map_or("", String::as_str);
            self.chart.add_lane(node, &what);
        }
        lane
    }

    fn channel(&mut self, node: usize, channel: usize, letter: char) -> &mut Channel {
        let next = self.channels.len() + 1;
        self.channels
            .entry((node, channel))
            .or_insert_with(|| Channel {
                name: format!("{letter}{next}"),
                queue: VecDeque::new(),
            })
    }
}

/// A line of the program, without its folders.
fn short(at: &'static Location<'static>) -> String {
    let file = at.file().rsplit(['/', '\\']).next().unwrap_or_default();
    format!("{file}:{}", at.line())
}

/// The name of a type without the paths in it.
fn plain(name: &str) -> String {
    let words = name.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.ends_with(':')).collect()
}

/// The width of a column, and how many are drawn side by side at most.
const WIDTH: usize = 20;
const COLUMNS: usize = 10;
/// So many rows are drawn, the last ones.
const ROWS: usize = 60;

impl fmt::Display for Chart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.rows.len().saturating_sub(ROWS);
        if self.lanes.len() <= COLUMNS {
            let names = self.lanes.iter().map(|lane| cut(&lane.name, WIDTH - 2));
            let names: String = names.map(|name| format!("{name:<WIDTH$}")).collect();
            writeln!(f, "     {}", names.trim_end())?;
        }
        if first > 0 {
            writeln!(f, "     ({first} rows before)")?;
        }
        let mut time = None;
        for (index, row) in self.rows.iter().enumerate().skip(first) {
            if time.is_some_and(|time| time != row.time) {
                writeln!(f, "     -- {:?} --", row.time)?;
            }
            time = Some(row.time);
            let line = if self.lanes.len() <= COLUMNS {
                self.draw(index, row)
            } else {
                self.words(row)
            };
            let line = format!("{line}  {}", row.line);
            writeln!(f, "{index:>4} {}", line.trim_end())?;
        }
        match &self.end {
            Some(end) => writeln!(f, "   x {}", end.lines().next().unwrap_or_default()),
            None => Ok(()),
        }
    }
}

impl Chart {
    /// A row of columns.
    fn draw(&self, index: usize, row: &Row) -> String {
        let mut cells = vec![' '; self.lanes.len() * WIDTH];
        for (lane, column) in self.lanes.iter().enumerate() {
            if column.from <= index {
                cells[lane * WIDTH] = '│';
            }
        }
        let mut put = |at: usize, text: &str| {
            for (cell, c) in cells.iter_mut().skip(at).zip(text.chars()) {
                *cell = c;
            }
        };
        match row.step {
            Step::Alone(lane) => {
                put(lane * WIDTH, &format!("● {}", cut(&row.label, WIDTH - 3)));
            }
            Step::Arrow { from, to, .. }
            | Step::Start { from, to }
            | Step::Release { from, to }
                if from == to =>
            {
                put(from * WIDTH, &format!("↺ {}", cut(&row.label, WIDTH - 3)));
            }
            Step::Arrow { from, to, .. } => put_arrow(&mut put, from, to, '─', &row.label),
            Step::Start { from, to } => put_arrow(&mut put, from, to, '┈', ""),
            Step::Release { from, to } => put_arrow(&mut put, from, to, '╌', &row.label),
        }
        cells.into_iter().collect::<String>().trim_end().to_owned()
    }

    /// A row in words, where there are too many columns.
    fn words(&self, row: &Row) -> String {
        let name = |lane: usize| &self.lanes[lane].name;
        match row.step {
            Step::Alone(lane) => format!("{} {}", name(lane), row.label),
            Step::Arrow { from, to, .. } => {
                format!("{} ──▶ {}: {}", name(from), name(to), row.label)
            }
            Step::Start { from, to } => format!("{} starts {}", name(from), name(to)),
            Step::Release { from, to } => {
                format!("{} releases {}: {}", name(from), name(to), row.label)
            }
        }
    }
}

/// An arrow from the middle of one column to another's, with its label on it.
fn put_arrow(put: &mut impl FnMut(usize, &str), from: usize, to: usize, dash: char, label: &str) {
    let (left, right) = (from.min(to) * WIDTH, from.max(to) * WIDTH);
    let length = right - left - 1;
    let label = cut(label, length - 4);
    let text = if label.is_empty() {
        label
    } else {
        format!(" {label} ")
    };
    let before = (length - text.chars().count()) / 2;
    let dashes = |n: usize| -> String { std::iter::repeat_n(dash, n).collect() };
    let after = length - before - text.chars().count();
    put(
        left + 1,
        &format!("{}{text}{}", dashes(before), dashes(after)),
    );
    if from < to {
        put(right - 1, "▶");
    } else {
        put(left + 1, "◀");
    }
    put(from * WIDTH, "●");
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 1).chain(['…']).collect()
}
