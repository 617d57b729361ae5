# SPDX-License-Identifier: BSD-2-Clause
"""One name for one option, and one meaning for one name, over the option tables of all verbs.

option_words.py VERB... prints a line for each breach, or "one vocabulary". The tables are read from `help --man` and
from the completion, which are generated from them; the names and words that are only accepted,
not offered, stand in brackets there.
"""
import re
import subprocess
import sys

# The one option for a value of this kind. A new option with such a value either is one of these,
# or measures something else and gets a name for its value that says so.
NAMES = {
    "METRIC": {"metric"},
    "A,B": {"time"},
    "TIME": {"recorded", "since", "until", "older"},
    "SECONDS": {"duration", "timeout", "delay"},
    "PID": {"pid"},
    "OUT": {"output"},
    "FORMAT": {"to"},
    "FILES": {"symbols"},
    "BUDGET": {"fail-if"},
    "TABLE": {"table"},
    "1/N": {"sample"},
}
# One name with values of several kinds.
KINDS = {
    "output": "vm writes files beside OUT.kmap",
    "stacks": "a depth is for programs; a kernel's stacks are whole, and report prints them",
    "cgroup": "recording needs the folder of one; a map is searched for a pattern",
    "check": "of kernel: as its script; of kmap: the cut to check",
    "kernel": "record has it as a source; vm, as the folder of the one to boot",
}
# Words that depend on what a verb reads or writes.
WORDS = {
    "by": "a recording has threads; a map, folders; a store, revisions",
    "to": "the formats that a verb can write",
    "table": "a map has other tables than a trace",
    "metric": "a kernel trace has fragmentation and frees on other CPUs, but no accesses",
}
# Words for one thing, the current one first: of all options with words.
ONE_WORD = [
    ("peak", "peak_bytes"), ("live", "live_bytes"), ("total", "bytes", "given"),
    ("blocks", "count", "allocs", "allocations"), ("median_lifetime", "lifetime"),
    ("site", "line", "call_site"), ("dir", "folder"), ("first", "byte"), ("container", "cmt"),
]
# Old names that are the current name of something else in another verb.
TAKEN = {"drop", "fields", "runs", "time"}


def ask(*args):
    return subprocess.run(("memorizer", "help") + args, check=True, capture_output=True,
                          text=True).stdout


class Option:
    def __init__(self, verb, text):
        text = text.replace("\\-", "-")
        head = re.match(r"(?:\\fB-(.)\\fR, )?\\fB--([a-z-]+)\\fR(?:\[=| )?(?:\\fI(.*?)\\fR)?", text)
        self.verb, self.help = verb, text.split("\n")[1]
        self.letter, self.name, self.kind = head.groups()
        old = re.findall(r"^\(Older (?:name: --([a-z-]+)|letter: -([a-z]))\.\)$", text, re.M)
        self.old = [name for name, _ in old if name]
        self.old_letters = [letter for _, letter in old if letter]
        words = re.search(r"^\(Older words: ((?:[a-z_]+ for [a-z_]+(?:, )?)+)\.\)$", text, re.M)
        self.old_words = [w.split(" for ") for w in words[1].split(", ")] if words else []
        self.words = []


def options(verbs):
    words = dict(re.findall(r"^\t([a-z0-9_-]+)(?:\|\S+)?\) case \$2 in (.*) esac ;;$",
                            ask("--completion").split("_memorizer_words")[1], re.M))
    found = []
    for verb in verbs:
        for text in ask("--man", verb).split(".TP\n")[1:]:
            o = Option(verb, text)
            at = re.search(rf"(?:^| )--{o.name}(?:\|--[a-z-]+)?\) echo (.*?) ;;", words[verb])
            o.words = at[1].split() if at else []
            found.append(o)
    return found


def check(found):
    by_name, by_letter, by_help = {}, {}, {}
    for o in found:
        by_name.setdefault(o.name, []).append(o)
        by_help.setdefault(o.help, set()).add(o.name)
        if o.letter:
            by_letter.setdefault(o.letter, set()).add(o.name)
    for letter, names in by_letter.items():
        if len(names) > 1:
            yield f"-{letter} is several options: {sorted(names)}"
    for text, names in by_help.items():
        if len(names) > 1:
            yield f"one option, several names: {sorted(names)}: {text}"
    for name, of in by_name.items():
        kinds = {o.kind for o in of}
        if len(kinds) > 1 and name not in KINDS:
            yield f"--{name} takes {kinds}"
        if len({o.letter for o in of}) > 1:
            yield f"--{name} has a letter in some verbs only: {[(o.verb, o.letter) for o in of]}"
        lists = {tuple(sorted(o.words)) for o in of if o.words}
        if len(lists) > 1 and name not in WORDS:
            yield f"--{name} takes other words in other verbs: {lists}"
    for o in found:
        if o.kind in NAMES and o.name not in NAMES[o.kind]:
            yield f"{o.verb}: --{o.name} {o.kind} is elsewhere {NAMES[o.kind]}"
        for words in ONE_WORD:
            for word in set(o.words) & set(words[1:]):
                yield f"{o.verb}: --{o.name} {word} is elsewhere {words[0]}"
        for old in o.old:
            if any(p.name == old and (p.verb == o.verb or old not in TAKEN) for p in found):
                yield f"{o.verb}: --{old} is the old name of --{o.name}, and offered by a verb"
        if o.name == "limit" and ("0 = all" not in o.help or "top" not in o.old):
            yield f"{o.verb}: --limit 0 is all rows in every verb, and --top the same"
        for letter in o.old_letters:
            if any(p.letter == letter for p in found if p.verb == o.verb):
                yield f"{o.verb}: -{letter} is two options"
        for _, word in o.old_words:
            if word not in o.words:
                yield f"{o.verb}: --{o.name} {word} is meant by an old word, but not offered"


def accepted(found):
    """What is no longer offered is still taken: what is wrong is not the option, nor its value."""
    example = {"METRIC": "total", "A,B": "0,1"}
    for o in found:
        value = "=" + (o.words[0] if o.words else example.get(o.kind, "1")) if o.kind else ""
        tries = [f"--{old}{value}" for old in o.old]
        tries += [f"-{letter}{value[1:]}" for letter in o.old_letters]
        tries += [f"--{o.name}={old}" for old, _ in o.old_words]
        for arg in tries:
            done = subprocess.run(("memorizer", o.verb, arg, "--help"), capture_output=True,
                                  text=True, check=False)
            if done.returncode:
                yield f"{o.verb} {arg}: {done.stderr}"


def main():
    found = options(sys.argv[1:])
    breaches = list(check(found)) + list(accepted(found))
    old = [o for o in found if o.old or o.old_letters or o.old_words]
    if len(found) < 200 or len(old) < 15:
        breaches.append(f"only {len(found)} options were found, {len(old)} with something old")
    print("\n".join(breaches) or "one vocabulary")


if __name__ == "__main__":
    main()
