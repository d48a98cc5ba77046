//! Elements of objects in an obligation: the element that an operation uses, or an arbitrary one.
//!
//! If an index is an expression, the element gets a name of its own, so that formulas about its counts stay short.

use super::Element;
use super::Setting;
use super::Tag;
use crate::certificate::cut::class::Class;
use crate::certificate::exact;
use crate::certificate::obligation::Split;
use crate::certificate::program::Unsupported;
use crate::certificate::term;
use crate::certificate::translate::Env;
use crate::protocol::BinaryOp;
use crate::protocol::Expr;
use crate::protocol::ObjectId;
use crate::protocol::VarId;

/// The largest ring whose places are told apart.
const MAX_RING: i64 = 16;

/// Names that stand for the indices of an element whose value comes from another class.
const ELEMENT: usize = usize::MAX / 2;

impl Setting<'_> {
    /// The element an operation works on.
    pub fn element(
        &mut self,
        class: &Class,
        site: usize,
        env: &Env,
    ) -> Result<Element, Unsupported> {
        self.element_of(class, site, env, None)
    }

    /// The same in certain copies of the class.
    pub fn element_of(
        &mut self,
        class: &Class,
        site: usize,
        env: &Env,
        copy: Option<Tag>,
    ) -> Result<Element, Unsupported> {
        let this = &class.flow.sites[site];
        self.element_at(this.object, &this.index, env, copy)
    }

    /// An element of an object, in certain copies if each has elements of its own.
    pub fn element_at(
        &mut self,
        object: ObjectId,
        indices: &[Expr],
        env: &Env,
        copy: Option<Tag>,
    ) -> Result<Element, Unsupported> {
        let mut index = Vec::new();
        let mut values = Env::new();
        for (at, e) in indices.iter().enumerate() {
            if matches!(e, Expr::Int(_)) {
                index.push(e.clone());
                continue;
            }
            // A name of its own keeps the formulas that use the element short.
            let value = self.terms.expr(e, env)?;
            let named = self.unknown("element");
            self.facts.push(term::eq(&named, &value));
            if let Expr::Binary(BinaryOp::Mod, _, modulus) = e
                && let Expr::Int(bound @ 2..=MAX_RING) = **modulus
            {
                self.rings.push(Split {
                    integer: named.clone(),
                    bound,
                    then: Vec::new(),
                });
            }
            let var = VarId(exact::together(ELEMENT, at));
            values.insert(var, named);
            index.push(Expr::Var(var));
        }
        Ok(Element {
            object,
            copy: copy.filter(|_| self.private.contains(&object.0)),
            index,
            env: values,
        })
    }

    /// An arbitrary element of an object.
    pub fn any_element(
        &mut self,
        object: ObjectId,
        extents: &[Expr],
    ) -> Result<Element, Unsupported> {
        let mut index = Vec::new();
        let mut env = Env::new();
        for (at, extent) in extents.iter().enumerate() {
            let extent = self.terms.expr(extent, &Env::new())?;
            let value = self.unknown("element");
            self.facts
                .push(term::within(&term::int(0), &value, &extent));
            let var = VarId(exact::together(ELEMENT, at));
            env.insert(var, value);
            index.push(Expr::Var(var));
        }
        Ok(Element {
            object,
            copy: None,
            index,
            env,
        })
    }
}
