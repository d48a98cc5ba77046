//! Views: the writes that a member sees, and those that members have released to an object.

use std::collections::BTreeMap;

use crate::protocol::Scope;
use crate::semantics::data::Proxy;

use super::bits::Bits;

/// The writes that are ordered before some point, and those of them that are seen there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct View {
    /// The writes that are ordered before the point.
    pub(super) ordered: Bits,
    /// The writes in `ordered` that are seen through the generic proxy.
    pub(super) visible: Bits,
    /// The writes in `visible` that are also seen through the async proxy.
    pub(super) visible_async: Bits,
}

impl View {
    pub(super) fn new(writes: usize) -> View {
        View {
            ordered: Bits::new(writes),
            visible: Bits::new(writes),
            visible_async: Bits::new(writes),
        }
    }

    /// Adds everything that another view sees.
    pub(super) fn see(&mut self, other: &View) {
        self.visible.add_all(&other.visible);
        self.visible_async.add_all(&other.visible_async);
    }

    /// Adds an asynchronous write that is complete.
    pub(super) fn complete(&mut self, write: usize, proxy: Proxy) {
        self.ordered.add(write);
        self.visible.add(write);
        if proxy == Proxy::Async {
            self.visible_async.add(write);
        }
    }

    pub(super) fn fence_proxy(&mut self) {
        let visible = self.visible.clone();
        self.visible_async.add_all(&visible);
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        for bits in [&self.ordered, &self.visible, &self.visible_async] {
            bits.encode(out);
        }
    }
}

/// The views that have been released to an object.
#[derive(Debug, Clone, Default)]
pub(super) struct ReleasedViews {
    ordered: Bits,
    /// The views, by releasing member and scope. Their `ordered` sets are not used.
    sent: BTreeMap<(usize, Scope), View>,
    /// The writes of asynchronous work that has landed here, by the member that started it.
    landed: BTreeMap<usize, View>,
    /// The view that each operation has released, if lost writes are looked for.
    pub(super) senders: Vec<((usize, u32), View)>,
}

impl ReleasedViews {
    pub(super) fn ordered(&self) -> &Bits {
        &self.ordered
    }

    pub(super) fn order(&mut self, ordered: &Bits) {
        self.ordered.add_all(ordered);
    }

    pub(super) fn tell(&mut self, sender: usize, scope: Scope, view: &View) {
        self.sent.entry((sender, scope)).or_default().see(view);
    }

    pub(super) fn land(&mut self, starter: usize, written: &View) {
        self.landed.entry(starter).or_default().see(written);
    }

    /// The views of work that has landed here and was started by one of these members.
    pub(super) fn landed(&self, of: impl Fn(usize) -> bool) -> Vec<(usize, &View)> {
        let all = self.landed.iter().filter(|(starter, _)| of(**starter));
        all.map(|(starter, view)| (*starter, view)).collect()
    }

    /// The released views whose scopes include a member, and whose releasing member is in that member's scope.
    pub(super) fn heard(
        &self,
        reaches: impl Fn(usize, Scope) -> bool,
    ) -> Vec<(usize, Scope, &View)> {
        let all = self.sent.iter();
        let heard = all.filter(|((sender, scope), _)| reaches(*sender, *scope));
        heard.map(|((m, s), view)| (*m, *s, view)).collect()
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        self.ordered.encode(out);
        out.extend((self.sent.len() as u32).to_le_bytes());
        for ((sender, scope), view) in &self.sent {
            out.extend((*sender as u32).to_le_bytes());
            out.push(*scope as u8);
            view.encode(out);
        }
        out.extend((self.landed.len() as u32).to_le_bytes());
        for (starter, view) in &self.landed {
            out.extend((*starter as u32).to_le_bytes());
            view.encode(out);
        }
    }
}
