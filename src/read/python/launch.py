"""Launchers' configurations: what their keys come to as settings of knobs, with notes, and the file that runs a plan.

The first line of what is read says what follows: "read DEVICES KIND" the keys of a YAML or TOML file, each as its line,
its path and its value with a NUL behind each, or, of KIND options, a script with arguments, and "--" behind it where
some are in the text; "write LAUNCHER" lines "SLOT=VALUE". A setting or a note is written as "LINE<TAB>note<TAB>TEXT" or "LINE<TAB><TAB>TEXT".
"""
import json
import re

from draft import Bad
from launch_keys import ROWS
from launch_settings import number_in, settings

NAMES = {"torchtitan": "torchtitan", "deepspeed": "DeepSpeed", "accelerate": "accelerate", "megatron": "Megatron-LM"}
OFF = "false= no= none= null= off= auto= 0= -1= default= standard= ~???="
COUNTS = "~parallel= ~shard= ~recompute= ~checkpointing= ~quant= ~fp8= ~precision= ~batch_size="
COUNTS_NOT = "~validation= ~ckpt= ~amax="
NUMBER_MOST = 1 << 24
KEYS = [row.split("\t") for row in ROWS.splitlines()]
WORD = re.compile(r"#[^\n]*|\n|[^ \t\r\n\"'()\[\],;\\]+")


def ours_of(words, theirs):
    """Our word of theirs, among "theirs=ours ..."; None without one."""
    theirs = theirs.lower()
    for entry in words.split(" "):
        word, _, ours = entry.partition("=")
        if word[1:].lower() in theirs if word[:1] == "~" else word.lower() == theirs:
            return ours
    return None


def theirs_of(words, ours):
    """The reverse."""
    for entry in words.split(" "):
        word, _, found = entry.partition("=")
        if found == ours:
            return word[word[:1] == "~":]
    return None


def is_off(value):
    return not value or ours_of(OFF, value) is not None


def number_of(value):
    """A number without the _ between its digits, behind it perhaps others after a +; "" where it isn't one."""
    value = value.replace("_", "")
    found = re.match(r"\s*[+-]?\d{1,18}(?=\+|$)", value)
    return value if found and -1 <= int(found[0]) <= NUMBER_MOST else ""


