//! The technical terms in the program's output, each with its meaning.

use warplock::protocol::Property;
use warplock::text::reference;

use super::obligations;

/// Terms and their explanations. The terms of a group share an explanation and are listed together.
const WORDS: &[(&[&str], &str)] = &[
    (
        &["proved"],
        "\
PROVED: the property holds for every parameter value of the declared domain, every pattern, row
order and schedule, under the assumptions listed. The proof was written down as a certificate, and
a checker that does not trust the search accepted it. --explain-proof prints the argument.
",
    ),
    (
        &["refuted", "counterexample"],
        "\
REFUTED: there is a counterexample at concrete values, and the reference interpreter has replayed
it. The first line says why it happens. The rest says where, who waits for whom, and how the run
went. --witness DIR writes it to a file; `warplock replay` runs it again.
",
    ),
    (
        &["bounded"],
        "\
BOUNDED: no proof was found, and no violation either in the part of the domain that is named. That
part was searched exhaustively; nothing is known of the rest. More time, fixed parameters (--set
P=V) or an assumption that relates them (--assume EXPR) may turn it into a proof.
",
    ),
    (
        &["unknown"],
        "\
UNKNOWN: neither a proof nor a violation, for the reason given: a time limit, a construct that is
not handled, or a run that does something undefined before anything hangs.
",
    ),
    (
        &["obligation", "obligations"],
        "\
An obligation is one formula that has to hold for every parameter value. A proof rule says which
obligations a protocol has. If all of them hold, so does the property. --explain-proof lists them,
and `warplock certify` has each discharged again.
",
    ),
    (
        &["order-rule"],
        "\
Every wait has a rank, which is greater than the ranks of the arrivals that it waits for. Suppose that
nobody can go on, and take the wait with the smallest rank. The member that should arrive there would
have to be stuck at a smaller rank: a contradiction. docs/soundness.md has the complete argument.
",
    ),
    (
        &["separation-rule"],
        "\
Each CTA has barriers of its own, and one member of it takes turns with other CTAs. That member with
the shared objects, and the CTA without them, are proved one by one, each by one of the other rules.
docs/soundness.md says why that is enough.
",
    ),
    (
        &["case-rule"],
        "\
A parameter splits the domain in two, for example K = 0 and K >= 1. Each part is proved by itself, by
another rule. Every value is in one of the two, so together they prove the whole.
",
    ),
    (
        &["member", "members"],
        "\
A member is one instance of a role: role `consumer[w in 0..3]` has the members consumer[0],
consumer[1] and consumer[2]. `consumer[0..3]` names all three. In a protocol that was recovered from
a kernel, a member is a warp or a CTA.
",
    ),
    (
        &["class", "classes"],
        "\
A class is all members that run the same statements. Proof rules reason about one member of each
class and count the others. `warplock check --explain-proof` names the classes of a proof.
",
    ),
    (
        &["lane", "lanes"],
        "\
In a proof, a lane is a sequence of barrier elements that are used in turn, such as `full[k % S]`: full[0],
full[1], ..., full[S - 1], full[0], ... A barrier by itself is a lane of one. Each member counts its
arrivals and its waits at a lane. In a kernel, a lane is one thread of a warp.
",
    ),
    (
        &["cut", "cuts"],
        "\
A cut holds one member at a wait and names the places at which everybody else is stopped then. It shows
that no barrier completes once more while a member still stands before its wait there. --explain-proof
prints the cuts of a proof; docs/soundness.md has the complete argument.
",
    ),
    (
        &["certificate"],
        "\
A certificate is a folder with the argument of a proof and its obligations. `warplock certify`
checks it against the protocol's text without the prover.
",
    ),
    (
        &["witness"],
        "\
A witness is a file with the input and the schedule of a counterexample. `warplock replay` runs it
with the reference interpreter.
",
    ),
    (
        &["missing"],
        "\
Fewer arrivals, additions or releases come than are waited for, and nobody is left who could bring
more. The sentence names who was counted on and what keeps it away: an `if` that does not hold for
it, a loop that makes no trip, or that it came so often and has ended. Either the barrier's count is
wrong, or that member has to come.
",
    ),
    (
        &["lapped"],
        "\
A wait by parity passes while the phase bit differs from the parity. The barrier completed the phase
that is waited for and the next one before the waiter looked, so the bit is the old one again. Whoever
completed them has to wait for the waiter first, by an `empty` barrier that counts it, for example.
",
    ),
    (
        &["bytes-missing"],
        "\
All arrivals of a phase came, but it expects more bytes (expect_tx) than are delivered, so it never
completes. Compare the byte count of the expectation with those of the copies, out of bounds included.
",
    ),
    (
        &["bytes-surplus"],
        "\
More bytes were delivered than expected. What is too much counts in the next phase, which then starts
below zero and never completes. Compare the byte count of the expectation with those of the copies.
",
    ),
    (
        &["overtaken"],
        "\
A semaphore only grows, and it went past the exact value that is waited for: somebody added out of
turn, or it did not start at zero.
",
    ),
    (
        &["no-place"],
        "\
Who is waited for has not started, and cannot: at most R CTAs are resident, and those that wait hold
every place until they finish. Launch in the order of the turns, or require that the grid fits.
",
    ),
    (
        &["circular"],
        "\
Members wait for each other, each for something that another does only after its own wait. One of
the waits has to come later, or has to pass at first: a producer's first wait for an empty stage is
for parity 1, the phase before the first.
",
    ),
    (
        &["parity", "phase"],
        "\
An mbarrier counts phases from 0, and its phase bit is the number of the open one modulo 2. A wait for
parity p blocks while the bit is p: with 0, until the first phase completes; with 1, not at all until
then.
",
    ),
    (
        &["minimal", "smallest"],
        "\
The input of a counterexample is the smallest in the order of --minimize. The line says among which
inputs, and which of the smaller ones were explored exhaustively.
",
    ),
    (
        &["assumptions", "assumption"],
        "\
What a verdict rests on: the declared domains, `assume` lines and --assume, and what is taken for
granted of the machine. A proof holds only where all of them do.
",
    ),
    (
        &["never"],
        "\
`(never)` marks an operation that does not happen any more in the state in which the run ends.
",
    ),
    (
        &["adversarial-schedules", "schedules", "runs-with-somebody-held"],
        "\
The protocol was run at small parameter values, with schedules that are meant to do harm: one member
is held back as long as anybody else can go on, or one runs ahead as far as it can. A run that ended badly
was then made smaller. Every schedule is covered only where the line `minimal` says explored exhaustively.
",
    ),
    (
        &["a-suspicion-of-the-proof-search"],
        "\
The search for a proof failed at certain parameter values. The protocol was run there, and a run hangs.
",
    ),
    (
        &["hint", "note", "notes"],
        "\
A hint says what to try next: an option, another bound, a change of the text. Notes say what else is known, such as what the
lints find or which rules were tried.
",
    ),
    (
        &["wait-for-graph", "circle"],
        "\
An arrow goes from each member that waits to those who would let it go on. `*` marks members that wait for each other in a
circle. `warplock check --chart` prints it under the run.
",
    ),
    (
        &["decided-by", "engine"],
        "\
What led to the verdict: a search for counterexamples, or what checked the proof. `warplock explain` lists the names.
",
    ),
    (
        &["explicit-search", "exhaustive-search"],
        "\
Every state that some schedule reaches was visited, at each of the parameter values that are named. If
these are all values of the domain, that is a proof, and `warplock certify` runs the search again.
",
    ),
    (
        &["event-encoding", "restricted-event-encoding", "bounded-search"],
        "\
One formula describes all runs within a limit: so many values per index, entries per row and rounds per
loop. Z3 looks for a run that ends in a state in which nobody can go on. What it finds is replayed. If there
is none, the verdict is BOUNDED, decided by `bounded search`. `restricted` says that only patterns of one kind were
looked at, such as causal masks.
",
    ),
    (
        &["counter-system", "accelerated-search-of-the-counter-system"],
        "\
The members of a class are counted instead of followed one by one: so many stand at this statement, so many at
that. In an accelerated search one step moves several members that do the same. The run that is shown has been
replayed step by step.
",
    ),
    (
        &["credit-rule"],
        "\
Members only add to counters and wait until one has at least some value, so nothing takes back what somebody waits
for. A wait needs certain additions. Every wait that a member must pass before it makes such an addition has a smaller
rank. So the waits cannot form a cycle. docs/soundness.md has the complete argument.
",
    ),
    (
        &["arriver-rule"],
        "\
Members take numbers with fetch_add, and the one that gets the last number does what remains. Exactly one
member does, and all others have arrived before it. docs/soundness.md has the complete argument.
",
    ),
    (
        &["element", "elements"],
        "\
An element is one object of a family: of `mbarrier full[4]` the elements are full[0] to full[3]. The table
shows those that somebody waits for: their start, what they are now, who waits for what, and who changes them.
",
    ),
    (
        &["pending"],
        "\
How many arrivals the open phase of a barrier still lacks. `phase 1, 2 pending` is phase 1 with two arrivals
missing. A phase also lacks bytes where more are expected than have been delivered.
",
    ),
    (
        &["generation"],
        "\
The time from one completion of a barrier to the next. Of an mbarrier it is called a phase.
",
    ),
    (
        &["registered", "registration"],
        "\
A warp is registered at a named barrier from the time at which it comes there until the barrier completes. Each
registration counts 32 threads, also a second one of the same warp.
",
    ),
    (
        &["blocked"],
        "\
Members whose next statement is a wait that does not pass in the state in which the run ends, with what they find.
",
    ),
    (
        &["never-started", "not-started", "resident-slot"],
        "\
At most R CTAs are resident, which means started and not finished. Each takes a slot until it finishes. A CTA that has
not started waits for a slot, or for its turn in the launch order. See `warplock explain residency`.
",
    ),
    (
        &["waited-for", "changed-by", "completes"],
        "\
Columns of the table of elements: who waits there for what, who arrives or adds there, and whether the current phase or
the awaited value is still reached. `(never)` marks what does not happen any more.
",
    ),
    (
        &["names"],
        "\
What names of a recovered protocol stand for: param_2 is the third parameter of the kernel, and
param_3_over_64 is the number of times that 64 goes into the fourth.
",
    ),
    (
        &["trace"],
        "\
The end of the run that leads to the failure, one line for each step, or for several members that do the same one after the
other. -v prints all of it.
",
    ),
    (
        &["lint", "lints"],
        "\
Checks for common mistakes that need no proof: `warplock lint KERNEL`. Each has a name, such as arrival-count, and the section of
the PTX ISA that it rests on: `warplock explain arrival-count`. Findings are also said with REFUTED and UNKNOWN.
",
    ),
    (
        &["hangs-iff", "hangs-only-if", "outside", "inside"],
        "\
Words of `warplock condition`. F is a formula over the parameters. Where F is false (outside), freedom from deadlock is
proved. Where F is true (inside), a run hangs at every value that was tried; other values inside were not checked.
`hangs only if F` says that some values inside were tried and could not be decided.
",
    ),
    (
        &[
            "reached",
            "excluded",
            "not-found",
            "search-for-the-state-that-was-seen",
        ],
        "\
Answers of `warplock hang`. REACHED: a run ends in the state that was seen, and it has been replayed. EXCLUDED: no run does,
by a proof or by searching everything. NOT FOUND: none was found up to the bound that is printed.
",
    ),
    (
        &["hand-off", "worksheet"],
        "\
A hand-off is a pair of an arrival and a wait by which one role gives storage to another. `warplock worksheet` lists them, with
arrival counts, phases and fences.
",
    ),
    (
        &["row-order"],
        "\
The order in which a member goes through the entries of its row of a pattern, where the protocol says `any order`. A verdict
for every row order holds whatever the kernel does there.
",
    ),
    (
        &["trusted-kernel", "kernel", "checked-by"],
        "\
`checked by` says which code accepted the proof. `kernel` is the trusted kernel, the smallest checker (src/trusted).
`rule NAME` is one of the rules of the certificate checker. docs/soundness.md has both.
",
    ),
];

