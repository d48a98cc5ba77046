"""Compares this explorer with answers of another one, a JSON object a line, and reports differences.

    python3 tests/explorer/compare.py FILE

An object has `name`, `source`, `params`, `max_initial`, `runs` and, where it does, what was found:
`stuck`, `undefined` and `properties`, a truth value each. The exit status is 1 where something differs.
"""

import collections
import json
import sys

from expressions import Fault
from search import answers
from syntax import Refused
from unfold import TooLarge

sys.setrecursionlimit(10000)


def differences(request, count):
    """What differs, in words."""
    runs = request.get("runs", True)
    asked = request["properties"] if runs else {}
    try:
        found = answers(request["source"], request["params"], request["max_initial"], "race" in asked)
    except TooLarge:
        count["too large"] += 1
        return []
    except (Fault, Refused) as error:
        count["no run"] += 1
        return [f"no run here: {error}"] if runs else []
    if not runs:
        return ["no run there"]
    count["protocols"] += 1
    count["hang"] += request["stuck"]
    count["undefined"] += request["undefined"]
    ours = {"stuck": found.stuck, "undefined": found.undefined}
    theirs = {"stuck": request["stuck"], "undefined": request["undefined"]}
    for name, violated in asked.items():
        ours[name], theirs[name] = name in found.violated, violated
        count[name] += 1
        count[name + " violated"] += violated
    return [f"{name}: {ours[name]} here, {theirs[name]} there" for name in ours if ours[name] != theirs[name]]


def main(path):
    count, wrong = collections.Counter(), 0
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            request = json.loads(line)
            found = differences(request, count)
            if found:
                wrong += 1
                print(f"DIFFERENT {request['name']} at {request['params']}: {'; '.join(found)}")
                print(request["source"])
    print(dict(count), f"{wrong} different")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
