//! Rust text without what the compiler does not see: comments, the contents of literals, test modules.

/// The code alone: comments and the contents of string and character literals become spaces, line ends stay.
pub(crate) fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    let mut after_word = false;
    while let Some(first) = rest.chars().next() {
        let skipped = if after_word { None } else { raw_string(rest) };
        let hidden = skipped.or_else(|| comment(rest)).or_else(|| literal(rest));
        let len = hidden.unwrap_or(first.len_utf8()).min(rest.len());
        let (head, tail) = rest.split_at(len);
        match hidden {
            Some(_) => code.extend(head.chars().map(|c| if c == '\n' { '\n' } else { ' ' })),
            None => code.push_str(head),
        }
        after_word = hidden.is_none() && is_word(first);
        rest = tail;
    }
    code
}

/// Splits `code` (from [`code_only`]) into what is built always and what `#[cfg(test)]` stands before; both keep the line numbers.
/// Names of modules in files of their own (`#[cfg(test)] mod name;`) are the third part.
pub(crate) fn split_tests(code: &str) -> (String, String, Vec<String>) {
    const MARK: &str = "#[cfg(test)]";
    let blank = |part: &str| -> String { part.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect() };
    let (mut built, mut tests, mut files) = (String::new(), String::new(), Vec::new());
    let mut rest = code;
    while let Some(start) = rest.find(MARK) {
        let (before, item) = rest.split_at(start);
        let end = item_end(item);
        let (item, after) = item.split_at(end);
        if let Some(declaration) = item.strip_suffix(';')
            && let Some((_, name)) = declaration.rsplit_once("mod ")
        {
            files.push(name.trim().to_owned());
        }
        built.push_str(before);
        built.push_str(&blank(item));
        tests.push_str(&blank(before));
        tests.push_str(item);
        rest = after;
    }
    built.push_str(rest);
    tests.push_str(&blank(rest));
    (built, tests, files)
}

/// Lines (from 1) where `path` stands as whole words, such as `unsafe` or `thread::sleep`.
pub(crate) fn lines_with<'a>(code: &'a str, path: &'a str) -> impl Iterator<Item = usize> + 'a {
    let found = move |line: &str| {
        line.match_indices(path).any(|(start, _)| {
            let before = line.get(..start).and_then(|part| part.chars().next_back());
            let after = line.get(start + path.len()..).and_then(|part| part.chars().next());
            let first = path.chars().next().is_some_and(is_word);
            let last = path.chars().next_back().is_some_and(is_word);
            !(first && before.is_some_and(is_word) || last && after.is_some_and(is_word))
        })
    };
    code.lines().enumerate().filter(move |(_, line)| found(line)).map(|(index, _)| index + 1)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of the item that `text` begins with: to the `;` or to the closing brace, whichever ends it.
fn item_end(text: &str) -> usize {
    let mut depth = 0_usize;
    for (index, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return index + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return index + 1,
            _ => {}
        }
    }
    text.len()
}

fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    text.strip_prefix("/*")?;
    let mut depth = 0_usize;
    let mut position = 0;
    while let Some(pair) = text.as_bytes().get(position..position + 2) {
        match pair {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                position += 1;
                continue;
            }
        }
        position += 2;
        if depth == 0 {
            return Some(position);
        }
    }
    Some(text.len())
}

fn raw_string(text: &str) -> Option<usize> {
    let after_r = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = after_r.len() - after_r.trim_start_matches('#').len();
    let body = after_r.trim_start_matches('#').strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(hashes));
    let end = body.find(&closing).map_or(body.len(), |at| at + closing.len());
    Some(text.len() - body.len() + end)
}

fn literal(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Some(index + 1),
            // A quote that is not closed after one character begins a lifetime.
            _ if quote == '\'' && !text.get(1..)?.starts_with('\\') && index + c.len_utf8() < text.len() => {
                return text.get(index + c.len_utf8()..)?.starts_with('\'').then(|| index + c.len_utf8() + 1);
            }
            _ => {}
        }
    }
    (quote == '"').then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_hidden_and_code_is_not() {
        let code = code_only(concat!(
            "fn a<'x>(v: &'x str) { /* unsafe /* unsafe */ unsafe */ one(); }\n",
            "// unsafe\n",
            "let b = \"unsafe \\\" unsafe\"; let c = '\"'; let d = r#\"unsafe \" unsafe\"#; two();\n",
            "let e = '\\''; let f = b'u'; unsafe { three() }\n",
        ));
        assert_eq!(lines_with(&code, "unsafe").collect::<Vec<_>>(), [4]);
        for word in ["one", "two", "three", "'x str", "let f"] {
            assert!(code.contains(word), "{word} is missing in {code}");
        }
    }

    #[test]
    fn words_are_whole() {
        let code = "#![forbid(unsafe_code)]\nnot_unsafe();\nunsafe {}\nmy::thread::sleep(x)\n";
        assert_eq!(lines_with(code, "unsafe").collect::<Vec<_>>(), [3]);
        assert_eq!(lines_with(code, "thread::sleep").collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn test_modules_are_split_off() {
        let (built, tests, files) = split_tests(
            "a();\n#[cfg(test)]\nmod tests { fn x() { b() } }\nc();\n#[cfg(test)]\nmod far;\nd();\n",
        );
        assert!(["a()", "c()", "d()"].iter().all(|call| built.contains(call) && !tests.contains(call)));
        assert!(tests.contains("b()") && !built.contains("b()"));
        assert_eq!(files, ["far"]);
        assert_eq!(built.lines().count(), 7);
    }
}
