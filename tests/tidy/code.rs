//! Rust source reduced to its code, so that rules do not stumble over words in comments, texts and tests.

/// `text` without comments, the content of string and character literals, and items under `#[cfg(test)]`.
///
/// Line breaks stay, so that a position in the result has the line number of the source.
pub(crate) fn only(text: &str) -> String {
    without_tests(&without_prose(text))
}

/// The lines, counted from 1, on which `words` stands in `code` as whole words.
pub(crate) fn lines_with(code: &str, words: &str) -> Vec<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let stands_alone = |at: usize| {
        let before = code[..at].chars().next_back();
        let after = code[at + words.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    };
    let hits = code
        .match_indices(words)
        .filter(|(at, _)| stands_alone(*at));
    hits.map(|(at, _)| line_at(code, at)).collect()
}

/// The line, counted from 1, that the byte `at` is on.
pub(crate) fn line_at(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}

fn without_prose(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = prose_len(rest, code.chars().next_back());
        if skipped == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.push(' ');
            code.extend(rest[..skipped].chars().filter(|c| *c == '\n'));
            rest = &rest[skipped..];
        }
    }
    code
}

/// The length of the comment or literal that `text` starts with, or 0; `before` is the character in front of it.
fn prose_len(text: &str, before: Option<char>) -> usize {
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if text.starts_with("//") {
        text.find('\n').unwrap_or(text.len())
    } else if text.starts_with("/*") {
        block_comment_len(text)
    } else if text.starts_with('"') {
        quoted_len(text)
    } else if text.starts_with('r') && !in_word {
        raw_string_len(text)
    } else if text.starts_with('\'') {
        character_len(text)
    } else {
        0
    }
}

fn block_comment_len(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        match () {
            () if rest.starts_with("/*") => (depth, at) = (depth + 1, at + 2),
            () if rest.starts_with("*/") => (depth, at) = (depth - 1, at + 2),
            () => at += rest.chars().next().map_or(1, char::len_utf8),
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn quoted_len(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

fn raw_string_len(text: &str) -> usize {
    let hashes = text[1..].chars().take_while(|c| *c == '#').count();
    if !text[1 + hashes..].starts_with('"') {
        return 0;
    }
    let start = 2 + hashes;
    let end = format!("\"{}", "#".repeat(hashes));
    text[start..]
        .find(&end)
        .map_or(text.len(), |at| start + at + end.len())
}

/// A lifetime is not a literal: it has no closing quote behind its first character.
fn character_len(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    let Some((_, first)) = characters.next() else {
        return 0;
    };
    if first == '\\' {
        return text[3..].find('\'').map_or(text.len(), |at| 3 + at + 1);
    }
    match characters.next() {
        Some((at, '\'')) => at + 1,
        _ => 0,
    }
}

fn without_tests(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(start) = rest.find("#[cfg(test)]") {
        let (before, item) = rest.split_at(start);
        let (item, after) = item.split_at(item_len(item));
        kept.push_str(before);
        kept.extend(item.chars().filter(|c| *c == '\n'));
        rest = after;
    }
    kept + rest
}

/// The length of the item that `code` starts with: up to its `;`, or to the brace that closes it.
fn item_len(code: &str) -> usize {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth <= 0 && matches!(c, ';' | '}') {
            return at + 1;
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_texts_are_removed() {
        let code = only("a /* b /* c */ */ d // e\n\"f \\\" g\" r#\"h \" i\"# 'j' '\\'' 'k");
        assert_eq!(code.split_whitespace().collect::<String>(), "ad'k");
    }

    #[test]
    fn tests_are_removed_and_what_follows_stays() {
        let code = only(
            "one\n#[cfg(test)]\nmod tests { fn a() { \"}\"; } }\ntwo\n#[cfg(test)]\nmod more;\nthree",
        );
        assert_eq!(
            code.split_whitespace().collect::<Vec<_>>(),
            ["one", "two", "three"]
        );
    }

    #[test]
    fn lines_are_those_of_the_source() {
        let source = "/* 1\n2 */\n#[cfg(test)]\nmod tests {\n}\n\"6\n7\"\nfn eight() {}";
        assert_eq!(lines_with(&only(source), "fn"), [8]);
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(lines_with("tokio_like my_tokio\ntokio::x", "tokio"), [2]);
    }
}
