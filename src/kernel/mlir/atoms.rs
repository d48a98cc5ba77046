//! Copy and matrix atoms of CuTe. The type of an atom determines what its copy or multiplication does.

use super::lower::Lower;
use super::special::ALL_LANES;
use super::syntax::Item;
use super::syntax::Operation;
use super::types::Type;
use super::value::NO_BARRIER;
use super::value::Value;
use super::value::address_width;
use super::value::element_bits;
use super::value::is_executable_copy;
use super::value::parts_of;
use super::value::pointer_space;
use crate::ir::Completion;
use crate::ir::Expected;
use crate::ir::GroupKind;
use crate::ir::Operand;
use crate::ir::OperationKind;
use crate::ir::Space;
use crate::ir::Synchronization;

/// With more copies than this, they become a single copy with an unknown number of bytes.
const MAX_COPIES: u128 = 64;

impl<'a> Lower<'_, 'a> {
    /// Lowers operations that make atoms, or that set the mbarrier and the mask for their copies.
    pub fn atom(&mut self, operation: &Operation<'a>) -> Option<()> {
        let values = self.operand_values(operation);
        match operation.name {
            "cute_nvgpu.atom.make_exec_tma" | "cute.make_atom" | "cute.make_tiled_copy" => {
                let ty = self.result_type(operation, 0)?;
                let mut value = Value::new(ty.clone(), Vec::new());
                if is_executable_copy(&ty.name) {
                    value.parts = vec![NO_BARRIER, Operand::Constant(0)];
                } else if !parts_of(&ty)?.is_empty() {
                    return None;
                }
                value.multicast = values.first().and_then(|source| source.multicast);
                self.define(*operation.results.first()?, value);
                Some(())
            }
            "cute_nvgpu.atom.set_value" => {
                let [atom, given] = values.as_slice() else {
                    return None;
                };
                let mut atom = atom.clone();
                // `set_value<field>(...)`, or `{field = #...<field>}` after the operands.
                let field = operation.items.iter().find_map(|item| match item {
                    Item::Group(group) if group.open == '<' => match group.items.as_slice() {
                        [Item::Word(word)] => Some(*word),
                        _ => None,
                    },
                    _ => None,
                });
                let field = field.or_else(|| match operation.attribute("field")? {
                    [Item::Attribute { body, .. }] => Some(*body),
                    _ => None,
                })?;
                match field {
                    "tma_bar" => {
                        let (address, cluster) = self.mbarrier(given)?;
                        if cluster {
                            return None;
                        }
                        *atom.parts.get_mut(0)? = address;
                    }
                    "mcast_mask" => *atom.parts.get_mut(1)? = *given.parts.first()?,
                    // Other fields are for the matrix unit or the cache.
                    _ => {}
                }
                self.define(*operation.results.first()?, atom);
                Some(())
            }
            _ => None,
        }
    }

    pub fn copy(&mut self, operation: &Operation<'a>) -> Option<()> {
        let values = self.operand_values(operation);
        match operation.name {
            "cute.copy" => {
                let [atom, source, destination, ..] = values.as_slice() else {
                    return None;
                };
                let name = atom_name(&atom.ty)?;
                self.copy_by_atom(operation, name, atom, source, destination)
            }
            "cute.gemm" => {
                let name = atom_name(&values.first()?.ty)?;
                let body = &values.first()?.ty.body;
                if name.starts_with("sm90.mma") {
                    self.build.synchronize(Synchronization::Multiply {
                        matrices: None,
                        at_once: false,
                    });
                } else if name.starts_with("sm100.mma") {
                    self.elected_tensor_work(body.contains("num_cta = 2"));
                } else if name.starts_with("sm120")
                    || name.starts_with("atom.universal_fma")
                    || name.starts_with("warp")
                    || name.starts_with("sm80")
                {
                    self.data_access(operation, name);
                } else {
                    return None;
                }
                Some(())
            }
            _ => None,
        }
    }

    fn copy_by_atom(
        &mut self,
        operation: &Operation<'a>,
        name: &str,
        atom: &Value,
        source: &Value,
        destination: &Value,
    ) -> Option<()> {
        let kind = name.strip_prefix("atom.")?;
        match kind {
            "tma_load" => {
                let completion = self.tma_completion(atom)?;
                let copies = self.bulk_copies(atom, source, destination, completion);
                // The compiler lets one lane of the warp issue the copies.
                let predicate = self.elect(ALL_LANES);
                self.guarded(predicate, |lower| {
                    for copy in copies {
                        lower.build.synchronize(copy);
                    }
                });
            }
            "bulk_copy_g2s" | "bulk_copy_g2s_mcast" => {
                let completion = self.tma_completion(atom)?;
                for copy in self.bulk_copies(atom, source, destination, completion) {
                    self.build.synchronize(copy);
                }
            }
            "tma_store" | "tma_reduce" | "bulk_copy_s2g" | "bulk_reduce_s2g" => {
                let completion = Completion::Group(GroupKind::Bulk);
                for copy in self.bulk_copies(atom, source, destination, completion) {
                    self.build.synchronize(copy);
                }
            }
            "simt_async_copy" => {
                let bits = self.bits(atom, source, destination)?;
                let (address, _) = self.begin(destination);
                self.build.synchronize(Synchronization::Copy {
                    destination: address,
                    bytes: u32::try_from(bits.checked_add(7)? / 8).ok()?,
                });
            }
            "s2t_copy" => {
                self.elected_tensor_work(atom.ty.body.contains("2 cta"));
            }
            "universal_copy" => {
                if self.copy_integers(source, destination).is_none() {
                    self.data_access(operation, name);
                }
            }
            "tmem_load" | "tmem_store" | "ldsm" | "stsm" | "ldmatrix" | "stmatrix" | "r2g"
            | "g2r" => self.data_access(operation, name),
            _ => return None,
        }
        Some(())
    }

    /// The place at which a TMA load completes its bytes.
    fn tma_completion(&mut self, atom: &Value) -> Option<Completion> {
        let [barrier, mask] = atom.parts.as_slice() else {
            return None;
        };
        if *barrier == NO_BARRIER {
            return None;
        }
        let pair = atom.ty.field("num_cta") == Some("2");
        let multicast = if is_multicast(atom) {
            Some(self.build.convert(*mask, 16, 32, false))
        } else {
            None
        };
        // A load of a pair completes at the mbarrier of the pair's first CTA.
        let address = if pair {
            self.leader_address(*barrier)
        } else {
            *barrier
        };
        Some(Completion::Mbarrier {
            address,
            multicast,
            pair,
        })
    }

    /// The copies of a view: one for each piece of as many bits as the atom copies at once.
    fn bulk_copies(
        &mut self,
        atom: &Value,
        source: &Value,
        destination: &Value,
        completion: Completion,
    ) -> Vec<Synchronization> {
        let all = self.bits(atom, source, destination);
        let once = atom
            .ty
            .field("copy_bits")
            .and_then(|bits| bits.parse::<u128>().ok())
            .filter(|bits| *bits > 0)
            .or(all);
        let count = match (all, once) {
            (Some(all), Some(once)) if all.is_multiple_of(once) && all / once <= MAX_COPIES => {
                all / once
            }
            _ => 0,
        };
        let bytes = once
            .filter(|_| count > 0)
            .and_then(|once| share(atom, once));
        let expected = bytes.map_or(Expected::TensorMap, |bytes| {
            Expected::Bytes(Operand::Constant(bytes))
        });
        let (mut to, destination_space) = self.begin(destination);
        let (mut from, source_space) = self.begin(source);
        let mut copies = Vec::new();
        for number in 0..count.max(1) {
            // The beginnings of the other copies depend on the layouts of both sides, which are not followed.
            if number > 0 {
                let widths = [
                    address_width(destination_space),
                    address_width(source_space),
                ];
                let addresses = self.build.opaque("address", Vec::new(), &widths, false);
                (to, from) = (addresses[0], addresses[1]);
            }
            copies.push(Synchronization::BulkCopy {
                destination: to,
                destination_space,
                source: from,
                source_space,
                bytes: expected,
                completion,
            });
        }
        copies
    }

    /// The beginning of a view. A coordinate of a tensor map is not an address.
    fn begin(&mut self, view: &Value) -> (Operand, Space) {
        if view.ty.name == "cute.memref"
            && let Some(address) = view.parts.first()
        {
            return (*address, pointer_space(&view.ty));
        }
        let parts = self.build.opaque("tensor map", Vec::new(), &[64], false);
        (parts[0], Space::Global)
    }

    /// The size of a view in bits.
    fn bits(&self, atom: &Value, source: &Value, destination: &Value) -> Option<u128> {
        // A tiled copy has its element in the views.
        let bits = element_bits(&atom.ty).or_else(|| element_bits(&destination.ty))?;
        let elements = match (
            source.as_layout().and_then(|layout| layout.size()),
            destination.as_layout().and_then(|layout| layout.size()),
        ) {
            (Some(a), Some(b)) if a == b => a,
            (Some(a), None) => a,
            (None, Some(b)) => b,
            _ => return None,
        };
        u128::try_from(elements).ok()?.checked_mul(u128::from(bits))
    }

    /// Lowers reads or writes of data whose addresses are not followed.
    pub fn data_access(&mut self, operation: &Operation<'a>, atom: &str) {
        let mnemonic = format!("{} {atom}", operation.name);
        self.build.push(OperationKind::Opaque {
            mnemonic,
            results: Vec::new(),
            operands: Vec::new(),
            pure: false,
            write: None,
            rows: None,
        });
    }
}

/// How many bytes of one copy arrive in one CTA. CTAs that share a box divide it.
fn share(atom: &Value, bits: u128) -> Option<u128> {
    let shares = if is_multicast(atom) {
        u128::from(atom.multicast?)
    } else {
        1
    };
    let unit = shares.checked_mul(8).filter(|unit| *unit > 0)?;
    bits.is_multiple_of(unit).then(|| bits / unit)
}

fn is_multicast(atom: &Value) -> bool {
    atom.ty.field("mcast") == Some("true") || atom.ty.name.ends_with("_mcast")
}

/// The name of an atom, given the type of the atom, of a tiled copy or of a tiled multiplication.
fn atom_name(ty: &Type) -> Option<&str> {
    if let Some(name) = ty.name.strip_prefix("cute_nvgpu.") {
        return Some(name);
    }
    if !ty.name.starts_with("cute.tiled_") {
        return None;
    }
    let rest = ty.body.strip_prefix("!cute_nvgpu.")?;
    let end = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
        .unwrap_or(rest.len());
    Some(&rest[..end])
}
