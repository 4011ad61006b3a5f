//! Macro expansion.

use std::rc::Rc;

use super::macros::{Macro, Macros, Parameters, tokens_of};
use super::{Abort, ExpansionLeft, Preprocessor, Reader};
use crate::diagnostic::{Code, Diagnostic, Reporter, Span};
use crate::lexer::{Token, TokenKind};

/// How many macros may be open inside one another.
const MAX_MACRO_DEPTH: usize = 200;
/// How deep the arguments of macro calls may nest.
const MAX_ARGUMENT_DEPTH: usize = 40;

/// The text of one macro, or an argument, that is being read.
struct Frame {
    /// The macro whose text this is: it is not expanded again while the frame is open.
    name: Option<Rc<str>>,
    tokens: std::vec::IntoIter<Token>,
}

/// Where tokens come from when the text of a macro ends within a call.
type Source<'s> = &'s mut dyn FnMut() -> Option<Token>;

/// One expansion in the text.
struct Expansion<'e> {
    macros: &'e Macros,
    reporter: &'e mut Reporter,
    left: &'e mut ExpansionLeft,
    frames: Vec<Frame>,
    /// The macro use in the text that all of this is about.
    used: Span,
    argument_depth: usize,
}

impl Preprocessor<'_, '_> {
    /// Expands the macro that `first` names; arguments are read from the file.
    pub(super) fn expand_in_text(
        &mut self,
        reader: &mut Reader,
        first: Token,
    ) -> Result<Vec<Token>, Abort> {
        self.set_place(first.span);
        let mut unread = None;
        let doc = &mut self.doc;
        let mut source = || {
            loop {
                let token = reader.next()?;
                match token.kind {
                    TokenKind::Doc(text) => *doc = Some(text.to_string()),
                    // A directive ends the search for arguments.
                    TokenKind::Punct('#') if token.starts_line => {
                        reader.unread = Some(token);
                        return None;
                    }
                    _ => return Some(token),
                }
            }
        };
        let mut expansion = Expansion {
            macros: &self.macros,
            reporter: self.reporter,
            left: &mut self.expansion_left,
            used: first.span,
            frames: Vec::new(),
            argument_depth: 0,
        };
        let result = expansion.run(vec![first], &mut source, &mut unread);
        if unread.is_some() {
            reader.unread = unread;
        }
        result
    }

    /// Expands the macros in the tokens of a directive.
    pub(super) fn expand_line(
        &mut self,
        tokens: Vec<Token>,
        directive: Span,
    ) -> Result<Vec<Token>, Abort> {
        self.set_place(directive);
        let Some(first) = tokens.first() else {
            return Ok(tokens);
        };
        let mut expansion = Expansion {
            macros: &self.macros,
            reporter: self.reporter,
            left: &mut self.expansion_left,
            used: first.span,
            frames: Vec::new(),
            argument_depth: 0,
        };
        expansion.run(tokens, &mut || None, &mut None)
    }
}

impl Preprocessor<'_, '_> {
    /// Gives `__LINE__` and `__FILE__` their text for a place.
    fn set_place(&mut self, used: Span) {
        let line = self.files.sources.line_number(used) as i64 + self.place.shift;
        let path = self
            .files
            .sources
            .file(used.file)
            .path
            .display()
            .to_string();
        let name = match &self.place.name {
            Some(name) => name.to_string(),
            None => path.replace('\\', "\\\\").replace('"', "\\\""),
        };
        self.macros.set_place(line, &name);
    }
}

