//! The pictures of the documents, as a browser shows them: no text is cut, and no spaces are joined.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use floe_tests::workspace;

/// Tells of each text of a picture how far it reaches, and how many of its characters the browser shows.
const SCRIPT: &str = r#"
const picture = document.querySelector("svg");
const [, , width, height] = picture.getAttribute("viewBox").split(" ").map(Number);
const found = [];
for (const text of picture.querySelectorAll("text")) {
    const box = text.getBBox(), shown = text.getNumberOfChars(), written = text.textContent.length;
    const at = "`" + text.textContent + "`";
    if (shown !== written) found.push(`${at} has ${written} characters, ${shown} are shown`);
    const transformed = text.closest("[transform]") !== null;
    if (!transformed && (box.x < 0 || box.y < 0 || box.x + box.width > width + 1 || box.y + box.height > height + 1))
        found.push(`${at} leaves the picture`);
}
const count = picture.querySelectorAll("text").length;
document.body.textContent = "looked at " + count + " texts" + found.map((one) => "\n* " + one).join("");
"#;

/// What a browser finds in a picture; `None` if there is no browser.
fn looked_at(name: &str, picture: &str) -> Option<String> {
    let browser = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];
    let browser = browser.into_iter().find(|path| Path::new(path).exists());
    let Some(browser) = browser else {
        eprintln!("SKIPPED: there is no Chromium: cargo xtask install");
        return None;
    };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("picture-{name}"));
    // Of an earlier run.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let page = folder.join("page.html");
    let html = format!(
        "<!doctype html><meta charset=\"utf-8\"><body>{picture}<script>{SCRIPT}</script></body>"
    );
    fs::write(&page, html).expect("the target folder can be written");
    let output = Command::new("timeout")
        .args([
            "300",
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
        ])
        .args([
            "--no-first-run",
            "--disable-background-networking",
            "--disable-sync",
        ])
        .args([
            "--disable-component-update",
            "--disable-dev-shm-usage",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("there is a program `timeout`");
    assert!(output.status.success(), "{output:?}");
    let dom = String::from_utf8(output.stdout).expect("a page is text");
    let (_, said) = dom
        .split_once("looked at ")
        .unwrap_or_else(|| panic!("the script has not run: {dom}"));
    Some(said.to_owned())
}

#[test]
fn a_browser_shows_all_text_of_the_demo_as_it_was_on_the_terminal() {
    let path = workspace::root().join("docs/pictures/demo.svg");
    let picture = fs::read_to_string(path).expect("the picture is there");
    for folder in ["/tmp/", "/home/", "target/"] {
        assert!(
            !picture.contains(folder),
            "a folder of a build shows: {folder}"
        );
    }
    let Some(said) = looked_at("demo", &picture) else {
        return;
    };
    assert!(!said.contains("\n* "), "{said}");
    assert!(!said.starts_with("0 texts"), "{said}");
}

#[test]
fn a_text_that_is_cut_or_whose_spaces_are_joined_is_found() {
    let text =
        |x: u32, text: &str| format!("<text x=\"{x}\" y=\"50\" font-size=\"14\">{text}</text>");
    let picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 100 100\">{}{}{}</svg>",
        text(10, "good"),
        text(90, "too long"),
        text(10, "two  spaces")
    );
    let Some(said) = looked_at("broken", &picture) else {
        return;
    };
    assert!(said.starts_with("3 texts"), "{said}");
    assert!(said.contains("`too long` leaves the picture"), "{said}");
    assert!(
        said.contains("`two  spaces` has 11 characters, 10 are shown"),
        "{said}"
    );
    assert_eq!(said.matches("\n* ").count(), 2, "{said}");
}
