//! Editor requests about a document, such as hover, definition, references, rename and completion.

use lsp_types::CompletionItem;
use lsp_types::CompletionItemKind;
use lsp_types::DocumentHighlight;
use lsp_types::DocumentSymbol;
use lsp_types::Documentation;
use lsp_types::Hover;
use lsp_types::HoverContents;
use lsp_types::Location;
use lsp_types::MarkupContent;
use lsp_types::MarkupKind;
use lsp_types::Position;
use lsp_types::PrepareRenameResponse;
use lsp_types::SymbolKind;
use lsp_types::TextEdit;
use lsp_types::WorkspaceEdit;
use warplock::protocol::Property;
use warplock::protocol::Span;
use warplock::text;
use warplock::text::Declared;
use warplock::text::Index;
use warplock::text::Kind;
use warplock::text::reference;

use super::document::Document;
use super::findings;

/// The meaning of the word at a position.
pub fn hover(document: &Document, position: Position) -> Option<Hover> {
    let offset = document.offset(position);
    if let Some(index) = document.index()
        && let Some((name, span)) = index.at(offset)
    {
        return Some(shown(document, span, declared(document, index, name)));
    }
    let span = text::word_at(&document.text, offset)?;
    let word = document.slice(span);
    let before = document.text.get(..span.start)?.trim_end();
    let property = Property::from_name(word).filter(|_| before.ends_with("expect"));
    let meaning = match property {
        Some(property) => format!("`{word}`: {}", property.description()),
        None => described(word)?,
    };
    Some(shown(document, span, meaning))
}

fn shown(document: &Document, span: Span, value: String) -> Hover {
    Hover {
        contents: HoverContents::Markup(markdown(value)),
        range: Some(document.range(span)),
    }
}

fn markdown(value: String) -> MarkupContent {
    MarkupContent {
        kind: MarkupKind::Markdown,
        value,
    }
}

/// What the reference of the language says about a word.
fn described(word: &str) -> Option<String> {
    let entries = reference::describe(word).into_iter();
    let lines = entries.map(|entry| match entry.form.as_str() {
        "" => entry.meaning,
        form => format!("{form}: {}", entry.meaning),
    });
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n\n"))
}

/// The declaration of a name, the kind of thing that it names, and the assumptions about it.
fn declared(document: &Document, index: &Index, name: &Declared) -> String {
    let end = name.declaration.end;
    let rest = document.text.get(end..).unwrap_or("");
    let rest = rest.lines().next().unwrap_or("");
    let comment = rest.trim_start().starts_with("//");
    let shown = match comment {
        true => document.slice(Span {
            start: name.declaration.start,
            end: end + rest.len(),
        }),
        false => document.slice(name.declaration),
    };
    let mut out = format!("```wlk\n{shown}\n");
    for assumption in &index.assumptions {
        let mentions = |at: &Span| assumption.start <= at.start && at.end <= assumption.end;
        if name.uses.iter().any(mentions) {
            out.push_str(&format!("{}\n", document.slice(*assumption)));
        }
    }
    out.push_str(&format!("```\n`{}` is {}.", name.name, name.kind.words()));
    out
}

/// The place where the name at a position is declared.
pub fn definition(document: &Document, position: Position) -> Option<Location> {
    let (name, _) = document.index()?.at(document.offset(position))?;
    Some(Location::new(
        document.uri.clone(),
        document.range(name.span),
    ))
}

/// The places where the name at a position is used; with `declaration`, also the place where it is declared.
pub fn references(document: &Document, position: Position, declaration: bool) -> Vec<Location> {
    let places = places(document, position, declaration).into_iter();
    let location = |span| Location::new(document.uri.clone(), document.range(span));
    places.map(location).collect()
}

/// The places of the name at a position, to be highlighted.
pub fn highlights(document: &Document, position: Position) -> Vec<DocumentHighlight> {
    let places = places(document, position, true).into_iter();
    let mark = |span| DocumentHighlight {
        range: document.range(span),
        kind: None,
    };
    places.map(mark).collect()
}

fn places(document: &Document, position: Position, declaration: bool) -> Vec<Span> {
    let index = document.index();
    let found = index.and_then(|index| index.at(document.offset(position)));
    let Some((name, _)) = found else {
        return Vec::new();
    };
    let own = declaration.then_some(name.span);
    own.into_iter().chain(name.uses.iter().copied()).collect()
}

/// The name at a position that a rename would change.
pub fn renamable(document: &Document, position: Position) -> Option<PrepareRenameResponse> {
    let (name, span) = document.index()?.at(document.offset(position))?;
    let placeholder = name.name.clone();
    (document.slice(name.span) == name.name).then(|| PrepareRenameResponse::RangeWithPlaceholder {
        range: document.range(span),
        placeholder,
    })
}

