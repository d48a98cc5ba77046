//! The names of obligations: `000_resident`, `case_0_cut_c1_s2`, `role1_001_supplied_s8`. Each name has three parts.
//! The prefix says to which part of a proof the obligation belongs. Then comes the kind, such as `cut`. The suffix
//! says which class and statement the obligation is about.

/// The kinds of obligations, and what each demands.
const KINDS: &[(&str, &str)] = &[
    (
        "amount",
        "an arrival counts for exactly the share of the barrier's count that the proof gives it",
    ),
    (
        "apart",
        "two accesses to one storage are never ready at the same time",
    ),
    ("awaits", "a wait is for the completion that the proof says"),
    (
        "behind",
        "an arrival comes after the waits of its own member that it has to follow",
    ),
    (
        "closed_form",
        "a variable has the value that the proof gives as a function of the round",
    ),
    (
        "cut",
        "while one member is held at a wait, everybody else stops before the barrier completes once more",
    ),
    ("declared", "what a declaration computes has a value"),
    ("declares", "a barrier expects at least one arrival"),
    (
        "defined",
        "what a statement computes has a value: no division by 0, no index out of range",
    ),
    (
        "descends",
        "whoever a wait is for is held up at a lower rank only",
    ),
    (
        "element",
        "a statement is at an element that exists, and at the one that the proof says",
    ),
    (
        "expected",
        "as many members arrive at a barrier as it expects",
    ),
    ("in_range", "the operands of a statement stay in range"),
    (
        "in_turn",
        "an arrival comes after the generation before its own has completed",
    ),
    (
        "joins",
        "an arrival comes after somebody has passed a wait of the round before",
    ),
    (
        "kept",
        "the facts about a loop hold after an iteration if they held before it",
    ),
    (
        "lapped_by",
        "at each barrier, a member arrives that laps no waiting member",
    ),
    ("laps", "an arrival laps no member that still waits"),
    ("numbered", "turns grow by one with each member that comes"),
    ("operands", "the operands of a statement stay in range"),
    (
        "pairs",
        "who waits for a turn adds later, and who adds has waited",
    ),
    (
        "participants",
        "as many members arrive as the barrier expects",
    ),
    (
        "progress",
        "no combination of places leaves a member blocked and no member able to go on",
    ),
    (
        "rank",
        "whoever a wait is for is held up at lesser ranks only",
    ),
    (
        "resident",
        "there is a place for every CTA that the proof counts on",
    ),
    (
        "settled",
        "a member delivers all the arrivals and bytes that it is counted on for",
    ),
    ("start", "the facts that hold everywhere hold at the start"),
    ("started", "whoever a wait is for has started"),
    ("supplied", "there are additions that a wait is for"),
    ("text_defined", "what the text computes has a value"),
    (
        "waited",
        "an arrival comes after a wait of its own member for the round before",
    ),
];

/// What the obligation with this name demands; `None` if no obligation has such a name.
pub fn text(name: &str) -> Option<String> {
    let kind = kind(name)?;
    let known = KINDS.iter().find(|(known, _)| *known == kind);
    let (kind, demand) = known?;
    Some(format!(
        "{kind}: an obligation of a proof. It demands that {demand}.\n--explain-proof prints with each \
         obligation which statement it is about. `warplock explain obligation` says what obligations are.\n"
    ))
}

/// The kind in the name of an obligation.
fn kind(name: &str) -> Option<&'static str> {
    let parts: Vec<&str> = name.split('_').collect();
    let of_part = |part: &&str| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let numbered = letters.len() < part.len();
        ["own", "shared", "case", "above", "below"].contains(part)
            || numbered && ["", "case", "role"].contains(&letters)
    };
    let rest: Vec<&str> = parts.into_iter().skip_while(of_part).collect();
    let mut kinds = KINDS.iter().map(|(kind, _)| *kind);
    // If the name of one kind is the beginning of another's, the longer name comes later in `KINDS`, and is the one
    // to find. For example, `lapped_by` would come after a kind `lapped`.
    kinds.rfind(|kind| {
        let words: Vec<&str> = kind.split('_').collect();
        rest.starts_with(&words)
    })
}