impl Expansion<'_> {
    fn run(
        &mut self,
        tokens: Vec<Token>,
        source: Source,
        unread: &mut Option<Token>,
    ) -> Result<Vec<Token>, Abort> {
        let mut output = Vec::new();
        self.open(None, tokens)?;
        while let Some(mut token) = self.next_open() {
            let definition = match token.word() {
                Some(name) if !token.is_final => self.macros.get(name).cloned(),
                _ => None,
            };
            let (Some(definition), Some(name)) = (definition, token.word()) else {
                output.push(token);
                continue;
            };
            let name: Rc<str> = name.into();
            if self.frames.iter().any(|f| f.name.as_ref() == Some(&name)) {
                token.is_final = true;
                output.push(token);
                continue;
            }
            match self.replacement(&definition, &token, source, unread)? {
                Some(body) => self.open(Some(name), body)?,
                None => output.push(token),
            }
        }
        Ok(output)
    }

    /// The text that replaces a macro; `None` if it has parameters and is not called here.
    fn replacement(
        &mut self,
        definition: &Macro,
        token: &Token,
        source: Source,
        unread: &mut Option<Token>,
    ) -> Result<Option<Vec<Token>>, Abort> {
        let mut body = match &definition.parameters {
            None => definition.body.iter().map(|t| self.place(t)).collect(),
            Some(parameters) => {
                let Some(mut arguments) = self.arguments(token, source, unread)? else {
                    return Ok(None);
                };
                if parameters.len() == 0 && arguments.iter().all(Vec::is_empty) {
                    arguments.clear();
                }
                if parameters.misfits(arguments.len()) {
                    self.report_count(definition, token, arguments.len());
                    return Ok(Some(Vec::new()));
                }
                let arguments = parameters.gather(arguments);
                self.substitute(definition, parameters, &arguments)?
            }
        };
        if let Some(first) = body.first_mut() {
            first.spaced = token.spaced;
        }
        Ok(Some(body))
    }

    fn place(&self, token: &Token) -> Token {
        Token {
            span: self.used,
            starts_line: false,
            ..token.clone()
        }
    }

    fn report_count(&mut self, definition: &Macro, token: &Token, given: usize) {
        let wanted = definition.parameters.as_ref().map_or(0, Parameters::len);
        let name = token.source();
        let mut diagnostic = Diagnostic::new(
            Code::BadMacroCall,
            self.used,
            format!("the macro `{name}` needs {wanted} arguments and gets {given}"),
        )
        .help("give one argument for each parameter, with commas between them");
        if let Some(defined) = definition.defined {
            diagnostic = diagnostic.label(defined, "defined here");
        }
        self.reporter.report(diagnostic);
    }

    /// The arguments of a call, not yet expanded; `None` if no parenthesis follows.
    fn arguments(
        &mut self,
        call: &Token,
        source: Source,
        unread: &mut Option<Token>,
    ) -> Result<Option<Vec<Vec<Token>>>, Abort> {
        let (token, is_open) = match self.next_open() {
            Some(token) => (Some(token), true),
            None => (unread.take().or_else(&mut *source), false),
        };
        match token {
            Some(token) if token.is('(') => {}
            Some(token) if is_open => {
                self.open(None, vec![token])?;
                return Ok(None);
            }
            other => {
                *unread = other;
                return Ok(None);
            }
        }
        let mut arguments = vec![Vec::new()];
        let mut depth = 0;
        loop {
            let Some(token) = self.next_open().or_else(&mut *source) else {
                let message = format!("the call of the macro `{}` has no end", call.source());
                let diagnostic = Diagnostic::new(Code::BadMacroCall, self.used, message);
                self.reporter
                    .report(diagnostic.help("close the list of arguments with `)`"));
                return Ok(Some(arguments));
            };
            match token.kind {
                TokenKind::Punct(')') if depth == 0 => return Ok(Some(arguments)),
                TokenKind::Punct(',') if depth == 0 => {
                    arguments.push(Vec::new());
                    continue;
                }
                TokenKind::Punct('(') => depth += 1,
                TokenKind::Punct(')') => depth -= 1,
                _ => {}
            }
            if let Some(last) = arguments.last_mut() {
                last.push(token);
            }
        }
    }

    /// The body of a macro with the arguments in the place of its parameters.
    fn substitute(
        &mut self,
        definition: &Macro,
        parameters: &Parameters,
        arguments: &[Vec<Token>],
    ) -> Result<Vec<Token>, Abort> {
        let argument = |token: &Token| {
            let name = token.word()?;
            arguments.get(parameters.index(name)?)
        };
        let mut output: Vec<Token> = Vec::new();
        let mut body = definition.body.iter().peekable();
        // Where the text of the last operand begins in the output: `##` joins it to the next.
        let mut operand = 0;
        while let Some(token) = body.next() {
            let next = body.peek().copied();
            let next_is_hash = next.is_some_and(|next| next.is('#'));
            let start = output.len();
            match (argument(token), next.and_then(argument)) {
                (None, Some(quoted)) if token.is('#') => {
                    output.push(self.quoted(quoted)?);
                    body.next();
                }
                (None, _) if token.is('#') && next_is_hash => {
                    body.next();
                    let right = match body.next() {
                        Some(right) => match argument(right) {
                            Some(tokens) => tokens.clone(),
                            None => vec![self.place(right)],
                        },
                        None => Vec::new(),
                    };
                    self.paste(&mut output, operand, right)?;
                    continue;
                }
                // What is joined to something is taken as it stands.
                (Some(tokens), _) if next_is_hash => output.extend(tokens.iter().cloned()),
                (Some(tokens), _) => output.extend(self.expand_argument(tokens)?),
                (None, _) => output.push(self.place(token)),
            }
            operand = start;
            self.check_size(output.len())?;
        }
        Ok(output)
    }

    fn expand_argument(&mut self, argument: &[Token]) -> Result<Vec<Token>, Abort> {
        if self.argument_depth >= MAX_ARGUMENT_DEPTH {
            return self.abort(format!(
                "calls of macros nest more than {MAX_ARGUMENT_DEPTH} deep"
            ));
        }
        let mut inner = Expansion {
            macros: self.macros,
            reporter: self.reporter,
            left: self.left,
            frames: Vec::new(),
            used: self.used,
            argument_depth: self.argument_depth + 1,
        };
        inner.run(argument.to_vec(), &mut || None, &mut None)
    }

    /// `#argument`: its text as a string.
    fn quoted(&mut self, argument: &[Token]) -> Result<Token, Abort> {
        let len = argument.iter().map(|token| token.text_len() + 1).sum();
        self.count_bytes(len)?;
        let mut text = String::new();
        for (index, token) in argument.iter().enumerate() {
            if index > 0 && token.spaced {
                text.push(' ');
            }
            text.push_str(&token.source());
        }
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        Ok(Token::new(TokenKind::Str(text.into()), self.used))
    }

    /// `left ## right`: the last token of one and the first of the other become one. The left side
    /// is the output from `operand` on; either side may be empty.
    fn paste(
        &mut self,
        output: &mut Vec<Token>,
        operand: usize,
        right: Vec<Token>,
    ) -> Result<(), Abort> {
        let mut right = right.into_iter();
        if output.len() > operand
            && let Some(first) = right.next()
            && let Some(left) = output.pop()
        {
            self.count_bytes(left.text_len() + first.text_len())?;
            let joined = format!("{}{}", left.source(), first.source());
            let tokens = tokens_of(&joined);
            output.extend(tokens.iter().map(|token| self.place(token)));
        }
        output.extend(right);
        Ok(())
    }

    fn open(&mut self, name: Option<Rc<str>>, tokens: Vec<Token>) -> Result<(), Abort> {
        self.check_size(tokens.len())?;
        self.left.tokens -= tokens.len();
        self.count_bytes(tokens.iter().map(Token::text_len).sum())?;
        if self.frames.len() >= MAX_MACRO_DEPTH {
            return self.abort(format!("macros nest more than {MAX_MACRO_DEPTH} deep"));
        }
        self.frames.push(Frame {
            name,
            tokens: tokens.into_iter(),
        });
        Ok(())
    }

    fn next_open(&mut self) -> Option<Token> {
        while let Some(frame) = self.frames.last_mut() {
            if let Some(token) = frame.tokens.next() {
                return Some(token);
            }
            self.frames.pop();
        }
        None
    }

    fn check_size(&mut self, len: usize) -> Result<(), Abort> {
        if len <= self.left.tokens {
            return Ok(());
        }
        self.abort_too_much()
    }

    /// Counts text that is produced. The same text counts again wherever it is copied to.
    fn count_bytes(&mut self, len: usize) -> Result<(), Abort> {
        match self.left.bytes.checked_sub(len) {
            Some(left) => self.left.bytes = left,
            None => return self.abort_too_much(),
        }
        Ok(())
    }

    fn abort_too_much<T>(&mut self) -> Result<T, Abort> {
        self.abort("the macros of this file expand to too much text".to_owned())
    }

    fn abort<T>(&mut self, message: String) -> Result<T, Abort> {
        let diagnostic = Diagnostic::new(Code::LimitExceeded, self.used, message);
        self.reporter
            .report(diagnostic.help("look for macros that use one another again and again"));
        Err(Abort)
    }
}
