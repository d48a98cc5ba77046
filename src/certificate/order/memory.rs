//! A cache of the operation counts of classes. The same sums are needed for every pair of operations.
//!
//! A sum depends on the class, the place, the operations that are counted, and the values of the variables of the
//! loops around the place. Each class has its own cache, and the key contains all of these except the class.
//! Invariant: the cache of a class has to be emptied if the class is changed. [`super::rule::Rule::new`] does so at
//! its end, and nothing changes the classes of a rule later. A copy of a class begins with an empty cache.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use super::cases::Cases;
use super::cases::Env;
use super::polynomial::Polynomial;
use crate::certificate::cut::count::Place;
use crate::certificate::program::Unsupported;
use crate::protocol::Expr;
use crate::protocol::VarId;

/// A sum by cases.
pub type Sum = Arc<Cases<Polynomial>>;

type Operations = (Place, Vec<usize>);

type Values = Vec<(VarId, Polynomial)>;

/// Sums, as expressions and by cases.
#[derive(Debug, Default)]
pub struct Memory {
    exprs: Mutex<HashMap<Operations, Expr>>,
    sums: Mutex<HashMap<(Operations, Values), Sum>>,
}

impl Clone for Memory {
    fn clone(&self) -> Memory {
        Memory::default()
    }
}

impl Memory {
    /// The number of executions of these operations before a place, as an expression. It is computed if it is not in
    /// the cache.
    pub(super) fn expr(
        &self,
        of: &Operations,
        count: impl FnOnce() -> Result<Expr, Unsupported>,
    ) -> Result<Expr, Unsupported> {
        let known = |all: &HashMap<_, Expr>| all.get(of).cloned();
        if let Some(sum) = known(&self.exprs.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(sum);
        }
        let sum = count()?;
        let mut all = self.exprs.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(of.clone(), sum.clone());
        Ok(sum)
    }

    /// The same by cases, for these values of variables.
    pub(super) fn sum(
        &self,
        of: Operations,
        env: &Env,
        count: impl FnOnce(&Operations) -> Result<Cases<Polynomial>, Unsupported>,
    ) -> Result<Sum, Unsupported> {
        let mut values: Values = env.iter().map(|(var, x)| (*var, x.clone())).collect();
        values.sort_unstable_by_key(|(var, _)| *var);
        let key = (of, values);
        let known = |all: &HashMap<_, Sum>| all.get(&key).cloned();
        if let Some(sum) = known(&self.sums.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(sum);
        }
        let sum = Arc::new(count(&key.0)?);
        let mut all = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(key, sum.clone());
        Ok(sum)
    }
}
