//! Links of Markdown files: each relative one leads to a file, and its anchor to a heading there.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::File;

/// Relative links that lead nowhere.
pub(crate) fn broken(files: &[File]) -> Vec<String> {
    let tree = Tree::new(files);
    let pages = files.iter().filter(|file| is_page(&file.path));
    pages
        .flat_map(|page| {
            let links = links(&page.text);
            let findings = links.filter_map(|link| tree.finding(page, &link));
            findings.collect::<Vec<_>>()
        })
        .collect()
}

/// Guides, and pages of `docs/` that guides link to, that the table of contents of the book leaves out.
pub(crate) fn pages_outside_the_book(files: &[File]) -> Vec<String> {
    let Some(summary) = files.iter().find(|file| file.path == SUMMARY) else {
        return vec![format!("{SUMMARY}: expected one, got none")];
    };
    let guides = files.iter().filter(|file| file.path.starts_with(GUIDES));
    let mut pages = BTreeSet::new();
    for guide in guides.filter(|guide| is_page(&guide.path)) {
        pages.extend(targets(guide).filter(|path| path.starts_with("docs/") && is_page(path)));
        pages.insert(guide.path.clone());
    }
    let listed: BTreeSet<String> = targets(summary).collect();
    pages
        .difference(&listed)
        .map(|page| format!("{SUMMARY}: expected a link to {page}, got none"))
        .collect()
}

/// The paths from the root to which the links of a page lead.
fn targets(page: &File) -> impl Iterator<Item = String> {
    links(&page.text).filter_map(|link| {
        let (path, _) = link.target.split_once('#').unwrap_or((link.target, ""));
        resolved(&page.path, path)
    })
}

/// The targets that links can lead to.
struct Tree<'a> {
    /// Files, and the folders that hold them.
    paths: BTreeSet<&'a str>,
    /// The anchors of each Markdown file.
    anchors: BTreeMap<&'a str, BTreeSet<String>>,
}

impl<'a> Tree<'a> {
    fn new(files: &'a [File]) -> Self {
        let mut paths = BTreeSet::from([""]);
        for file in files {
            let folders = file.path.match_indices('/').map(|(at, _)| &file.path[..at]);
            paths.extend(folders);
            paths.insert(&file.path);
        }
        let pages = files.iter().filter(|file| is_page(&file.path));
        let anchors = pages.map(|page| (page.path.as_str(), anchors(&page.text)));
        Self {
            paths,
            anchors: anchors.collect(),
        }
    }

    /// Returns the error in a link of `page`.
    fn finding(&self, page: &File, link: &Link<'_>) -> Option<String> {
        if link.target.starts_with("mailto:") || link.target.contains("://") {
            return None;
        }
        let (path, anchor) = link.target.split_once('#').unwrap_or((link.target, ""));
        let to = match path {
            "" => Some(page.path.clone()),
            path => resolved(&page.path, path),
        };
        let at = format!("{}:{}", page.path, link.line);
        let Some(to) = to.filter(|to| self.paths.contains(to.as_str())) else {
            return Some(format!("{at}: expected a file or folder, got `{path}`"));
        };
        let there = self.anchors.get(to.as_str());
        let is_there = there.is_some_and(|anchors| anchors.contains(anchor));
        (!anchor.is_empty() && !is_there)
            .then(|| format!("{at}: expected a heading of {to}, got `#{anchor}`"))
    }
}

fn is_page(path: &str) -> bool {
    path.ends_with(".md")
}

/// The path from the root that `target` means in the file at `page`; none if it leaves the repository.
fn resolved(page: &str, target: &str) -> Option<String> {
    let (folder, _) = page.rsplit_once('/').unwrap_or(("", page));
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Where a link leads, and the line that it stands on.
struct Link<'a> {
    line: usize,
    target: &'a str,
}

/// The links `[text](target)` and `[text]: target` of a Markdown text.
fn links(text: &str) -> impl Iterator<Item = Link<'_>> {
    prose(text).flat_map(|(line, text)| {
        let inline = text.match_indices("](").filter_map(move |(at, mark)| {
            let is_code = text[..at].matches('`').count() % 2 == 1;
            let target = text[at + mark.len()..].split([')', ' ']).next()?;
            (!is_code).then_some(target)
        });
        let definition = text.strip_prefix('[').and_then(|text| {
            let (_, target) = text.split_once("]: ")?;
            target.split(' ').next()
        });
        inline
            .chain(definition)
            .map(move |target| Link { line, target })
    })
}

/// The anchors of the headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let headings = prose(text).filter(|(_, line)| line.starts_with('#'));
    for (_, heading) in headings {
        let anchor = anchor(heading.trim_start_matches('#').trim());
        let mut numbered = (1..).map(|number| format!("{anchor}-{number}"));
        let mut name = anchor.clone();
        while !anchors.insert(name.clone()) {
            name = numbered.next().expect("there is always another number");
        }
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c => c.is_alphanumeric().then_some(c),
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// The lines outside code blocks, counted from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    let lines = text.lines().enumerate();
    lines.filter_map(move |(at, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        (!in_code && !is_fence).then_some((at + 1, line))
    })
}

const SUMMARY: &str = "docs/SUMMARY.md";
const GUIDES: &str = "docs/guides/";

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str) -> Vec<String> {
        broken(&[
            File::new("docs/guides/a.md", page),
            File::new(
                "docs/guides/b.md",
                "# One\n## `two`: and, three!\n## One\n```sh\n# four\n```\n",
            ),
            File::new("examples/c/c.ice", ""),
        ])
    }

    #[test]
    fn links_to_files_folders_and_headings_are_fine() {
        let page = "# Here\n[a](b.md), [b](b.md#two-and-three), [c](b.md#one-1), [d](../../examples/c \"title\"),\n\
            [e](#here), [f](https://example.com/x.md), `[g](nowhere.md)`\n\n[h]: ../../examples/c/c.ice\n\
            ```text\n[i](nowhere.md)\n```\n";
        assert!(found(page).is_empty(), "{:?}", found(page));
    }

    #[test]
    fn a_link_to_a_file_that_is_not_there_is_found() {
        let page = "\n[a](c.md)\n[b](../../../x.md)\n\n[c]: d.md\n";
        assert_eq!(
            found(page),
            [
                "docs/guides/a.md:2: expected a file or folder, got `c.md`",
                "docs/guides/a.md:3: expected a file or folder, got `../../../x.md`",
                "docs/guides/a.md:5: expected a file or folder, got `d.md`",
            ]
        );
    }

    #[test]
    fn a_link_to_a_heading_that_is_not_there_is_found() {
        assert_eq!(
            found("[a](b.md#four), [b](#there)"),
            [
                "docs/guides/a.md:1: expected a heading of docs/guides/b.md, got `#four`",
                "docs/guides/a.md:1: expected a heading of docs/guides/a.md, got `#there`",
            ]
        );
    }

    #[test]
    fn a_page_that_the_book_does_not_list_is_found() {
        let files = [
            File::new(SUMMARY, "- [A](guides/a.md)\n"),
            File::new(
                "docs/guides/a.md",
                "[b](b.md#b), [c](../adr/c.md), [d](../../d.md)",
            ),
            File::new("docs/guides/b.md", ""),
        ];
        assert_eq!(
            pages_outside_the_book(&files),
            [
                "docs/SUMMARY.md: expected a link to docs/adr/c.md, got none",
                "docs/SUMMARY.md: expected a link to docs/guides/b.md, got none",
            ]
        );
    }
}
