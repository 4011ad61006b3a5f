//! The house, held: arrows between crates, circles within them, names of types, purity, file docs, maps, links,
//! examples listed, nothing of a machine.
//!
//! Each rule is a pure function over the files of the repository, in a file of its own below `tidy/`, beside tests that
//! feed it a broken file and expect the finding. Here the rules meet the real files.

#[path = "tidy/arrows.rs"]
mod arrows;
#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/code.rs"]
mod code;
#[path = "tidy/layout.rs"]
mod layout;
#[path = "tidy/links.rs"]
mod links;
#[path = "tidy/named.rs"]
mod named;
#[path = "tidy/picture.rs"]
mod picture;
#[path = "tidy/purity.rs"]
mod purity;
#[path = "tidy/released.rs"]
mod released;
#[path = "tidy/root.rs"]
mod root;
#[path = "tidy/short.rs"]
mod short;
#[path = "tidy/shown.rs"]
mod shown;
#[path = "tidy/tree.rs"]
mod tree;
#[path = "tidy/types.rs"]
mod types;
#[path = "tidy/words.rs"]
mod words;

use tree::File;

/// A rule: the findings in these files, each starting with `<path>` or `<path>:<line>`.
type Rule = fn(&[File]) -> Vec<String>;

fn assert_tidy(rule: Rule) {
    let findings = rule(&tree::read());
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

#[test]
fn crates_that_are_published_say_what_they_are() {
    assert_tidy(released::findings);
}

#[test]
fn the_picture_of_the_crates_has_all_of_them() {
    assert_tidy(picture::findings);
}

#[test]
fn the_repository_is_read_as_a_whole() {
    let files = tree::read();
    for path in [
        "README.md",
        "Cargo.toml",
        "crates/wire/src/lib.rs",
        "tests/tidy.rs",
        ".ci/run",
    ] {
        assert!(
            files.iter().any(|file| file.path == path),
            "expected to read {path}"
        );
    }
    assert!(files.iter().all(|file| !file.path.starts_with("target/")));
}

#[test]
fn dependencies_follow_the_arrows() {
    assert_tidy(arrows::findings);
}

#[test]
fn nouns_do_not_import_one_another_in_a_circle() {
    assert_tidy(circles::findings);
}

#[test]
fn no_two_types_of_a_package_share_a_name() {
    assert_tidy(types::findings);
}

#[test]
fn pure_crates_and_cores_touch_no_world() {
    assert_tidy(purity::findings);
}

#[test]
fn every_rust_file_says_what_lives_in_it() {
    assert_tidy(layout::files_without_docs);
}

#[test]
fn every_lib_file_is_a_map() {
    assert_tidy(layout::maps_with_logic);
}

#[test]
fn the_root_of_floe_has_few_names() {
    assert_tidy(root::findings);
}

#[test]
fn every_example_is_listed_in_the_readme() {
    assert_tidy(layout::unlisted_examples);
}

#[test]
fn texts_for_users_are_plain() {
    assert_tidy(words::findings);
}

#[test]
fn the_readme_shows_code_that_is_there() {
    assert_tidy(shown::findings);
}

#[test]
fn every_relative_link_leads_somewhere() {
    assert_tidy(links::broken);
}

#[test]
fn the_book_has_every_guide_and_what_guides_link_to() {
    assert_tidy(links::pages_outside_the_book);
}

#[test]
fn a_publisher_and_a_subscriber_have_twelve_lines_of_code() {
    assert_tidy(short::findings);
}

#[test]
fn every_test_that_a_guide_or_a_list_names_is_there() {
    assert_tidy(named::findings);
}

#[test]
fn no_file_names_a_place_outside_the_repository() {
    assert_tidy(layout::foreign_places);
}
