/// <reference types="tree-sitter-cli/dsl" />
// The grammar of docs/language.md. It takes a little more than the parser in src/text does: for example, any name
// behind a dot. Line ends mean nothing, so a value that may be left out is told from the next statement by what follows.

const LEVEL = { or: 1, and: 2, compare: 3, xor: 4, sum: 5, product: 6, prefix: 7 };

const list = (rule) => seq(rule, repeat(seq(',', rule)));

module.exports = grammar({
  name: 'wlk',
  word: ($) => $.identifier,
  extras: ($) => [/\s/, $.comment],
  conflicts: ($) => [[$.wait], [$.arrive], [$.sync], [$.wait_group]],

  rules: {
    file: ($) => seq($.header, repeat($._item)),
    header: ($) => seq('protocol', field('name', $.identifier)),

    _item: ($) =>
      choice(
        $.param,
        $.assume,
        $.let,
        $.pattern,
        $.semaphore,
        $.mbarrier,
        $.named_barrier,
        $.barrier,
        $.pool,
        $.buffer,
        $.progress,
        $.invariant,
        $.role,
        $.grid,
        $.expect,
      ),

    param: ($) => seq('param', field('name', $.identifier), 'in', $._domain),
    _domain: ($) =>
      choice(
        seq($._integer, '..'),
        seq($._integer, '..=', $._integer),
        seq('{', list($._integer), '}'),
      ),
    _integer: ($) => seq(optional('-'), $.integer),
    assume: ($) => seq('assume', $._expression),
    let: ($) =>
      seq(
        'let',
        field('name', $.identifier),
        optional(field('parameters', $.parameters)),
        '=',
        field('value', $._expression),
      ),
    parameters: ($) => seq('(', list($.identifier), ')'),
    pattern: ($) =>
      seq(
        'pattern',
        field('name', $.identifier),
        '[',
        choice(seq(list($._expression), ']'), seq(list($.index), ']', '=', $._expression)),
      ),
    semaphore: ($) => seq('semaphore', $._family, '=', choice('any', $._expression)),
    mbarrier: ($) =>
      seq(
        'mbarrier',
        choice($._family, seq(field('name', $.identifier), '[', list($.index), ']')),
        '{',
        'arrivals',
        ':',
        $._expression,
        optional(seq(',', 'init', ':', 'explicit')),
        '}',
        repeat($.place),
      ),
    named_barrier: ($) => seq('named', $._family),
    barrier: ($) => seq('barrier', $._family, '{', 'arrivals', ':', $._expression, '}'),
    pool: ($) =>
      seq(
        'pool',
        $._family,
        '=',
        $._expression,
        optional(seq('{', 'release', ':', 'mandatory', '}')),
      ),
    buffer: ($) =>
      seq(
        'buffer',
        $._family,
        optional(
          seq(
            '{',
            choice(
              seq('memory', ':', 'tensor', optional(seq(',', 'orders', ':', 'unknown'))),
              seq('orders', ':', 'unknown'),
            ),
            '}',
          ),
        ),
      ),
    _family: ($) =>
      seq(field('name', $.identifier), optional(seq('[', list($._expression), ']'))),
    progress: () =>
      choice(
        seq('eventually', 'done'),
        seq('always', '(', 'waiting', '->', 'eventually', 'passes', ')'),
      ),
    invariant: ($) => seq('invariant', repeat($._bracketed_index), $._expression),
    role: ($) =>
      seq(
        'role',
        field('name', $.identifier),
        repeat($._bracketed_index),
        optional('warp'),
        repeat($.place),
        field('body', $.block),
      ),
    grid: ($) =>
      seq(
        'grid',
        field('name', $.identifier),
        repeat($._bracketed_index),
        optional($.launch),
        optional($.resident),
        repeat($.place),
        field('body', $.block),
      ),
    _bracketed_index: ($) => seq('[', $.index, ']'),
    index: ($) => seq(field('name', $.identifier), 'in', $.integer, '..', $._expression),
    launch: ($) => seq('launch', choice('ascending', 'descending', 'any', list($.key))),
    key: ($) => seq($.identifier, choice('ascending', 'descending')),
    resident: ($) => seq('resident', choice(seq($.integer, '..'), 'all', $._expression)),
    place: ($) => seq(choice('cta', 'cluster', 'gpu'), $._expression),
    expect: ($) =>
      seq(
        'expect',
        field('property', $.identifier),
        ':',
        field('verdict', $.identifier),
        optional(seq('at', list($.value))),
        optional(seq('assuming', list($._expression))),
      ),
    value: ($) => seq($.identifier, '=', $._integer),

    block: ($) => seq('{', repeat($._statement), '}'),
    _statement: ($) =>
      choice(
        $.wait,
        $.arrive,
        $.sync,
        $.operation,
        $.copy,
        $.asynchronous,
        $.commit_group,
        $.wait_group,
        $.update,
        $.fence,
        $.let,
        $.var,
        $.advance,
        $.access,
        $.if,
        $.elect,
        $.repeat,
        $.for,
        $.assert,
        $.return,
        $.break,
      ),
    wait: ($) =>
      seq(
        'wait',
        optional($.memory),
        choice(
          seq($.element, optional(choice(seq(choice('==', '>='), $._expression), $._expression))),
          $.swap,
        ),
      ),
    swap: ($) => seq('compare_and_swap', '(', list($._expression), ')'),
    arrive: ($) => seq('arrive', optional($.memory), $.element, optional($._expression)),
    sync: ($) => seq('sync', $.element, optional($._expression)),
    operation: ($) =>
      choice(
        seq('arrive_expect_tx', optional($.memory), $.element, $._expression),
        seq(choice('expect_tx', 'complete_tx'), $.element, $._expression),
        seq(choice('commit', 'init'), $.element),
        seq(
          choice('acquire', 'release'),
          $.element,
          $._expression,
          optional(seq('backing', list($.element))),
        ),
      ),
    copy: ($) =>
      seq('async', 'copy', $.element, optional(seq('completes', $.element, $._expression))),
    asynchronous: ($) =>
      seq(
        'async',
        field('verb', $.identifier),
        optional(seq('reads', list($.element))),
        optional(seq('writes', list($.element))),
      ),
    commit_group: () => 'commit_group',
    wait_group: ($) => seq('wait_group', $._expression, optional('read')),
    update: ($) =>
      choice(
        seq($._target, choice('+=', '='), $._expression),
        seq('red', $.memory, $.element, '+=', $._expression),
        seq('st', $.memory, $.element, '=', $._expression),
      ),
    // `red` and `st` are names where no dot follows.
    _target: ($) => choice($.element, alias($._named_like_a_word, $.element)),
    _named_like_a_word: ($) =>
      seq(
        alias(choice('red', 'st'), $.identifier),
        optional(seq('[', list($._expression), ']')),
      ),
    fence: ($) => seq('fence', $.memory),
    memory: ($) => repeat1(seq('.', $.identifier)),
    var: ($) => seq('var', field('name', $.identifier), '=', field('value', $._expression)),
    advance: ($) => seq('advance', $.identifier),
    access: ($) => seq(choice('accumulate', 'read', 'write'), $.element),
    if: ($) =>
      seq('if', $._expression, $.block, optional(seq('else', choice($.block, $.if)))),
    elect: ($) => seq('elect', $.block),
    repeat: ($) => seq('repeat', $._expression, $.block),
    for: ($) =>
      seq(
        'for',
        field('name', $.identifier),
        'in',
        choice(
          seq($._expression, '..', $._expression, optional('descending')),
          seq($.row, optional(choice('ascending', 'descending', seq('any', 'order')))),
        ),
        $.block,
      ),
    row: ($) => seq('row', '(', list($._expression), ')'),
    assert: ($) => seq('assert', $._expression),
    return: () => 'return',
    break: () => 'break',
    element: ($) => seq($.identifier, optional(seq('[', list($._expression), ']'))),

    _expression: ($) =>
      choice(
        $.integer,
        $.boolean,
        $.identifier,
        $.call,
        $.lookup,
        $.field,
        $.parenthesized,
        $.unary,
        $.binary,
        $.choice,
        $.count,
      ),
    boolean: () => choice('true', 'false'),
    // Functions of atomic operations may have an order and a scope.
    call: ($) =>
      seq(
        field('function', $.identifier),
        repeat(seq('.', $.identifier)),
        '(',
        list($._expression),
        ')',
      ),
    lookup: ($) => seq($.identifier, '[', list($._expression), ']'),
    field: ($) => seq($.identifier, '.', field('field', $.identifier)),
    parenthesized: ($) => seq('(', $._expression, ')'),
    unary: ($) => prec(LEVEL.prefix, seq(choice('-', '!'), $._expression)),
    binary: ($) =>
      choice(
        ...[
          [LEVEL.or, '||'],
          [LEVEL.and, '&&'],
          [LEVEL.compare, choice('==', '!=', '<', '<=', '>', '>=')],
          [LEVEL.xor, '^'],
          [LEVEL.sum, choice('+', '-')],
          [LEVEL.product, choice('*', '/', '%')],
        ].map(([level, operator]) =>
          prec.left(level, seq($._expression, field('operator', operator), $._expression)),
        ),
      ),
    choice: ($) =>
      prec.right(
        seq('if', $._expression, 'then', $._expression, 'else', $._expression),
      ),
    count: ($) =>
      seq(
        'count',
        '(',
        field('name', $.identifier),
        'in',
        $._expression,
        '..',
        $._expression,
        'where',
        $._expression,
        ')',
      ),

    identifier: () => /[A-Za-z_][0-9A-Za-z_]*/,
    integer: () => /[0-9]+/,
    comment: () => token(seq('//', /[^\n]*/)),
  },
});
