//! The page of `--format html` in a real browser: Chromium without a window.
//!
//! Where Chromium is not installed, these tests say so and test nothing.

use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use crate::support::program::Folder;

/// Where Chromium may be.
const BROWSERS: [&str; 4] = [
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
];

fn browser() -> Option<PathBuf> {
    let given = std::env::var_os("WARPLOCK_BROWSER").map(PathBuf::from);
    let known = BROWSERS.iter().map(PathBuf::from);
    let found = given.into_iter().chain(known).find(|path| path.exists());
    if found.is_none() {
        // Nobody reads it where that fails.
        let _ = writeln!(
            std::io::stderr(),
            "not tested: no Chromium at {}",
            BROWSERS.join(", ")
        );
    }
    found
}

/// The page of a check, with a script behind it that writes what it finds into the page; what that says in a window of so
/// many columns of pixels.
fn found(browser: &Path, page: &str, script: &str, width: u32) -> String {
    let folder = Folder::new();
    let script = format!(
        "<script>window.onerror = (m) => {{ document.body.dataset.error = m }};\n\
         const say = (text) => {{ document.body.dataset.said = text }};\n{script}</script></body>"
    );
    assert!(page.contains("</body>"));
    folder.file("page.html", page.replace("</body>", &script));
    let path = folder.path().join("page.html");
    let profile = folder.path().join("profile");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg("--virtual-time-budget=2000")
        .arg(format!("--window-size={width},900"))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", path.display()))
        .output()
        .unwrap();
    let document = String::from_utf8(output.stdout).unwrap();
    let attribute = |name: &str| {
        let rest = document.split_once(&format!("{name}=\""))?.1;
        Some(rest.split_once('"')?.0.to_owned())
    };
    assert_eq!(attribute("data-error"), None, "{document}");
    attribute("data-said").unwrap_or_else(|| panic!("nothing is said: {document}"))
}

fn page(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_warplock"))
        .args(["check", "--format", "html"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Steps with the buttons; what is marked then.
const STEPS: &str = r#"
const lines = [];
const at = () => [...document.querySelectorAll(".at")].map((one) => one.textContent.trim()).join(" / ");
for (const button of ["first", "forth", "last", "back"]) {
  document.querySelector(`.steps .${button}`).click();
  lines.push(`${button}: ${document.querySelector(".steps output").textContent}: ${at()}`);
}
say(lines.join("\n"));
"#;

/// What is wider than the window, and what a wait-for graph draws.
const LAYOUT: &str = r#"
const wide = document.documentElement.scrollWidth > window.innerWidth;
const boxes = [...document.querySelectorAll("svg.waits-for rect")].map((box) => box.getBoundingClientRect());
const texts = [...document.querySelectorAll("svg.waits-for text")].map((text) => text.getBoundingClientRect());
const outside = texts.filter((text) => !boxes.some((box) => box.left <= text.left && text.right <= box.right));
say(`wide: ${wide}, boxes: ${boxes.length}, texts outside: ${outside.length}, arrows: ${document.querySelectorAll("svg.waits-for path[marker-end]").length}`);
"#;

#[test]
fn the_buttons_step_through_run_and_source() {
    let Some(browser) = browser() else { return };
    let page = page(&root(), &["encodings/block_sparse/lock_n_block.wlk"]);
    insta::assert_snapshot!(found(&browser, &page, STEPS, 1200), @r"
    first: row 1 of 3: 1starts and has nothing to do
    forth: row 2 of 3: 2starts
    last: row 3 of 3: endwaits for dq[0] == 1: cta[0] never adds to it, because `for m in row(visits, n)` (line 17) makes no trip / wait dq[m] == n
    back: row 2 of 3: 2starts
    ");
}

#[test]
fn nothing_is_cut_off() {
    let Some(browser) = browser() else { return };
    let page = page(&root(), &["encodings/checklist/producer_starts_at_0.wlk"]);
    for width in [390, 1200] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(found(&browser, &page, LAYOUT, width), @"wide: false, boxes: 2, texts outside: 0, arrows: 2");
        }
    }
}

/// The lines of the kernel's source are beside the run, and a step marks one of them.
#[test]
fn the_source_of_a_kernel_is_beside_the_run() {
    let Some(browser) = browser() else { return };
    let arguments = ["ring.ptx", "--entry", "ring_producer_starts_at_phase_0"];
    let page = page(&root().join("tests/ptx/kernels"), &arguments);
    let script = r#"
document.querySelector(".steps .last").click();
say(document.querySelector("h3").textContent + ": " + document.querySelector(".source li.at").textContent.trim());
"#;
    insta::assert_snapshot!(found(&browser, &page, script, 1200), @"ring.cu: wait(&amp;full[stage], phase);");
}
