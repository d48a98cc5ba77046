//! Edits of start phases: the parity of the first wait of a member.

use crate::text::ast::ExprKind;
use crate::text::ast::StmtKind;

use super::Found;
use super::Kind;
use super::tight;
use super::walk::names;

const STARTS: [(&str, &str); 2] = [("producer", "consumer"), ("consumer", "producer")];

pub(super) fn add(found: &mut Found<'_>) {
    for place in found.places.clone() {
        match &place.stmt.kind {
            StmtKind::Var { name, value } => match &value.kind {
                ExprKind::Call(start, _) => {
                    let other = STARTS.iter().find(|(from, _)| *from == start.text);
                    if let Some((from, to)) = other {
                        let what = format!("`{}` starts as a {to}, not as a {from}", name.text);
                        found.replace(Kind::Phase, what, start.span, (*to).to_owned());
                    }
                }
                ExprKind::Int(bit @ (0 | 1)) if is_parity(found, &name.text) => {
                    let what = format!("`{}` starts at {}, not at {bit}", name.text, 1 - bit);
                    found.replace(Kind::Phase, what, value.span, (1 - bit).to_string());
                }
                _ => {}
            },
            StmtKind::Wait {
                cell,
                comparison: None,
                value: Some(parity),
            } => {
                let text = found.slice(parity.span);
                let other = match (&parity.kind, text.strip_suffix(" ^ 1")) {
                    (ExprKind::Int(bit @ (0 | 1)), _) => (1 - bit).to_string(),
                    (_, Some(rest)) => rest.to_owned(),
                    _ => format!("{} ^ 1", tight(text)),
                };
                let what = format!("wait for the other phase of `{}`", found.slice(cell.span));
                found.replace(Kind::Phase, what, parity.span, other);
            }
            _ => {}
        }
    }
}

/// Whether a variable is used as the parity of some wait.
fn is_parity(found: &Found<'_>, variable: &str) -> bool {
    found.places.iter().any(|place| match &place.stmt.kind {
        StmtKind::Wait {
            comparison: None,
            value: Some(parity),
            ..
        } => {
            let mut all = Vec::new();
            names(parity, &mut all);
            all.contains(&variable)
        }
        _ => false,
    })
}
