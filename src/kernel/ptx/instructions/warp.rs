//! Warp-level instructions.

use crate::ir;
use crate::ir::OperationKind;
use crate::ir::ShuffleMode;
use crate::ir::Synchronization;
use crate::ir::VoteMode;

use super::Lower;
use super::width;
use crate::ptx::form::Matched;
use crate::ptx::lower::Lowered;
use crate::ptx::lower::Lowering;
use crate::ptx::resolved::Operand;

pub const FORMS: &[(&str, Lower)] = &[
    (
        "shfl.sync.mode.b32 d{|p}, a, b, c, membermask; .mode = .up .down .bfly .idx",
        shuffle,
    ),
    (
        "shfl.mode.b32 d{|p}, a, b, c; .mode = .up .down .bfly .idx",
        shuffle,
    ),
    (
        "vote.sync.mode.pred d, a, membermask; .mode = .all .any .uni",
        vote,
    ),
    ("vote.sync.mode.b32 d, a, membermask; .mode = .ballot", vote),
    ("vote.mode.pred d, a; .mode = .all .any .uni", vote),
    ("vote.mode.b32 d, a; .mode = .ballot", vote),
    (
        "match.any.sync.type d, a, membermask; .type = .b32 .b64",
        agree,
    ),
    (
        "match.all.sync.type d{|p}, a, membermask; .type = .b32 .b64",
        agree,
    ),
    (
        "redux.sync.op.type dst, src, membermask; .op = .add .min .max; .type = .u32 .s32",
        reduce,
    ),
    (
        "redux.sync.op.b32 dst, src, membermask; .op = .and .or .xor",
        reduce,
    ),
    (
        "redux.sync.op{.abs}{.NaN}.f32 dst, src, membermask; .op = .min .max",
        reduce,
    ),
    ("activemask.b32 d", active),
    ("elect.sync d|p, membermask", elect),
];

/// The mask of lanes. For a form without one, the lanes that execute the instruction together.
fn mask<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered<ir::Operand> {
    if let Some(mask) = m.optional("membermask") {
        return l.value(mask, 32);
    }
    let result = l.fresh(32);
    l.synchronize(Synchronization::ActiveMask { result });
    Ok(ir::Operand::Register(result))
}

/// A second result, if it is given and not `_`.
fn second<'a>(
    l: &mut Lowering<'_, 'a>,
    operand: Option<&Operand<'a>>,
    width: u16,
) -> Lowered<Option<ir::RegisterId>> {
    match operand {
        None | Some(Operand::Sink) => Ok(None),
        Some(operand) => Ok(Some(l.exact(operand, width)?)),
    }
}

fn shuffle<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let mode = match m.class("mode") {
        Some("up") => ShuffleMode::Up,
        Some("down") => ShuffleMode::Down,
        Some("bfly") => ShuffleMode::Butterfly,
        _ => ShuffleMode::Index,
    };
    let value = l.value(m.operand("a")?, 32)?;
    let lane = l.value(m.operand("b")?, 32)?;
    let clamp = l.value(m.operand("c")?, 32)?;
    let mask = mask(l, m)?;
    let result = l.exact(m.operand("d")?, 32)?;
    let valid = second(l, m.optional("p"), 1)?;
    l.synchronize(Synchronization::Shuffle {
        mode,
        result,
        valid,
        value,
        lane,
        clamp,
        mask,
    });
    Ok(())
}

fn vote<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let (mode, width) = match m.class("mode") {
        Some("all") => (VoteMode::All, 1),
        Some("any") => (VoteMode::Any, 1),
        Some("uni") => (VoteMode::Uniform, 1),
        _ => (VoteMode::Ballot, 32),
    };
    let predicate = l.value(m.operand("a")?, 1)?;
    let mask = mask(l, m)?;
    let result = l.exact(m.operand("d")?, width)?;
    l.synchronize(Synchronization::Vote {
        mode,
        result,
        predicate,
        mask,
    });
    Ok(())
}

fn agree<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let width = width(m.class("type"))?;
    let value = l.value(m.operand("a")?, width)?;
    let mask = mask(l, m)?;
    let result = l.exact(m.operand("d")?, 32)?;
    let predicate = second(l, m.optional("p"), 1)?;
    l.synchronize(Synchronization::Match {
        all: m.has("all"),
        result,
        predicate,
        value,
        mask,
    });
    Ok(())
}

fn reduce<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let operation = match (m.class("op"), m.class("type")) {
        (Some("add"), Some("u32")) => "add.u32",
        (Some("add"), Some("s32")) => "add.s32",
        (Some("min"), Some("u32")) => "min.u32",
        (Some("min"), Some("s32")) => "min.s32",
        (Some("max"), Some("u32")) => "max.u32",
        (Some("max"), Some("s32")) => "max.s32",
        (Some("and"), _) => "and.b32",
        (Some("or"), _) => "or.b32",
        (Some("xor"), _) => "xor.b32",
        (Some("min"), _) => "min.f32",
        _ => "max.f32",
    };
    let value = l.value(m.operand("src")?, 32)?;
    let mask = mask(l, m)?;
    let result = l.exact(m.operand("dst")?, 32)?;
    l.synchronize(Synchronization::Reduce {
        operation,
        result,
        value,
        mask,
    });
    Ok(())
}

fn active<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let result = l.exact(m.operand("d")?, 32)?;
    l.emit(OperationKind::Synchronization(
        Synchronization::ActiveMask { result },
    ));
    Ok(())
}

fn elect<'a>(l: &mut Lowering<'_, 'a>, m: &Matched<'_, 'a>) -> Lowered {
    let mask = mask(l, m)?;
    let leader = second(l, m.optional("d"), 32)?;
    let elected = second(l, m.optional("p"), 1)?;
    l.synchronize(Synchronization::Elect {
        leader,
        elected,
        mask,
    });
    Ok(())
}
