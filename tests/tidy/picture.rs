//! The picture of the crates: it has a box for each, and none for others.

use crate::tree::File;

const PICTURE: &str = "docs/pictures/architecture.svg";

/// Crates that are not in the picture, and boxes that are no crate.
pub(crate) fn findings(files: &[File]) -> Vec<String> {
    let Some(picture) = files.iter().find(|file| file.path == PICTURE) else {
        return vec![format!("{PICTURE}: expected one, got none")];
    };
    let crates: Vec<&str> = files.iter().filter_map(package).collect();
    let boxes: Vec<&str> = picture.text.lines().filter_map(title).collect();
    let missing = crates.iter().filter(|name| !boxes.contains(name));
    let missing =
        missing.map(|name| format!("{PICTURE}: expected a box for {name}, got none: {DRAW}"));
    let surplus = boxes.iter().filter(|name| !crates.contains(name));
    let surplus =
        surplus.map(|name| format!("{PICTURE}: expected a crate {name}, got none: {DRAW}"));
    missing.chain(surplus).collect()
}

const DRAW: &str = "draw it anew with `python3 docs/pictures/architecture.py`";

/// The package of a manifest directly below `crates/`.
fn package(file: &File) -> Option<&str> {
    let folder = file
        .path
        .strip_prefix("crates/")?
        .strip_suffix("/Cargo.toml")?;
    let mut names = file
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("name = \""));
    let name = names.next()?.strip_suffix('"');
    name.filter(|_| !folder.contains('/'))
}

/// The title of a box.
fn title(line: &str) -> Option<&str> {
    let (_, title) = line.split_once("font-weight=\"bold\">")?;
    title.strip_suffix("</text>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_without_a_box_and_a_box_without_a_crate_are_found() {
        let file = |path: &str, text: &str| File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let manifest = || {
            let text = "[package]\nname = \"floe-wire\"\n";
            file("crates/wire/Cargo.toml", text)
        };
        let picture = |title: &str| {
            let text = format!("<text font-weight=\"bold\">{title}</text>\n<text>else</text>\n");
            file(PICTURE, &text)
        };
        assert_eq!(findings(&[manifest(), picture("floe-wire")]), [""; 0]);
        assert_eq!(findings(&[manifest(), picture("floe-hub")]).len(), 2);
        assert_eq!(findings(&[manifest()]).len(), 1);
    }
}
