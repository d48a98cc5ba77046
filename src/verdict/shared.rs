//! Results that are shared between the properties of one protocol: cuts that were found, and obligations that were
//! discharged.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use std::time::Instant;

use crate::certificate::argument::Argument;
use crate::certificate::cut::artefact::Cut;
use crate::certificate::known::Known;
use crate::deadline;
use crate::proof;
use crate::proof::Guess;
use crate::proof::Layer;
use crate::protocol::Protocol;

/// What the kernel makes of a protocol, the same for every property.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// The argument that fits what was seen.
    pub argument: Argument,
    /// Whether its obligations were discharged with little work.
    pub soon: bool,
}

/// What the properties of a protocol have in common.
#[derive(Debug, Default)]
pub struct Shared {
    /// Obligations that have been decided.
    pub(super) known: Known,
    /// Cuts that fit samples of a protocol.
    cuts: Mutex<Vec<(Protocol, Cut)>>,
    /// What came of looking for an order, and whether the search was cut short.
    orders: Mutex<Vec<(Protocol, Guess, bool)>>,
    /// What the kernel makes of a protocol.
    kernel: Mutex<Vec<(Protocol, Option<Asked>)>>,
}

impl Shared {
    /// Looks for an argument in one layer, beginning with what was found before.
    pub(super) fn search(
        &self,
        protocol: &Protocol,
        layer: Layer,
        limit: Duration,
        cancel: &AtomicBool,
        tell: &(dyn Fn(&str) + Sync),
    ) -> Guess {
        let shows = match layer {
            Layer::Cuts(shows) => shows,
            Layer::Order => return self.order(protocol, limit, cancel, tell),
            _ => return proof::search(protocol, layer, limit, Some(cancel), tell),
        };
        let base = self.cut(protocol, |cut| cut.shows == shows);
        if let Some(cut) = base {
            return Guess::Fitting(Argument::Cut(cut));
        }
        let base = self.cut(protocol, |_| true);
        let found = proof::search_cuts(protocol, shows, base.as_ref(), limit, tell);
        if let Guess::Fitting(Argument::Cut(cut)) = &found {
            let mut cuts = self.cuts.lock().unwrap_or_else(PoisonError::into_inner);
            cuts.push((protocol.clone(), cut.clone()));
        }
        found
    }

    /// What the kernel makes of a protocol; `ask` is called where nobody has asked it yet.
    pub(super) fn kernel(
        &self,
        protocol: &Protocol,
        ask: impl FnOnce() -> Option<Asked>,
    ) -> Option<Asked> {
        let known = || self.kernel.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, asked)) = known().iter().find(|(known, _)| known == protocol) {
            return asked.clone();
        }
        let asked = ask();
        // What ended because the time was up is asked again for another property, which has time of its own.
        if !deadline::over() {
            known().push((protocol.clone(), asked.clone()));
        }
        asked
    }

    /// An order, or why there is none: that is the same for all properties. A search that was cut short is done a
    /// second time where it is asked for again, with all the time there is.
    fn order(
        &self,
        protocol: &Protocol,
        limit: Duration,
        cancel: &AtomicBool,
        tell: &(dyn Fn(&str) + Sync),
    ) -> Guess {
        let orders = || self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let known = orders().iter().position(|(known, ..)| known == protocol);
        if let Some(at) = known
            && let (_, found, false) = &orders()[at]
        {
            return found.clone();
        }
        let limit = match known {
            None => limit / proof::ORDER_SHARE,
            Some(_) => limit,
        };
        let started = Instant::now();
        let found = proof::search(protocol, Layer::Order, limit, Some(cancel), tell);
        let nothing = matches!(found, Guess::Nothing { .. });
        let late = known.is_none() && nothing && started.elapsed() >= limit;
        let mut orders = orders();
        match known {
            None => orders.push((protocol.clone(), found.clone(), late)),
            Some(at) => orders[at] = (protocol.clone(), found.clone(), late),
        }
        found
    }

    fn cut(&self, protocol: &Protocol, wanted: impl Fn(&Cut) -> bool) -> Option<Cut> {
        let cuts = self.cuts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut cuts = cuts.iter();
        let found = cuts.find(|(known, cut)| wanted(cut) && known == protocol);
        found.map(|(_, cut)| cut.clone())
    }
}
