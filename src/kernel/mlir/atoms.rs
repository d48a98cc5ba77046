//! Copy and matrix atoms of CuTe: what a copy or multiplication does is in the type of its atom.

use super::lower::Lower;
use super::special::ALL_LANES;
use super::syntax::Item;
use super::syntax::Operation;
use super::types::Type;
use super::value::NO_BARRIER;
use super::value::Value;
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

impl<'a> Lower<'_, 'a> {
    /// Atoms are made, and given the mbarrier and the mask that copies use.
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
                // `set_value<field>(...)`, or `{field = #...<field>}` behind the operands.
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
                    // What the matrix unit or the cache is told.
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
                    self.build.synchronize(Synchronization::Multiply);
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
        let expected = match self.bytes(atom, source, destination) {
            Some(bytes) => Expected::Bytes(Operand::Constant(bytes)),
            None => Expected::TensorMap,
        };
        match kind {
            "tma_load" => {
                let completion = self.tma_completion(atom)?;
                let copy = self.bulk_copy(source, destination, expected, completion);
                // The compiler lets one lane of the warp issue the copy.
                let predicate = self.elect(ALL_LANES);
                self.guarded(predicate, |lower| lower.build.synchronize(copy));
            }
            "bulk_copy_g2s" | "bulk_copy_g2s_mcast" => {
                let completion = self.tma_completion(atom)?;
                let copy = self.bulk_copy(source, destination, expected, completion);
                self.build.synchronize(copy);
            }
            "tma_store" | "tma_reduce" | "bulk_copy_s2g" | "bulk_reduce_s2g" => {
                let completion = Completion::Group(GroupKind::Bulk);
                let copy = self.bulk_copy(source, destination, expected, completion);
                self.build.synchronize(copy);
            }
            "simt_async_copy" => {
                let Expected::Bytes(Operand::Constant(bytes)) = expected else {
                    return None;
                };
                let (address, _) = self.begin(destination);
                self.build.synchronize(Synchronization::Copy {
                    destination: address,
                    bytes: u32::try_from(bytes).ok()?,
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

    /// Where a TMA load completes its bytes.
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

    fn bulk_copy(
        &mut self,
        source: &Value,
        destination: &Value,
        bytes: Expected,
        completion: Completion,
    ) -> Synchronization {
        let (destination, destination_space) = self.begin(destination);
        let (source, source_space) = self.begin(source);
        Synchronization::BulkCopy {
            destination,
            destination_space,
            source,
            source_space,
            bytes,
            completion,
        }
    }

    /// Where a view begins; a coordinate of a tensor map is no address.
    fn begin(&mut self, view: &Value) -> (Operand, Space) {
        if view.ty.name == "cute.memref"
            && let Some(address) = view.parts.first()
        {
            return (*address, pointer_space(&view.ty));
        }
        let parts = self.build.opaque("tensor map", Vec::new(), &[64], false);
        (parts[0], Space::Global)
    }

    /// The bytes that arrive in one CTA: those of the whole view, divided among the CTAs that
    /// share them.
    fn bytes(&self, atom: &Value, source: &Value, destination: &Value) -> Option<u128> {
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
        let all = u128::try_from(elements)
            .ok()?
            .checked_mul(u128::from(bits))?;
        let shares = if is_multicast(atom) {
            u128::from(atom.multicast?)
        } else {
            1
        };
        let unit = shares.checked_mul(8).filter(|unit| *unit > 0)?;
        (all % unit == 0).then(|| all / unit)
    }

    /// Reads or writes of data, whose addresses are not followed.
    pub fn data_access(&mut self, operation: &Operation<'a>, atom: &str) {
        let mnemonic = format!("{} {atom}", operation.name);
        self.build.push(OperationKind::Opaque {
            mnemonic,
            results: Vec::new(),
            operands: Vec::new(),
            pure: false,
        });
    }
}

fn is_multicast(atom: &Value) -> bool {
    atom.ty.field("mcast") == Some("true") || atom.ty.name.ends_with("_mcast")
}

/// The name of the atom of an atom, of a tiled copy or of a tiled multiplication.
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