class Launch:
    """A launcher's file: what its keys say by slot, and what to tell people."""

    def __init__(self):
        self.launcher, self.known, self.values, self.depths, self.notes = "any", 0, {}, {}, []

    def note(self, line, key, value, why):
        self.notes.append((line, f"{key[:100]} = {value[:60]}: {why}"))

    def take(self, key, value, line):
        """One key with its value."""
        name, known = key.replace("--", "").replace("-", "_"), self.known
        for row in KEYS:
            if name == row[0] or name.endswith("." + row[0]):
                self.known += 1
                self.launcher = row[1] if self.launcher == "any" else self.launcher
                self.take_row(row, name, value, line)
        if self.known == known:
            counts = (value.lower() == "true" or number_in(value) > 1) and ours_of(COUNTS, name) is not None
            counts = counts and ours_of(COUNTS_NOT, name) is None
            if counts or ("offload" in name.rpartition(".")[2] and not is_off(value)):
                self.note(line, name, value, "isn't known here")

    def take_row(self, row, key, value, line):
        """A key that a row has. The outermost one counts, of ZeRO's stages the highest."""
        _, _, slot, _, words = row
        off, ours, why = is_off(value), "", None
        if slot == "note":
            why = None if off or words[0] == "-" else words
        elif words == "NUMBER":
            if value[:1] == "$" or value == "true":
                why = "its value isn't in the file"
            elif value.startswith("--"):   # a name of an option, not its value
                return
            elif not off:
                ours = number_of(value)
                if not ours:
                    raise Bad(f"{key[:100]} = {value[:60]}: expected a number", line)
        elif words == "TEXT":
            ours = "" if off else value.lstrip("[ ").partition("]")[0]
        else:
            found = ours_of(words, value)
            ours = found or ""
            why = "isn't known here" if found is None and not off and "~" not in words else None
        depth = key.count(".")
        if ours and (slot != "zero" or ours > self.values.get(slot, "")):
            if slot not in self.values or depth <= self.depths[slot]:
                self.values[slot], self.depths[slot] = ours, depth
        if why:
            self.note(line, key, value, why)

    # ---- arguments ----

    def options(self, text):
        """Arguments in a script: "--option value ...", "--option=value" and "name=value"."""
        option = value = ""
        line = where = 1
        for found in [*WORD.findall(text), ""]:
            if found == "\n" or found[:1] == "#":
                line += found == "\n"
                continue
            word = found if len(found) < 256 else ""
            begins, sets = word.startswith("--"), "=" in word and word[0] != "$"
            if (begins or sets or not found) and option:
                self.take(option, value or "true", where)
            if begins or sets:
                option, _, word = word.partition("=") if begins else ("", "", word.partition("=")[2])
                value, where = "", line
            word = expanded(text, word)
            if line == where or not value:   # further values are on its line
                value += ("+" if value and word else "") + word
            where = where if value else line

    # ---- out ----

    def written(self):
        """Key and value of each row that the launcher has for what is said, as texts of its file."""
        done = set()
        for key, _, slot, writes, words in KEYS:
            value = self.values.get(slot)
            word = theirs_of(words, value) if value and "=" in words else value
            if writes == self.launcher and word:
                done.add(slot)
                plain = words == "NUMBER" or "." in word or word in ("true", "false")
                yield key, word, word if plain else f'["{word}"]' if slot == "float8" else f'"{word}"'
        for slot, value in self.values.items():
            if slot not in done:
                raise Bad(f"{NAMES[self.launcher]} has no word for {slot}={value}")

    def write(self):
        """The file that runs a plan."""
        rows, sections = list(self.written()), {}
        if self.launcher == "megatron":
            return " ".join("--" + key.replace("_", "-") + ("" if word == "true" else " " + word)
                            for key, word, _ in rows) + "\n"
        for key, _, literal in rows:
            section, _, name = key.partition(".") if "." in key else ("", "", key)
            sections.setdefault(section, {})[name] = literal
        if self.launcher == "torchtitan":
            return "\n".join(f"[{section}]\n" + "".join(f"{name} = {literal}\n" for name, literal in members.items())
                             for section, members in sections.items())
        file = {}
        for section, members in sections.items():
            members = {name: json.loads(literal) for name, literal in members.items()}
            file.update({section: members} if section else members)
        return json.dumps(file, indent=2) + "\n"


def expanded(text, word):
    """Of $NAME, ${NAME} or ${NAME:-word} what the script sets it to; another word as it is."""
    if word[:1] != "$":
        return word
    name = re.match(r"\$\{?([^:}]*)", word)[1]
    for found in re.finditer(r"(?:^|(?<=[ \t\n]))" + re.escape(name) + r'=("?)(?=([^ \t\r\n;#]*))', text):
        inner = re.match(r'.*?:-"?', found[2])
        value = text[found.end() + (inner.end() if inner else 0):]
        value = re.match(r'[^ \t\r\n;#"}]*', value)[0]
        if value[:1] != "$" and len(value) < 80:
            return value
    return word.partition(":-")[2].partition("}")[0] if ":-" in word else word


def read(stream, _options):
    """The settings and notes of a file, or the file of what is said. Nothing where no argument is known: it has knobs,
    one a line."""
    head, _, text = stream.read().decode("utf-8", "replace").partition("\n")
    launch, (what, *words) = Launch(), head.split(" ")
    if what == "write":
        launch.launcher = words[0]
        launch.values = dict(line.split("=", 1) for line in text.splitlines())
        return [launch.write()]
    kind, parts = words[1], text.split("\0")
    if kind == "options":
        launch.options(text)
    for line, key, value in zip(parts[::3], parts[1::3], parts[2::3]) if kind != "options" else ():
        launch.take(key, value, int(line))
    if not launch.known and kind != "options":
        raise Bad("no key of it is known: neither knobs, one a line, nor a launcher's")
    if not launch.known:
        return []
    if kind == "table" or (words[2:] and launch.launcher == "nemo"):
        launch.launcher = "torchtitan" if kind == "table" else "megatron"
    lines = [(line, "note", text) for line, text in launch.notes] + settings(launch, int(words[0]))
    return ["%d\t%s\t%s\n" % (line, note, re.sub(r"[\0-\x1f]", " ", text)) for line, note, text in lines]
