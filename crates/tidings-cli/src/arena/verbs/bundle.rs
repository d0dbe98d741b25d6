//! `tidings arena bundle`: the binary, the peers' sources and their crates in one tar file, for a machine that cannot get
//! them itself.

use std::fs;
use std::path::{Path, PathBuf};

use crate::arena::exit::{Exit, Stop};
use crate::arena::machine::heartbeat::Heartbeat;
use crate::arena::machine::interrupt::Interrupt;
use crate::arena::paths;
use crate::arena::peers::build;
use crate::arena::peers::static_binary::{self, Linked};
use crate::arena::terminal;
use crate::arena::units;
use crate::cli::BundleArgs;

/// The folder inside of the tar file.
const ROOT: &str = "tidings-arena";
/// Pages that a peer author needs, beside the peers.
const PAGES: &[&str] = &["PROTOCOL.md", "SAVINA.md", "WORKLOADS.md"];

pub(crate) fn bundle(args: &BundleArgs) -> Result<Exit, Stop> {
    let peers = match &args.peers.peers {
        Some(folder) if folder.is_dir() => folder.clone(),
        Some(folder) => {
            return Err(Stop::usage(format!(
                "--peers {}: not a folder",
                folder.display()
            )));
        }
        None => paths::sources().ok_or_else(|| {
            Stop::usage("the peers' sources are not here: --peers DIR says where")
        })?,
    };
    let output =
        std::path::absolute(&args.output).map_err(|e| Stop::file("resolve", &args.output, &e))?;
    if output.is_dir() {
        return Err(Stop::usage(format!(
            "-o {}: a folder; give the tar file a name",
            args.output.display()
        )));
    }
    let work = output.with_extension("tar.parts");
    let _ = fs::remove_dir_all(&work);
    let interrupt = Interrupt::install()?;
    let made = fill(args, &peers, &work.join(ROOT), &interrupt)
        .and_then(|()| pack(&work, &output, &interrupt));
    let _ = fs::remove_dir_all(&work);
    if made.is_err() && interrupt.is_asked() {
        return Ok(Exit::Interrupted);
    }
    made?;
    let bytes = fs::metadata(&output).map_or(0, |data| data.len());
    terminal::print(&format!(
        "wrote {}, {}\nthere: tar -xf {} && {ROOT}/tidings arena list\n",
        output.display(),
        units::bytes(bytes),
        output.file_name().unwrap_or_default().display()
    ))?;
    Ok(Exit::Ok)
}

fn fill(args: &BundleArgs, peers: &Path, root: &Path, interrupt: &Interrupt) -> Result<(), Stop> {
    fs::create_dir_all(root).map_err(|e| Stop::file("make", root, &e))?;
    let (binary, linked) = static_binary::find(args.binary.as_deref(), interrupt)?;
    copy_file(&binary, &root.join("tidings"))?;
    terminal::print(&format!(
        "binary   {}: {}\n",
        binary.display(),
        linked.words()
    ))?;
    let target = root.join("arena/peers");
    copy_sources(peers, &target, 0)?;
    for page in PAGES {
        let page = peers.join("..").join(page);
        if page.is_file() {
            let name = page.file_name().unwrap_or_default();
            copy_file(&page, &root.join("arena").join(name))?;
        }
    }
    let vendored = if args.no_vendor {
        Vec::new()
    } else {
        vendor(&target, root, interrupt)?
    };
    let readme = root.join("README.md");
    fs::write(&readme, readme_text(linked, &vendored)).map_err(|e| Stop::file("write", &readme, &e))
}

/// The peers that are crates of their own, and not of the workspace that the binary was built from.
fn crates(peers: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(peers).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.join("Cargo.toml").is_file() && path.join("Cargo.lock").is_file())
        .collect();
    found.sort();
    found
}

