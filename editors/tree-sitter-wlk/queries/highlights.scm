(comment) @comment
(integer) @number
(boolean) @constant.builtin

[
  "protocol" "param" "assume" "let" "pattern" "semaphore" "mbarrier" "named" "barrier" "pool" "buffer"
  "invariant" "eventually" "always" "role" "grid" "expect" "var"
] @keyword

[
  "in" "launch" "resident" "ascending" "descending" "any" "order" "all" "warp" "cta" "cluster" "gpu"
  "at" "assuming" "arrivals" "init" "explicit" "release" "mandatory" "memory" "tensor" "orders" "unknown" "done" "waiting"
  "passes" "completes" "reads" "writes" "backing" "where" "row" "count"
] @keyword.modifier

[
  "wait" "arrive" "sync" "arrive_expect_tx" "expect_tx" "complete_tx" "commit" "acquire" "async" "copy"
  "wait_group" "fence" "red" "st" "advance" "compare_and_swap" "accumulate" "read" "write" "assert" "elect"
  (commit_group)
] @function.builtin

["if" "then" "else"] @keyword.conditional
["for" "repeat"] @keyword.repeat
[(return) (break)] @keyword.return

["=" "+=" "==" "!=" "<" "<=" ">" ">=" "+" "-" "*" "/" "%" "^" "&&" "||" "!" ".." "..=" "->"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ":" "."] @punctuation.delimiter

(identifier) @variable
(header name: (identifier) @module)
(role name: (identifier) @type)
(grid name: (identifier) @type)
(param name: (identifier) @variable.parameter)
(index name: (identifier) @variable.parameter)
(let name: (identifier) @function parameters: (parameters))
(call function: (identifier) @function.call)
((call function: (identifier) @function.builtin)
  (#any-of? @function.builtin "min" "max" "ceil_div" "abs" "producer" "consumer" "fetch_add" "exchange" "compare_and_swap"))
(field field: (identifier) @property)
(memory (identifier) @attribute)
(expect property: (identifier) @property)
(expect verdict: (identifier) @constant)