/// The explanation of a word. Upper case, spaces and underscores make no difference.
pub fn text(word: &str) -> Option<String> {
    let word = normal(word);
    if let Some(property) = Property::ALL.iter().find(|p| normal(p.name()) == word) {
        let description = property.description();
        return Some(format!("{}: {description}\n", property.name()));
    }
    if let Some(rule) = warplock::ptx::rule(&word) {
        let (id, text, section) = (rule.id, rule.text, rule.section);
        return Some(format!(
            "{id}: a lint of kernels.\n{text}\nPTX ISA: {section}.\n"
        ));
    }
    if let Some(rule) = warplock::lint::rule(&word) {
        let (id, text, section) = (rule.id, rule.text, rule.section);
        return Some(format!(
            "{id}: a lint of protocols.\n{text}\nPTX ISA: {section}.\n"
        ));
    }
    let found = WORDS
        .iter()
        .find(|(words, _)| words.contains(&word.as_str()));
    found
        .map(|(_, text)| (*text).to_owned())
        .or_else(|| of_language(&word.replace('-', "_")))
        .or_else(|| obligations::text(&word.replace('-', "_")))
}

/// The text about a word in the reference of the protocol language.
fn of_language(word: &str) -> Option<String> {
    let entries = reference::describe(word).into_iter();
    let text: String = entries
        .map(|entry| match entry.form.as_str() {
            "" => format!("{}\n", entry.meaning),
            form => format!("{form}\n    {}\n", entry.meaning),
        })
        .collect();
    (!text.is_empty()).then_some(text)
}

/// A word in lower case, with hyphens in place of spaces and underscores.
pub fn normal(word: &str) -> String {
    word.to_lowercase().replace(['_', ' '], "-")
}

/// Every word that has an explanation here.
pub fn all() -> impl Iterator<Item = &'static str> {
    let words = WORDS.iter().flat_map(|(words, _)| words.iter().copied());
    let words = words.chain(Property::ALL.iter().map(|property| property.name()));
    let words = words.chain(warplock::ptx::RULES.iter().map(|rule| rule.id));
    words.chain(warplock::lint::RULES.iter().map(|rule| rule.id))
}