/// Puts the crates of the Rust peers beside them; cargo finds them through a configuration at the bundle's root.
fn vendor(peers: &Path, root: &Path, interrupt: &Interrupt) -> Result<Vec<String>, Stop> {
    let crates = crates(peers);
    let Some(first) = crates.first() else {
        return Ok(Vec::new());
    };
    let folder = root.join("vendor");
    let mut step = vec!["cargo".to_owned(), "vendor".to_owned()];
    step.extend(["--locked", "--versioned-dirs", "--manifest-path"].map(str::to_owned));
    step.push(first.join("Cargo.toml").to_string_lossy().into_owned());
    for more in &crates[1..] {
        step.push("--sync".to_owned());
        step.push(more.join("Cargo.toml").to_string_lossy().into_owned());
    }
    step.push(folder.to_string_lossy().into_owned());
    let names: Vec<String> = crates
        .iter()
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    terminal::print(&format!(
        "crates   of {}: {}\n",
        names.join(", "),
        step.join(" ")
    ))?;
    let _beat = Heartbeat::start("cargo vendor");
    build::run_step(&step, root, interrupt)
        .map_err(|why| Stop::nothing(format!("{why}\nwithout the crates: --no-vendor")))?;
    let config = root.join(".cargo/config.toml");
    let text = "# The crates are in this bundle.\n[source.crates-io]\nreplace-with = \"bundled\"\n\n\
                [source.bundled]\ndirectory = \"vendor\"\n\n[net]\noffline = true\n";
    fs::create_dir_all(root.join(".cargo"))
        .and_then(|()| fs::write(&config, text))
        .map_err(|e| Stop::file("write", &config, &e))?;
    Ok(names)
}

/// Copies the peers' sources: a folder each, `depth` 0 is the folder of all.
fn copy_sources(from: &Path, to: &Path, depth: u32) -> Result<(), Stop> {
    fs::create_dir_all(to).map_err(|e| Stop::file("make", to, &e))?;
    let entries = fs::read_dir(from).map_err(|e| Stop::file("read", from, &e))?;
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !build::is_source(&name.to_string_lossy(), depth == 1) {
            continue;
        }
        let (source, target) = (entry.path(), to.join(&name));
        if source.is_dir() {
            copy_sources(&source, &target, depth + 1)?;
        } else {
            copy_file(&source, &target)?;
        }
    }
    Ok(())
}

/// With its permissions, so that programs stay programs.
fn copy_file(from: &Path, to: &Path) -> Result<(), Stop> {
    fs::copy(from, to)
        .map(|_| ())
        .map_err(|e| Stop::file("copy", from, &e))
}

fn pack(work: &Path, output: &Path, interrupt: &Interrupt) -> Result<(), Stop> {
    let words = [
        "tar",
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "-cf",
    ];
    let mut step: Vec<String> = words.map(str::to_owned).to_vec();
    step.push(output.to_string_lossy().into_owned());
    step.push(ROOT.to_owned());
    build::run_step(&step, work, interrupt).map_err(Stop::internal)
}

fn readme_text(linked: Linked, vendored: &[String]) -> String {
    let crates = if vendored.is_empty() {
        "No crates are in here: Rust peers need crates.io.".to_owned()
    } else {
        format!(
            "The crates of {} are in vendor/; .cargo/config.toml makes cargo use them, so `setup` needs no crates.io.",
            vendored.join(", ")
        )
    };
    format!(
        "# tidings arena, bundled\n\n\
         tidings {}: {}.\n{crates}\n\
         Peers in other languages need their toolchain here, and their own registry for libraries where they have any.\n\n\
         ```sh\n\
         ./tidings arena list                 # what is ready here, what is missing\n\
         ./tidings arena setup --dry-run --all\n\
         ./tidings arena smoke\n\
         ./tidings arena run\n\
         ```\n\n\
         A new peer goes into arena/peers/ID (`./tidings arena peer new`, arena/PROTOCOL.md).\n\
         Runs are in ~/.local/share/tidings/arena/runs, a folder each. Take the folder back, then set it beside a run of the\n\
         other machine: `tidings arena merge RUN FOLDER`.\n",
        env!("CARGO_PKG_VERSION"),
        linked.words()
    )
}
