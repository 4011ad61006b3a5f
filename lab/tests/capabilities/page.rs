//! The page about results, opened in a browser where there is one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use floe_lab::{Page, Report, RunOptions, run};
use serde_json::Value;

/// Reports of short runs.
fn reports() -> Vec<Report> {
    let measured = |scenario: &str, contenders: &[&str], cases: &[&str]| {
        let options = RunOptions {
            contenders: contenders.iter().map(|&name| name.to_owned()).collect(),
            cases: cases.iter().map(|&name| name.to_owned()).collect(),
            rounds: 3,
            round_time: Duration::from_millis(10),
            program: Some(PathBuf::from(env!("CARGO_BIN_EXE_floe-lab-contender"))),
            ..RunOptions::default()
        };
        run(scenario, &options, &mut |_| ()).unwrap()
    };
    let sizes = ["twoway", "ack-bytes-4", "ack-bytes-1024", "ack-bytes-65536"];
    vec![
        measured("rpc", &["floe", "floor"], &sizes),
        measured("codec", &["floe", "floe-view", "floor"], &["text"]),
    ]
}

/// A page in a folder of its own, with the JSON that it is about.
struct Written {
    html: PathBuf,
    folder: PathBuf,
    json: Value,
}

impl Written {
    fn new(name: &str) -> Self {
        // As the command does it: through the JSON that a run writes.
        let lines = reports().into_iter().map(|report| report.to_json());
        let json = Value::Array(lines.collect());
        let text: String = json
            .as_array()
            .unwrap()
            .iter()
            .map(|one| format!("{one}\n"))
            .collect();
        Self::of(name, &text, json)
    }

    /// A page about what a file of results says.
    fn of(name: &str, text: &str, json: Value) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        // Of an earlier run.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let page = Page::new(Report::read_all(text).unwrap());
        let html = folder.join("report.html");
        std::fs::write(&html, page.to_html()).unwrap();
        Self { html, folder, json }
    }

    /// The page as the browser has it when its script has run; `None` if there is no browser.
    fn opened(&self, fragment: &str) -> Option<String> {
        let browser = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];
        let browser = browser.into_iter().find(|path| Path::new(path).exists());
        let Some(browser) = browser else {
            eprintln!("SKIPPED: there is no Chromium: cargo xtask install");
            return None;
        };
        let output = Command::new("timeout")
            .args([
                "300",
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
            ])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .args(["--disable-sync", "--disable-dev-shm-usage", "--dump-dom"])
            .arg("--window-size=1280,1000")
            .arg(format!(
                "--user-data-dir={}",
                self.folder.join("profile").display()
            ))
            .arg(format!("file://{}{fragment}", self.html.display()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        Some(String::from_utf8(output.stdout).unwrap())
    }
}

/// Value, place and shown text of the figures in a page.
fn figures(html: &str) -> Vec<(f64, String, Option<String>)> {
    let attribute = |element: &str, name: &str| {
        let (_, rest) = element.split_once(&format!("{name}=\""))?;
        rest.split_once('"').map(|(value, _)| value.to_owned())
    };
    let mut figures = Vec::new();
    for part in html.split('<').filter(|part| part.contains("data-at=")) {
        let (element, text) = part.split_once('>').unwrap();
        let value = attribute(element, " value").or_else(|| attribute(element, "data-value"));
        let value = value.unwrap().parse().unwrap();
        let is_text = element.starts_with("data ");
        let place = attribute(element, "data-at").unwrap();
        figures.push((value, place, is_text.then(|| text.to_owned())));
    }
    figures
}

#[test]
fn every_figure_that_a_browser_shows_is_in_the_results() {
    let written = Written::new("page-figures");
    let Some(dom) = written.opened("") else {
        return;
    };
    let figures = figures(&dom);
    assert!(figures.len() > 100, "{} figures", figures.len());
    let has = |place: &str| figures.iter().any(|(_, other, _)| other == place);
    assert!(has("/0/results/0/p50") && has("/1/ratios/0/interval/1"));
    for (value, place, text) in &figures {
        let expected = written.json.pointer(place).and_then(Value::as_f64);
        assert_eq!(expected, Some(*value), "{place}");
        let Some(text) = text else { continue };
        let shown: f64 = text.replace(',', "").parse().unwrap();
        let is_rounded = (shown - value).abs() <= 0.000_5 * value.abs() + 0.000_005;
        assert!(is_rounded, "{place}: {value} is shown as {text}");
    }
    // No figure stands in a table of results without its place.
    let (results, published) = dom.split_once("id=\"published\"").unwrap();
    for cell in results.split("<td class=\"n\">").skip(1) {
        let (cell, _) = cell.split_once("</td>").unwrap();
        let mut bare = cell
            .split("<data ")
            .map(|part| part.split_once("</data>").map_or(part, |(_, rest)| rest));
        let is_number = |text: &str| {
            text.split([' ', '(', '>'])
                .any(|word| word.parse::<f64>().is_ok())
        };
        assert!(!bare.any(is_number), "{cell}");
    }
    assert_eq!(published.matches("<th scope=\"row\">").count(), 188);
}

#[test]
fn a_browser_sorts_and_filters_the_rows() {
    let written = Written::new("page-sorting");
    let Some(dom) = written.opened("#filter=ack-bytes-4+floe&sort=4") else {
        return;
    };
    let rows: Vec<&str> = dom.split("<tr class=\"row").skip(1).collect();
    let is_shown = |row: &&&str| !row.split_once('>').unwrap().0.contains("hidden");
    let shown: Vec<_> = rows.iter().filter(is_shown).collect();
    assert!(!shown.is_empty() && shown.len() < rows.len());
    assert!(
        shown
            .iter()
            .all(|row| row.contains("ack-bytes-4") && row.contains("floe"))
    );
    // Those before it are matrices, which cannot be sorted.
    let (_, results) = dom.split_once("<section id=\"r0\"").unwrap();
    let (first_table, _) = results.split_once("</table>").unwrap();
    let medians = figures(first_table).into_iter();
    let medians = medians.filter(|(_, place, text)| text.is_some() && place.ends_with("/p50"));
    let medians: Vec<f64> = medians.map(|(value, ..)| value).collect();
    assert_eq!(medians.len(), 8);
    assert!(medians.is_sorted(), "{medians:?}");
}

#[test]
fn the_tables_of_the_published_results_fit_a_window_of_1280_pixels() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/full");
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    let texts = files
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap());
    let written = Written::of("page-width", &texts.collect::<String>(), Value::Null);
    let html = std::fs::read_to_string(&written.html).unwrap();
    let measuring = html.replace("</body>", &format!("<script>{WIDTHS}</script></body>"));
    assert_ne!(measuring, html);
    std::fs::write(&written.html, measuring).unwrap();
    let Some(dom) = written.opened("") else {
        return;
    };
    let (_, title) = dom.split_once("<title>").unwrap();
    let (title, _) = title.split_once("</title>").unwrap();
    let widths: Vec<&str> = title.split(' ').collect();
    assert!(widths.len() >= 2 * files.len(), "{title}");
    for width in widths {
        let (needed, there) = width.split_once('/').unwrap();
        let [needed, there] = [needed, there].map(|text| text.parse::<u32>().unwrap());
        assert!(needed <= there && there > 1000, "{title}");
    }
}

/// Puts into the title of a page how wide each table is, and how much of it is seen without scrolling.
const WIDTHS: &str = "document.querySelectorAll('details').forEach((one) => (one.open = true));\
    document.title = [...document.querySelectorAll('.table')].map((one) => one.scrollWidth + '/' + one.clientWidth).join(' ');";
