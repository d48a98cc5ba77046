//! Roles and grids: indices, launch order and residency.

use super::Parsed;
use super::Parser;
use crate::text::ast::Expr;
use crate::text::ast::Item;
use crate::text::ast::ItemKind;
use crate::text::ast::Launch;
use crate::text::ast::LaunchOrder;
use crate::text::ast::Name;
use crate::text::ast::Resident;
use crate::text::ast::Role;
use crate::text::diagnostic::Diagnostic;
use crate::text::token::Token;

impl Parser<'_> {
    pub(super) fn role(&mut self, start: usize, grid: bool) -> Parsed<Item> {
        let name = self.name("a name")?;
        let mut indices = Vec::new();
        while self.eat(Token::OpenBracket) {
            indices.push(self.index()?);
            if self.peek() == Token::Comma {
                return Err(self.fail(
                    Diagnostic::error(self.span(), "each index has brackets of its own")
                        .label("expected an operator or `]`")
                        .hint("write `[a in 0..A][b in 0..B]`"),
                ));
            }
            self.expect(Token::CloseBracket, "an operator or `]`")?;
        }
        let launch = match grid {
            true => Some(self.launch()?),
            false => None,
        };
        let warp = !grid && self.eat(Token::Warp);
        let place = self.place()?;
        let span = self.since(start);
        if self.peek() != Token::OpenBrace {
            return Err(self.unexpected(match grid {
                true => "`launch`, `resident`, a place or `{`",
                false => "`[`, `warp`, a place or `{`",
            }));
        }
        let body = self.block()?;
        let role = Role {
            name,
            indices,
            launch,
            warp,
            place,
            body,
        };
        Ok(Item {
            span,
            kind: ItemKind::Role(role),
        })
    }

    /// `cta E cluster E gpu E`, each of which may be left out.
    pub(super) fn place(&mut self) -> Parsed<Vec<(Name, Expr)>> {
        let mut place = Vec::new();
        for word in ["cta", "cluster", "gpu"] {
            if self.peek() == Token::Name && self.slice(self.span()) == word {
                let name = self.name("a place")?;
                place.push((name, self.expr()?));
            }
        }
        if self.peek() == Token::Name
            && let word @ ("cta" | "cluster" | "gpu") = self.slice(self.span())
        {
            let found = format!("`{word}` does not belong here");
            return Err(self.fail(
                Diagnostic::error(self.span(), found)
                    .label("expected `{`")
                    .hint("a place is written as `cta E cluster E gpu E`, in this order"),
            ));
        }
        Ok(place)
    }

    fn launch(&mut self) -> Parsed<Launch> {
        let order = match self.eat(Token::Launch) {
            true => Some(self.launch_order()?),
            false => None,
        };
        let resident = match self.eat(Token::Resident) {
            true => Some(self.resident()?),
            false => None,
        };
        if resident.is_some() && order.is_none() && self.peek() == Token::Launch {
            return Err(self.fail(
                Diagnostic::error(self.span(), "`launch` comes before `resident`")
                    .label("expected `{`"),
            ));
        }
        Ok(Launch { order, resident })
    }

    fn launch_order(&mut self) -> Parsed<LaunchOrder> {
        let order = match self.peek() {
            Token::Ascending => LaunchOrder::Ascending,
            Token::Descending => LaunchOrder::Descending,
            Token::Any => LaunchOrder::Any,
            token if token.may_be_name() => return self.launch_keys(),
            _ => return Err(self.unexpected("`ascending`, `descending`, `any` or an index")),
        };
        self.bump();
        Ok(order)
    }

    fn launch_keys(&mut self) -> Parsed<LaunchOrder> {
        let mut keys = Vec::new();
        loop {
            let name = self.name("an index")?;
            let descending = match self.peek() {
                Token::Ascending => false,
                Token::Descending => true,
                _ => return Err(self.unexpected("`ascending` or `descending`")),
            };
            self.bump();
            keys.push((name, descending));
            if !self.eat(Token::Comma) {
                return Ok(LaunchOrder::Keys(keys));
            }
        }
    }

    fn resident(&mut self) -> Parsed<Resident> {
        if self.eat(Token::All) {
            return Ok(Resident::All);
        }
        let start = self.span().start;
        let bound = self.expr()?;
        if !self.eat(Token::DotDot) {
            return Ok(Resident::AtMost(bound));
        }
        let span = self.since(start);
        if self.slice(bound.span) != "1" {
            return Err(self.fail(
                Diagnostic::error(span, "open residency begins at 1")
                    .label("expected `1..`")
                    .hint("declare a parameter with that domain and write `resident NAME`"),
            ));
        }
        Ok(Resident::Open(span))
    }
}
