//! Lines that begin with `#`: other files, conditions, macros without arguments, and lists of keys.
use alloc::format;
use alloc::string::{String, ToString};

use super::IdlError;
use super::lexer::{Lexer, Reading, Token};

impl Reading<'_> {
    /// What follows a `#` at this place.
    pub(super) fn directive(
        &mut self,
        lexer: &mut Lexer<'_>,
        line: u32,
        column: u32,
    ) -> Result<(), IdlError> {
        let text = lexer.rest_of_line();
        let text = without_comments(&text);
        let (word, rest) = first_word(text);
        if matches!(word, "ifdef" | "ifndef" | "if" | "else" | "elif" | "endif") {
            return self
                .condition(lexer, word, rest, line)
                .map_err(|message| self.error(lexer, line, column, message));
        }
        if lexer.is_skipped() {
            return Ok(());
        }
        let done = match word {
            "include" => {
                let name = rest.trim_matches(['"', '<', '>']);
                match self.included(name) {
                    Ok(()) => Ok(()),
                    Err(Ok(inside)) => return Err(inside),
                    Err(Err(why)) => Err(format!("#include \"{name}\": {why}")),
                }
            }
            "define" => {
                let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
                let (name, text) = rest.split_at(end.unwrap_or(rest.len()));
                if text.starts_with('(') {
                    Err(format!("#define {name}: macros with arguments are not read; write a const"))
                } else {
                    self.define(name.to_string(), text).map_err(|why| format!("#define {name}: {why}"))
                }
            }
            "undef" => {
                self.undefine(rest);
                Ok(())
            }
            "pragma" => match first_word(rest) {
                ("keylist", list) => {
                    let mut words =
                        list.split([' ', '\t', ',']).filter(|word| !word.is_empty()).map(ToString::to_string);
                    let of = words.next().unwrap_or_default();
                    return self.push(lexer, Token::Keys(of, words.collect()), line, column);
                }
                ("", _) => Ok(()),
                (other, _) => {
                    let warning = self.error(lexer, line, column, format!("#pragma {other} is passed over"));
                    self.warnings.push(warning);
                    Ok(())
                }
            },
            // Says where preprocessed text comes from, or nothing.
            "line" | "" => Ok(()),
            number if number.bytes().all(|byte| byte.is_ascii_digit()) => Ok(()),
            "error" => Err(format!("#error {rest}")),
            other => Err(format!("#{other} is not read")),
        };
        done.map_err(|message| self.error(lexer, line, column, message))
    }

    fn condition(&self, lexer: &mut Lexer<'_>, word: &str, rest: &str, line: u32) -> Result<(), String> {
        let is_there = match word {
            "ifdef" | "ifndef" => {
                let is_read = self.is_defined(rest) == (word == "ifdef");
                if !lexer.begin_condition(is_read, line) {
                    return Err("conditions are nested too deeply".to_string());
                }
                true
            }
            "else" => lexer.turn_condition(),
            "endif" => lexer.end_condition(),
            other => return Err(format!("#{other} is not read; use #ifdef and #ifndef")),
        };
        if is_there { Ok(()) } else { Err(format!("#{word} without #ifdef or #ifndef")) }
    }
}

/// A comment at the end of the line says nothing.
fn without_comments(text: &str) -> &str {
    let end = [text.find("//"), text.find("/*")].into_iter().flatten().min();
    end.and_then(|end| text.get(..end)).unwrap_or(text).trim()
}

fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (word, rest.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_have_a_word_and_a_rest() {
        assert_eq!(first_word(" pragma keylist A"), ("pragma", "keylist A"));
        assert_eq!(first_word("include<a.idl>"), ("include", "<a.idl>"));
        assert_eq!(without_comments("endif // A"), "endif");
        assert_eq!(String::from(without_comments("else /* A */")), "else");
    }
}
