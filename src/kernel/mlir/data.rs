//! Operations that are known not to synchronize, and that are not modelled.

use super::syntax::Item;
use super::syntax::Operation;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The results depend only on the operands.
    Pure,
    /// The results may differ for equal operands.
    Data,
    /// The operation reads or writes memory that is used for data only.
    Memory,
}

/// The kind of an operation that is not modelled; `None` if it may synchronize.
pub fn kind(name: &str) -> Option<Kind> {
    let (dialect, rest) = name.split_once('.')?;
    match dialect {
        // No operation of these dialects touches memory or other threads.
        "arith" | "math" | "ub" | "complex" => Some(Kind::Pure),
        "vector" => match rest {
            "load" | "store" | "transfer_read" | "transfer_write" | "gather" | "scatter" => {
                Some(Kind::Memory)
            }
            "print" => Some(Kind::Data),
            _ => Some(Kind::Pure),
        },
        "cute" => cute(rest),
        "cute_nvgpu" => cute_nvgpu(rest),
        "nvvm" => nvvm(rest),
        "llvm" => llvm(rest),
        // Marks for the tracing of CuTe DSL. In a kernel that is not traced, they have no effect. Otherwise they
        // write the time to a buffer.
        "iket" => match rest {
            "mark" | "range_push" | "range_pop" | "range_start" | "range_end"
            | "sentinel_token" => Some(Kind::Data),
            _ => None,
        },
        "cf" if rest == "assert" => Some(Kind::Data),
        "gpu" if rest == "printf" => Some(Kind::Data),
        "builtin" if rest == "unrealized_conversion_cast" => Some(Kind::Data),
        _ => None,
    }
}

fn cute(name: &str) -> Option<Kind> {
    Some(match name {
        "append_to_rank"
        | "ceil_div"
        | "coalesce"
        | "composed_get_inner"
        | "composed_get_offset"
        | "composed_get_outer"
        | "composition"
        | "complement"
        | "cosize"
        | "crd2idx"
        | "depth"
        | "deref_arith_tuple_iter"
        | "dice"
        | "elem_less"
        | "equal"
        | "filter"
        | "filter_zeros"
        | "flat_divide"
        | "get"
        | "get_flat_coord"
        | "get_hier_coord"
        | "get_layout"
        | "get_leaves"
        | "get_scalars"
        | "get_shape"
        | "get_stride"
        | "group_modes"
        | "idx2crd"
        | "increment_coord"
        | "is_static"
        | "left_inverse"
        | "local_tile"
        | "logical_divide"
        | "logical_product"
        | "make_coord"
        | "make_composed_layout"
        | "make_identity_layout"
        | "make_identity_tensor"
        | "make_int_tuple"
        | "make_layout"
        | "make_layout_like"
        | "make_ordered_layout"
        | "make_shape"
        | "make_stride"
        | "make_swizzle"
        | "make_tile"
        | "make_tiled_copy"
        | "make_tiled_mma"
        | "make_view"
        | "max_common_layout"
        | "max_common_vector"
        | "prepend_to_rank"
        | "raked_product"
        | "blocked_product"
        | "flat_product"
        | "zipped_product"
        | "tiled_product"
        | "rank"
        | "recast_layout"
        | "right_inverse"
        | "select"
        | "shape_div"
        | "shape_equiv"
        | "size"
        | "slice"
        | "static"
        | "tile_to_shape"
        | "tiled_divide"
        | "to_int_tuple"
        | "tuple.product"
        | "tuple.product_each"
        | "tuple_add"
        | "tuple_div"
        | "tuple_mod"
        | "tuple_mul"
        | "tuple_sub"
        | "zipped_divide"
        | "zip"
        | "flatten"
        | "unflatten"
        | "make_atom"
        | "get_atom"
        | "assume"
        | "make_arith_tuple_iter"
        | "domain_offset"
        | "round_up"
        | "apply_swizzle" => Kind::Pure,
        name if name.starts_with("tiled.") || name.starts_with("mma.") => Kind::Data,
        "add_offset" | "get_iter" | "recast_iter" | "derefine" | "ptr_diff" | "print"
        | "print_view" | "prefetch" | "memref.alloca" => Kind::Data,
        "memref.load" | "memref.store" | "memref.load_vec" | "memref.store_vec" | "ptr.load"
        | "memref.fill" | "fill" => Kind::Memory,
        _ => return None,
    })
}

