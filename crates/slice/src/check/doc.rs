//! Doc comments: the markers go, the text stays.

/// The text of a doc comment; `None` if nothing is left.
///
/// `/** ... */` loses its markers, and each further line its leading blanks and stars; `///` lines
/// lose the slashes. Then blank lines at both ends and blanks at line ends go.
pub(super) fn clean(comment: &str) -> Option<String> {
    let lines: Vec<&str> = match comment.strip_prefix("/**") {
        Some(block) => clean_block(block),
        None => comment
            .lines()
            .map(|line| line.trim_start().trim_start_matches('/'))
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .collect(),
    };
    let lines: Vec<&str> = lines.into_iter().map(str::trim_end).collect();
    let first = lines.iter().position(|line| !line.is_empty())?;
    let last = lines.iter().rposition(|line| !line.is_empty())?;
    Some(lines[first..=last].join("\n"))
}

fn clean_block(block: &str) -> Vec<&str> {
    let block = block.strip_suffix("*/").unwrap_or(block);
    let strip = |line: &'_ str| -> usize {
        let trimmed = line.trim_start();
        let stars = trimmed.trim_start_matches('*');
        let text = stars.strip_prefix(' ').unwrap_or(stars);
        if trimmed.starts_with('*') {
            line.len() - text.len()
        } else {
            line.len() - trimmed.len()
        }
    };
    block
        .lines()
        .enumerate()
        .map(|(index, line)| match index {
            0 => line.trim_start_matches('*').trim_start(),
            _ => &line[strip(line)..],
        })
        .collect()
}

/// The doc of an operation apart from what it says of its parameters.
pub(super) struct OperationDoc {
    pub(super) text: Option<String>,
    /// Name and text of each `@param`.
    pub(super) parameters: Vec<(String, String)>,
}

/// Takes the `@param` sections out of the cleaned doc of an operation. A section reaches to the
/// next line that begins with `@`.
pub(super) fn split_parameters(text: &str) -> OperationDoc {
    let mut rest: Vec<&str> = Vec::new();
    let mut parameters: Vec<(String, Vec<&str>)> = Vec::new();
    let mut in_parameter = false;
    for line in text.lines() {
        let begins = line.trim_start();
        if let Some(section) = begins.strip_prefix("@param ") {
            let section = section.trim_start();
            let (name, text) = section
                .split_once(char::is_whitespace)
                .unwrap_or((section, ""));
            parameters.push((name.to_owned(), vec![text.trim_start()]));
            in_parameter = true;
        } else if begins.starts_with('@') {
            in_parameter = false;
            rest.push(line);
        } else if let (true, Some((_, lines))) = (in_parameter, parameters.last_mut()) {
            lines.push(begins);
        } else {
            rest.push(line);
        }
    }
    let parameters = parameters
        .into_iter()
        .map(|(name, lines)| (name, lines.join("\n").trim().to_owned()));
    let text = rest.join("\n").trim().to_owned();
    OperationDoc {
        text: (!text.is_empty()).then_some(text),
        parameters: parameters.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{clean, split_parameters};

    #[test]
    fn stars_and_slashes_are_dropped_and_lines_kept() {
        let block = "/**\n     * Says hello.\n     *\n     *  - to one\n     **/";
        assert_eq!(clean(block).unwrap(), "Says hello.\n\n - to one");
        assert_eq!(clean("/** One line. */").unwrap(), "One line.");
        assert_eq!(clean("/// One.\n    ///  two\n///").unwrap(), "One.\n two");
        assert_eq!(clean("/** */"), None);
        assert_eq!(clean("/***/"), None);
    }

    #[test]
    fn parameters_leave_the_doc_of_their_operation() {
        let doc = split_parameters(
            "Adds.\n@param left first\n  summand\n@param right second\n@return the sum",
        );
        assert_eq!(doc.text.unwrap(), "Adds.\n@return the sum");
        assert_eq!(doc.parameters[0], ("left".into(), "first\nsummand".into()));
        assert_eq!(doc.parameters[1], ("right".into(), "second".into()));
    }
}