/// The edits that rename the name at a position, or why it cannot be renamed.
pub fn rename(document: &Document, position: Position, to: &str) -> Result<WorkspaceEdit, String> {
    let index = document.index();
    let found = index.and_then(|index| index.at(document.offset(position)));
    let (name, _) = found.ok_or("there is no declared name here")?;
    if document.slice(name.span) != name.name {
        return Err(format!(
            "`{0}` has no declaration of its own: write `param {0} in 1..` and `resident {0}`",
            name.name
        ));
    }
    if !text::is_name(to) {
        return Err(format!(
            "`{to}` cannot be a name: names are letters, digits and `_`, and no reserved word"
        ));
    }
    let places = places(document, position, true);
    let mut sorted = places.clone();
    sorted.sort_by_key(|span| span.start);
    let mut after = String::with_capacity(document.text.len());
    let mut end = 0;
    for span in sorted {
        after.push_str(document.text.get(end..span.start).unwrap_or(""));
        after.push_str(to);
        end = span.end;
    }
    after.push_str(document.text.get(end..).unwrap_or(""));
    // A name that is in use already would be declared twice, or a use of another declaration would then refer to this
    // one.
    if document.loaded.is_ok()
        && let Err(found) = text::load(after.as_bytes())
    {
        let message = found.first().map(|found| found.message.clone());
        return Err(message.unwrap_or_default());
    }
    let count = |index: &Index| -> Vec<usize> {
        let names = index.names.iter();
        names.map(|name| name.uses.len()).collect()
    };
    if text::index(&after).as_ref().map(count) != index.map(count) {
        return Err(format!("`{to}` is in use already"));
    }
    let parts = places.into_iter().map(|span| (span, to.to_owned()));
    Ok(findings::edit(document, parts.collect()))
}

/// The names that a text declares. Names inside a role are children of the role.
pub fn symbols(document: &Document) -> Vec<DocumentSymbol> {
    let Some(index) = document.index() else {
        return Vec::new();
    };
    let mut all: Vec<DocumentSymbol> = Vec::new();
    let mut end = 0;
    for name in &index.names {
        let one = symbol(document, name);
        match all.last_mut().filter(|_| name.span.end <= end) {
            Some(outer) => outer.children.get_or_insert_default().push(one),
            None => {
                end = name.region.end;
                all.push(one);
            }
        }
    }
    all
}

fn symbol(document: &Document, name: &Declared) -> DocumentSymbol {
    let kind = match name.kind {
        Kind::Param => SymbolKind::TYPE_PARAMETER,
        Kind::Constant => SymbolKind::CONSTANT,
        Kind::Function => SymbolKind::FUNCTION,
        Kind::Pattern | Kind::Buffer => SymbolKind::ARRAY,
        Kind::Object(_) => SymbolKind::OBJECT,
        Kind::Role(_) => SymbolKind::CLASS,
        Kind::Local(_) => SymbolKind::VARIABLE,
    };
    let whole = match name.kind {
        Kind::Role(_) => name.region,
        _ => name.declaration,
    };
    #[allow(deprecated)]
    DocumentSymbol {
        name: name.name.clone(),
        detail: Some(name.kind.words().to_owned()),
        kind,
        tags: None,
        deprecated: None,
        range: document.range(whole),
        selection_range: document.range(name.span),
        children: None,
    }
}

/// The edit that formats a text, if it parses. It replaces only the lines between the first and the last difference.
pub fn formatting(document: &Document) -> Vec<TextEdit> {
    let source = document.text.as_str();
    let Ok(formatted) = text::format(source) else {
        return Vec::new();
    };
    if formatted == source {
        return Vec::new();
    }
    let old: Vec<&str> = source.split_inclusive('\n').collect();
    let new: Vec<&str> = formatted.split_inclusive('\n').collect();
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (old.iter().skip(same), new.iter().skip(same));
    let backwards = old_rest.rev().zip(new_rest.rev());
    let end = backwards.take_while(|(a, b)| a == b).count();
    let length = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
    let start = length(old.get(..same).unwrap_or_default());
    let behind = length(old.get(old.len() - end..).unwrap_or_default());
    let text = new.get(same..new.len() - end).unwrap_or_default().concat();
    let span = Span {
        start,
        end: source.len() - behind,
    };
    vec![TextEdit::new(document.range(span), text)]
}

/// The words and names that may be written at a position.
pub fn completion(document: &Document, position: Position) -> Vec<CompletionItem> {
    let offset = document.offset(position);
    let offers = text::complete(&document.text, offset, document.index());
    let item = |offer: text::Offer| {
        let about = match offer.kind {
            Some(_) => None,
            None => described(&offer.text),
        };
        CompletionItem {
            kind: Some(match offer.kind {
                Some(_) => CompletionItemKind::VARIABLE,
                None => CompletionItemKind::KEYWORD,
            }),
            detail: offer.kind.map(str::to_owned),
            documentation: about.map(|text| Documentation::MarkupContent(markdown(text))),
            label: offer.text,
            ..CompletionItem::default()
        }
    };
    offers.into_iter().map(item).collect()
}