fn cute_nvgpu(name: &str) -> Option<Kind> {
    Some(match name {
        "prefetch_tma_desc"
        | "atom.make_tmem_copy"
        | "atom.make_s2t_copy"
        | "atom.get_copy_s2t_smem_desc_view"
        | "atom.tma_partition"
        | "atom.make_umma_smem_desc"
        | "atom.get_value"
        | "make_umma_smem_desc"
        | "make_gmma_smem_desc"
        | "make_sm90_smem_desc"
        | "make_sm100_smem_desc"
        | "atom.make_tiled_tma_desc"
        | "get_tma_desc_addr"
        | "smem_desc_to_i64"
        | "atom.retile" => Kind::Data,
        _ => return None,
    })
}

fn nvvm(name: &str) -> Option<Kind> {
    const FLOATING: [&str; 14] = [
        "add.packed",
        "sub.packed",
        "mul.packed",
        "fma.packed",
        "fmax",
        "fmin",
        "rcp.",
        "ex2",
        "sqrt",
        "rsqrt",
        "cvt",
        "lg2",
        "tanh",
        "convert.",
    ];
    if FLOATING.iter().any(|prefix| name.starts_with(prefix)) {
        return Some(Kind::Pure);
    }
    Some(match name {
        "clusterlaunchcontrol.query.cancel" | "prmt" | "dot.accumulate.4way" => Kind::Pure,
        "prefetch" | "prefetch.tensormap" | "breakpoint" => Kind::Data,
        "ldmatrix" | "stmatrix" | "tcgen05.ld" | "tcgen05.st" | "mma.sync" | "load.ext"
        | "store.ext" => Kind::Memory,
        _ => return None,
    })
}

fn llvm(name: &str) -> Option<Kind> {
    Some(match name {
        "fadd" | "fsub" | "fmul" | "fdiv" | "frem" | "fneg" | "fcmp" | "fptosi" | "fptoui"
        | "sitofp" | "uitofp" | "fpext" | "fptrunc" | "extractvalue" | "insertvalue"
        | "extractelement" | "insertelement" | "shufflevector" | "mlir.undef" | "mlir.poison"
        | "mlir.zero" | "mlir.constant" | "bitcast" | "icmp" | "select" | "getelementptr"
        | "inttoptr" | "ptrtoint" | "addrspacecast" | "freeze" => Kind::Pure,
        "alloca" | "mlir.addressof" | "intr.assume" | "assume" => Kind::Data,
        name if name.starts_with("intr.") => match &name["intr.".len()..] {
            "ctpop" | "ctlz" | "cttz" | "abs" | "smax" | "smin" | "umax" | "umin" | "bswap"
            | "bitreverse" | "fshl" | "fshr" | "fma" | "maxnum" | "minnum" | "maximum"
            | "minimum" | "exp2" | "log2" | "sqrt" | "fabs" => Kind::Pure,
            "lifetime.start" | "lifetime.end" | "expect" => Kind::Data,
            _ => return None,
        },
        "load" | "store" => Kind::Memory,
        _ => return None,
    })
}

/// Everything about an operation except its operands. Operations with equal signatures are the same function.
pub fn signature(operation: &Operation<'_>) -> String {
    let mut text = operation.name.to_owned();
    write_items(&operation.items, &mut text);
    text
}

fn write_items(items: &[Item<'_>], text: &mut String) {
    for item in items {
        match item {
            Item::Value(_) => text.push_str(" %"),
            Item::Word(word)
            | Item::Number(word)
            | Item::Text(word)
            | Item::Symbol(word)
            | Item::Label(word)
            | Item::Mark(word) => {
                text.push(' ');
                text.push_str(word);
            }
            Item::Type(ty) => {
                text.push_str(" !");
                text.push_str(&ty.name);
                if !ty.body.is_empty() {
                    text.push('<');
                    text.push_str(&ty.body);
                    text.push('>');
                }
            }
            Item::Attribute { name, body } => {
                text.push_str(" #");
                text.push_str(name);
                text.push_str(body);
            }
            Item::Group(group) => {
                text.push(group.open);
                write_items(&group.items, text);
            }
            Item::Region(_) | Item::Location(_) => {}
        }
    }
}
