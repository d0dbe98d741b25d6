//! `tidings arena peer new`: a peer to begin with, which keeps the protocol as it is.

use std::fs;
use std::path::Path;

use crate::arena::exit::{Exit, Stop};
use crate::arena::peers::manifest;
use crate::arena::terminal;
use crate::cli::PeerNewArgs;

/// Stands for the peer's id in the templates.
const ID: &str = "@ID@";

/// A language: what users call it, and its files by name.
struct Language {
    names: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
}

macro_rules! template {
    ($path:literal) => {
        include_str!(concat!("../../../scaffold/", $path))
    };
}

const LANGUAGES: &[Language] = &[
    Language {
        names: &["go", "golang"],
        files: &[
            ("peer.toml", template!("go/peer.toml")),
            ("go.mod", template!("go/go.mod.txt")),
            ("main.go", template!("go/main.go")),
            ("counter.go", template!("go/counter.go")),
        ],
    },
    Language {
        names: &["python", "python3", "py"],
        files: &[
            ("peer.toml", template!("python/peer.toml")),
            ("peer.py", template!("python/peer.py")),
        ],
    },
    Language {
        names: &["rust", "rs"],
        files: &[
            ("peer.toml", template!("rust/peer.toml")),
            ("Cargo.toml", template!("rust/Cargo.toml.txt")),
            ("Cargo.lock", template!("rust/Cargo.lock.txt")),
            ("src/main.rs", template!("rust/main.rs")),
            ("src/counter.rs", template!("rust/counter.rs")),
        ],
    },
    Language {
        names: &["sh", "posix", "generic"],
        files: &[
            ("peer.toml", template!("sh/peer.toml")),
            ("peer.sh", template!("sh/peer.sh")),
        ],
    },
];

const README: &str = template!("README.txt");

pub(crate) fn new(args: &PeerNewArgs) -> Result<Exit, Stop> {
    let wanted = args.lang.to_lowercase();
    let language = LANGUAGES
        .iter()
        .find(|language| language.names.contains(&wanted.as_str()))
        .ok_or_else(|| {
            let names: Vec<&str> = LANGUAGES.iter().map(|language| language.names[0]).collect();
            let names = names.join(", ");
            Stop::usage(format!(
                "no scaffold for {:?}; there are {names} (sh shows all that another language needs)",
                args.lang
            ))
        })?;
    let id = id(&args.dir)?;
    if fs::read_dir(&args.dir).is_ok_and(|mut entries| entries.next().is_some()) {
        let dir = args.dir.display();
        return Err(Stop::usage(format!("{dir} is not empty")));
    }
    for (name, text) in language.files.iter().chain(&[("README.md", README)]) {
        let path = args.dir.join(name);
        let folder = path.parent().unwrap_or(&args.dir);
        fs::create_dir_all(folder).map_err(|e| Stop::file("make", folder, &e))?;
        fs::write(&path, text.replace(ID, &id)).map_err(|e| Stop::file("write", &path, &e))?;
        terminal::print(&format!("wrote {}\n", path.display()))?;
    }
    let dir = args.dir.display();
    terminal::print(&format!(
        "\npeer {id}; next:\n  tidings arena peer test {dir}\nthen read {dir}/README.md\n"
    ))?;
    Ok(Exit::Ok)
}

/// The peer's id is its folder's name.
fn id(dir: &Path) -> Result<String, Stop> {
    let name = dir.file_name().and_then(|name| name.to_str());
    let is_id = |name: &&str| manifest::is_name(name) && !name.starts_with(['-', '.', '0']);
    name.filter(is_id).map(str::to_owned).ok_or_else(|| {
        let dir = dir.display();
        Stop::usage(format!(
            "{dir}: the folder's name is the peer's: lower-case letters, digits and '-'"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_has_a_valid_manifest_without_holes() {
        for language in LANGUAGES {
            let (_, text) = language.files[0];
            let manifest = manifest::parse(&text.replace(ID, "mine"));
            assert_eq!(manifest.expect("valid").peer.id, "mine");
        }
        assert_eq!(id(Path::new("/tmp/my-peer/")).expect("a name"), "my-peer");
        assert!(id(Path::new("/")).is_err() && id(Path::new("My Peer")).is_err());
    }
}
