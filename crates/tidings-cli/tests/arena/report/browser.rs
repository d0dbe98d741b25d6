//! A headless Chromium, where there is one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The flags that keep it from asking, updating and remembering.
const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--virtual-time-budget=10000",
];

pub(super) struct Browser {
    program: PathBuf,
    /// A profile of its own for each test.
    profile: PathBuf,
}

impl Browser {
    /// `None`, with a line that says so, on a machine without one. CI sets `TIDINGS_NEED_CHROMIUM`: there it must be.
    pub(super) fn find(root: &Path) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = std::env::split_paths(&path)
            .flat_map(|folder| {
                ["chromium", "chromium-browser", "google-chrome"].map(|n| folder.join(n))
            })
            .find(|program| program.is_file());
        if program.is_none() {
            assert!(
                std::env::var_os("TIDINGS_NEED_CHROMIUM").is_none(),
                "there is no chromium, and TIDINGS_NEED_CHROMIUM is set"
            );
            println!("skipped: there is no chromium on this machine (apt-get install chromium)");
        }
        Some(Self {
            program: program?,
            profile: root.join("profile"),
        })
    }

    fn command(&self, dark: bool) -> Command {
        let _ = fs::remove_dir_all(&self.profile);
        let mut command = Command::new(&self.program);
        command
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", self.profile.display()))
            .arg(format!(
                "--blink-settings=preferredColorScheme={}",
                u8::from(!dark)
            ))
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// A picture of the top of a page, in a window of that size.
    pub(super) fn picture(&self, page: &Path, dark: bool, (width, height): (u32, u32), to: &Path) {
        let mut command = self.command(dark);
        command
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("--screenshot={}", to.display()))
            .arg(format!("file://{}", page.display()));
        let status = command.stdout(Stdio::null()).status().expect("started");
        assert!(status.success() && to.is_file(), "{status}");
    }

    /// The document after its scripts ran.
    pub(super) fn document(&self, page: &Path) -> String {
        let mut command = self.command(false);
        command
            .arg("--dump-dom")
            .arg(format!("file://{}", page.display()));
        let output = command.output().expect("started");
        assert!(output.status.success(), "{}", output.status);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}
