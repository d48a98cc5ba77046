//! Operations on integers and predicates. Their meaning is in [`crate::meaning`].

/// How two integers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compare {
    Equal,
    NotEqual,
    Less { signed: bool },
    LessEqual { signed: bool },
    Greater { signed: bool },
    GreaterEqual { signed: bool },
}

/// A pure operation. The `width` of an operation (see [`crate::ir::OperationKind::Compute`]) is the width of its main
/// operands in bits. If the result or further operands have another width, the comment of the operation says so.
/// Operands that are wider are cut. Operands that are narrower are a mistake of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compute {
    /// The operand itself.
    Copy,
    Add,
    Subtract,
    /// The low half of the product.
    Multiply,
    /// The high half of the product of 2 x `width` bits.
    MultiplyHigh {
        signed: bool,
    },
    /// The whole product; the result has 2 x `width` bits.
    MultiplyWide {
        signed: bool,
    },
    /// Division by 0 gives all ones, as hardware and SMT-LIB do for unsigned operands.
    Divide {
        signed: bool,
    },
    /// The remainder by 0 is the dividend. A signed remainder has the sign of the dividend.
    Remainder {
        signed: bool,
    },
    And,
    Or,
    Xor,
    Not,
    Negate,
    Absolute,
    Minimum {
        signed: bool,
    },
    Maximum {
        signed: bool,
    },
    /// The amount is a 32-bit operand; amounts of `width` and more shift everything out.
    ShiftLeft,
    /// As [`Compute::ShiftLeft`]; a signed shift fills with the sign.
    ShiftRight {
        signed: bool,
    },
    /// The result has 1 bit.
    Compare(Compare),
    /// Operands: a predicate of 1 bit, the value if it holds, and the value if it does not.
    Select,
    /// Converts `width` bits to `to` bits: cuts them, or extends them by zeros or the sign.
    Convert {
        to: u16,
        signed: bool,
    },
    /// Operands: value, position, length (32 bits each). The result is the field, extended by zeros or by its top
    /// bit. Position and length are taken modulo 256. Bits beyond `width` read as zero (unsigned) or as the sign.
    ExtractField {
        signed: bool,
    },
    /// Operands: field, base, position, length. The result is `base` in which `field` replaces the bits from
    /// `position` on.
    InsertField,
    /// Selects four bytes out of two 32-bit words, as `prmt.b32` without a mode.
    Permute,
    /// A function of three operands, bit by bit. Its value is bit `4a + 2b + c` of the table.
    Logic3 {
        table: u8,
    },
    /// `shf`. Operands: low, high, amount. The result is the high (left) or low (right) word of the shifted pair.
    /// With `wrap` the amount is taken modulo 32; otherwise it is clamped to 32.
    FunnelShift {
        left: bool,
        wrap: bool,
    },
    /// The number of bits that are set; the result has 32 bits.
    PopulationCount,
    /// How many leading zeros; the result has 32 bits.
    LeadingZeros,
    /// The position of the highest bit that is set (signed: that differs from the sign), or all ones; 32 bits.
    FindHighest {
        signed: bool,
    },
    /// The bits in reverse order.
    Reverse,
    /// Concatenates operands of `width` bits, the least significant one first.
    Concatenate,
    /// The `to` bits from bit `low` on.
    Extract {
        low: u16,
        to: u16,
    },
}
