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

/// A pure operation. `width` of the operation (see [`crate::ir::OperationKind::Compute`]) is that of
/// its main operands in bits; where result or further operands have another width, it is said here.
/// Operands that are wider than asked for are cut, narrower ones are an error of the reader.
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
    /// Operands: a predicate of 1 bit, then the value where it holds, then the other one.
    Select,
    /// From `width` bits to `to` bits: cut, or extended by zeros or the sign.
    Convert {
        to: u16,
        signed: bool,
    },
    /// Operands: value, position, length (32 bits each); the field, extended by zeros or by its top bit.
    /// Position and length are taken modulo 256; bits beyond `width` read as zero (unsigned) or sign.
    ExtractField {
        signed: bool,
    },
    /// Operands: field, base, position, length: `base` with `field` put over bits from `position` on.
    InsertField,
    /// Four bytes picked of two 32-bit words by a selector, as `prmt.b32` without a mode.
    Permute,
    /// A function of three operands bit by bit; bit `4a + 2b + c` of the table is its value.
    Logic3 {
        table: u8,
    },
    /// `shf`: operands low, high, amount; the high (left) or low (right) word of the shifted pair.
    /// `wrap` takes the amount modulo 32, otherwise it is clamped to 32.
    FunnelShift {
        left: bool,
        wrap: bool,
    },
    /// How many bits are set; the result has 32 bits.
    PopulationCount,
    /// How many leading zeros; the result has 32 bits.
    LeadingZeros,
    /// The position of the highest bit that is set (that differs from the sign), or all ones; 32 bits.
    FindHighest {
        signed: bool,
    },
    /// The bits in reverse order.
    Reverse,
    /// Operands of `width` bits, the least significant first, put together.
    Concatenate,
    /// The bits from `low` on, `to` of them.
    Extract {
        low: u16,
        to: u16,
    },
}
