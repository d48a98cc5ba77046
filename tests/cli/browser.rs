//! The page of `--format html` in a real browser: Chromium without a window.
//!
//! Where Chromium is not installed, these tests say so and test nothing, unless `WARPLOCK_BROWSER` names it: then it has to be
//! there. `.ci/run` names it.

use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use crate::support::program::Folder;

/// Where Chromium may be.
const BROWSERS: [&str; 5] = [
    "/usr/bin/chromium-headless-shell",
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/usr/bin/google-chrome-stable",
];

fn browser() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("WARPLOCK_BROWSER").map(PathBuf::from) {
        assert!(given.exists(), "no browser at {}", given.display());
        return Some(given);
    }
    let mut known = BROWSERS.iter().map(PathBuf::from);
    let found = known.find(|path| path.exists());
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
    found_with(browser, page, script, width, &[])
}

/// As [`found`], with options of the browser.
fn found_with(browser: &Path, page: &str, script: &str, width: u32, options: &[&str]) -> String {
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
        .args(options)
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

/// One page of each kind: a ring of waits, a pattern, a proof, and what is not known.
const KINDS: [&[&str]; 4] = [
    &["encodings/checklist/producer_starts_at_0.wlk"],
    &["encodings/block_sparse/lock_n_block.wlk"],
    &["encodings/pipeline/ring.wlk"],
    &["encodings/block_sparse/dense.wlk", "--property", "race"],
];

#[test]
fn nothing_is_cut_off() {
    let Some(browser) = browser() else { return };
    let mut all = Vec::new();
    for arguments in KINDS {
        let page = page(&root(), arguments);
        for width in [390, 1200] {
            let said = found(&browser, &page, LAYOUT, width);
            all.push(format!("{} at {width}: {said}", arguments[0]));
        }
    }
    insta::assert_snapshot!(all.join("\n"), @r"
        encodings/checklist/producer_starts_at_0.wlk at 390: wide: false, boxes: 2, texts outside: 0, arrows: 2
        encodings/checklist/producer_starts_at_0.wlk at 1200: wide: false, boxes: 2, texts outside: 0, arrows: 2
        encodings/block_sparse/lock_n_block.wlk at 390: wide: false, boxes: 1, texts outside: 0, arrows: 0
        encodings/block_sparse/lock_n_block.wlk at 1200: wide: false, boxes: 1, texts outside: 0, arrows: 0
        encodings/pipeline/ring.wlk at 390: wide: false, boxes: 0, texts outside: 0, arrows: 0
        encodings/pipeline/ring.wlk at 1200: wide: false, boxes: 0, texts outside: 0, arrows: 0
        encodings/block_sparse/dense.wlk at 390: wide: false, boxes: 0, texts outside: 0, arrows: 0
        encodings/block_sparse/dense.wlk at 1200: wide: false, boxes: 0, texts outside: 0, arrows: 0
        ");
}

/// The least contrast between a text and what is behind it, over all texts. The guidelines for accessible pages (WCAG 2) ask
/// for 4.5.
const CONTRAST: &str = r#"
const numbers = (colour) => colour.match(/[0-9.]+/g).map(Number);
const light = (colour) => {
  const parts = numbers(colour).slice(0, 3).map((part) => part / 255);
  const [r, g, b] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (; element; element = element.parentElement) {
    const colour = getComputedStyle(element).backgroundColor;
    const opaque = numbers(colour)[3] ?? 1;
    if (opaque === 1) return colour;
  }
  return "rgb(255, 255, 255)";
};
document.querySelector(".steps .last")?.click();
let least = 21;
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const element = texts.currentNode.parentElement;
  if (!texts.currentNode.data.trim() || element.closest("script, button, title")) continue;
  const style = getComputedStyle(element);
  const colour = element.closest("svg") && style.fill !== "none" ? style.fill : style.color;
  const [one, other] = [light(colour), light(behind(element))];
  least = Math.min(least, (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05));
}
const dark = matchMedia("(prefers-color-scheme: dark)").matches;
say(`${dark ? "dark" : "light"}: ${least >= 4.5 ? "readable" : least}`);
"#;

#[test]
fn every_text_stands_out_in_light_and_in_dark() {
    let Some(browser) = browser() else { return };
    let mut all = Vec::new();
    for arguments in KINDS {
        let page = page(&root(), arguments);
        for scheme in [1, 0] {
            let option = format!("--blink-settings=preferredColorScheme={scheme}");
            let said = found_with(&browser, &page, CONTRAST, 1200, &[&option]);
            all.push(format!("{} {said}", arguments[0]));
        }
    }
    insta::assert_snapshot!(all.join("\n"), @r"
        encodings/checklist/producer_starts_at_0.wlk light: readable
        encodings/checklist/producer_starts_at_0.wlk dark: readable
        encodings/block_sparse/lock_n_block.wlk light: readable
        encodings/block_sparse/lock_n_block.wlk dark: readable
        encodings/pipeline/ring.wlk light: readable
        encodings/pipeline/ring.wlk dark: readable
        encodings/block_sparse/dense.wlk light: readable
        encodings/block_sparse/dense.wlk dark: readable
        ");
}

/// Without colour the waits that never end, the lines at which somebody is stuck and the entries of a pattern are still marked.
#[test]
fn marks_do_not_rest_on_colour() {
    let Some(browser) = browser() else { return };
    let page = page(&root(), &["encodings/block_sparse/lock_n_block.wlk"]);
    let script = r#"
const mark = (selector) => getComputedStyle(document.querySelector(selector), "::before").content;
const rows = [...document.querySelectorAll(".grid tbody tr, .grid tr")].map((row) => row.innerText.replace(/\s+/g, " ").trim());
say(`${mark("tr.never td.act")} ${mark(".source li.waits")} ${rows.join(" / ")}`);
"#;
    insta::assert_snapshot!(found(&browser, &page, script, 1200), @"&quot;✗ &quot; &quot;▶&quot; 0 / 0 · / 1 ■");
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
