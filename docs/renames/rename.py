#!/usr/bin/env python3
"""Carries out the renames of RENAMES.md on a checkout.

Usage: rename.py ROOT --plan            write RENAMES.md beside this script (counts, scopes, what needs hand work)
       rename.py ROOT --apply [NAME..]  rename everything that is `auto`, or only these old names (Crate.Old, as in the plan)
       rename.py ROOT --show Crate.Old  list the places of one rename

Types, traits and macros are resolved, not grepped: use declarations, re-exports, globs, qualified paths and `super`, so that
names which several types share are told apart. In comments and documents only what stands in backticks is renamed, and only
in files where the name means this type. Functions are renamed by word, and only where the name is defined once in the
workspace and is never a variable, a field or a word of a format string. Afterwards: cargo fmt --all, cargo check
--workspace --all-targets, shape.py (the same hash), and a look at the prose around the old word.
"""
import collections, os, re, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOKEN = re.compile(r'''(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|(?P<raw>b?r(?P<h>\#*)".*?"(?P=h))|(?P<str>b?"(?:\\.|[^"\\])*")'''
    r'''|(?P<char>b?'(?:\\(?:x..|u\{[^}]*\}|.)|[^\\'])')|(?P<life>'[A-Za-z_]\w*)|(?P<id>(?:r\#)?[A-Za-z_]\w*)|(?P<sep>::)|(?P<num>\d\w*(?:\.\d\w*)?)|(?P<ws>\s+)|(?P<o>.)''', re.S)

class File:
    def __init__(self, root, path):
        self.path = path
        self.text = open(os.path.join(root, path), encoding="utf8").read()
        self.tokens = [(m.lastgroup if m.lastgroup != "h" else "raw", m.group(0), m.start()) for m in TOKEN.finditer(self.text)]
        self.tokens = [("raw" if k == "h" else k, t, s) for k, t, s in self.tokens]
        self.code = [t for t in self.tokens if t[0] not in ("ws", "line", "block")]
        self.place()
        self.scan()
    def place(self):
        parts = self.path[:-3].split("/")
        if "src" in parts:
            i = parts.index("src"); self.crate = "/".join(parts[:i]); mod = parts[i + 1:]
        elif "tests" in parts:
            i = parts.index("tests"); self.crate = "/".join(parts[:i + 2]) if len(parts) > i + 2 else self.path; mod = parts[i + 2:]
        else:
            self.crate = self.path; mod = []
        if mod and mod[-1] in ("lib", "main", "mod"): mod = mod[:-1]
        self.mod = tuple(mod)
    def scan(self):
        self.defs, self.uses, self.globs, self.variants = {}, {}, [], set()
        code, n, depth, enums = self.code, len(self.code), 0, []
        i = 0
        while i < n:
            kind, text, at = code[i]
            if text in ("{", "(", "["): depth += 1
            if text in ("}", ")", "]"):
                depth -= 1
                if enums and depth < enums[-1]: enums.pop()
            if enums and depth == enums[-1] and kind == "id" and code[i - 1][1] in ("{", ",", "]"): self.variants.add(at)
            if kind == "id" and i + 2 < n and code[i + 1][1] == "=" and code[i + 2][0] == "str" and text[0].isupper(): self.variants.add(at)
            if text in ("struct", "enum", "trait", "union", "type") and kind == "id" and i + 1 < n and code[i + 1][0] == "id":
                start = self.text.rfind("\n", 0, at) + 1
                inside = text == "type" and self.text[start:start + 1] == " "
                if not inside: self.defs.setdefault(code[i + 1][1], []).append(code[i + 1][2])
                if text == "enum":
                    j = i + 1
                    while j < n and code[j][1] not in ("{", ";"): j += 1
                    if j < n and code[j][1] == "{": enums.append(depth + 1)
            if text == "macro_rules" and i + 2 < n: self.defs.setdefault(code[i + 2][1] + "!", []).append(code[i + 2][2])
            if text == "use" and kind == "id" and code[i - 1][1] not in (".", "'"):
                j = self.tree(i + 1, [])
            i += 1
    def tree(self, i, prefix):
        code, path = self.code, list(prefix)
        while i < len(self.code):
            kind, text, at = code[i]
            if text == "{":
                i += 1
                while code[i][1] != "}":
                    i = self.tree(i, path)
                    if code[i][1] == ",": i += 1
                return i + 1
            if text == "*": self.globs.append(path); return i + 1
            if kind == "id" and text == "as":
                if path: self.uses[code[i + 1][1]] = path
                return i + 2
            if kind == "id": path = path + [text]; i += 1; last = True; continue
            if kind == "sep": i += 1; continue
            if text == "$": i += 1; continue
            break
        if path and len(path) > len(prefix):
            name = path[-1] if path[-1] != "self" else (path[-2] if len(path) > 1 else "self")
            self.uses[name] = path if path[-1] != "self" else path[:-1]
        return i

class World:
    def __init__(self, root):
        self.root = root
        names = subprocess.run(["git", "-C", root, "ls-files", "*.rs"], capture_output=True, text=True).stdout.split()
        self.files = {name: File(root, name) for name in names if os.path.exists(os.path.join(root, name))}
        self.module = {(f.crate, f.mod): f for f in self.files.values()}
        self.extern = {("tradepost_" + c.split("/")[-1]): c for c in {f.crate for f in self.files.values()} if c.startswith("crates/") and c.count("/") == 1}
        self.extern["tradepost"] = "crates/tradepost"
        self.memo = {}
    def lookup(self, crate, mod, name, depth=0):
        "the file that defines `name` as seen in a module"
        key = (crate, mod, name)
        if key in self.memo: return self.memo[key]
        self.memo[key] = None
        f = self.module.get((crate, mod)); found = None
        if f:
            if name in f.defs: found = f
            elif name in f.uses: found = self.resolve(f, f.uses[name] if not name.endswith("!") else f.uses[name], depth + 1)
            else:
                for glob in f.globs:
                    found = self.resolve(f, glob + [name], depth + 1)
                    if found: break
        self.memo[key] = found
        return found
    def start(self, f, path):
        head = path[0]
        if head == "crate": return f.crate, (), path[1:]
        if head == "self": return f.crate, f.mod, path[1:]
        if head == "super":
            mod, rest = f.mod, path
            while rest and rest[0] == "super": mod, rest = mod[:-1], rest[1:]
            return f.crate, mod, rest
        if head in self.extern and head not in f.uses: return self.extern[head], (), path[1:]
        if (f.crate, f.mod + (head,)) in self.module: return f.crate, f.mod + (head,), path[1:]
        if head in f.uses and f.uses[head][:1] != [head] and len(path) > 1: return self.start(f, f.uses[head] + path[1:])
        for glob in f.globs:
            if glob[:1] != [head] and len(path) > 1 and glob and glob[0] in ("super", "crate", "self"):
                at = self.start(f, glob + ["x"])
                if at and (at[0], at[1] + (head,)) in self.module: return at[0], at[1] + (head,), path[1:]
        return None
    def resolve(self, f, path, depth=0):
        if depth > 8 or not path: return None
        tries = [path]
        if path[0] == "super": tries.append(["self"] + path[1:])   # an inline module
        for path in tries:
            at = self.start(f, path)
            if not at: continue
            crate, mod, rest = at
            while len(rest) > 1:
                if (crate, mod + (rest[0],)) in self.module: mod += (rest[0],); rest = rest[1:]; continue
                here = self.module.get((crate, mod)); via = here and here.uses.get(rest[0])
                to = via and via != [rest[0]] and self.start(here, via + ["x"])
                if here and re.search(rf"\bmod {rest[0]}\s*\{{", here.text): rest = rest[1:]; continue   # an inline module
                if to and to[2] == ["x"]: crate, mod, rest = to[0], to[1], rest[1:]; continue
                break
            if len(rest) != 1: continue
            if crate == f.crate and mod == f.mod and rest[0] not in f.defs and rest[0] in f.uses and f.uses[rest[0]] == path: continue
            found = self.lookup(crate, mod, rest[0], depth)
            if found: return found
        return None
    def bare(self, f, name):
        if name in f.defs: return f
        if name in f.uses: return self.resolve(f, f.uses[name])
        for glob in f.globs:
            found = self.resolve(f, glob + [name])
            if found: return found
        return None
    def places(self, old, definer):
        "byte places of a type or macro"
        word, macro = old.rstrip("!"), old.endswith("!")
        out = collections.defaultdict(list)
        for f in self.files.values():
            if word not in f.text: continue
            seen = self.bare(f, old) is definer or (macro and f.crate == definer.crate and word in f.text)
            for i, (kind, text, at) in enumerate(f.code):
                if kind != "id" or text != word or at in f.variants: continue
                if macro and not (i + 1 < len(f.code) and f.code[i + 1][1] == "!" or f.code[i - 1][1] == "!" or self.in_use(f, i)): continue
                nxt = f.code[i + 1][1] if i + 1 < len(f.code) else ""
                if nxt == "=" and f.code[i - 1][1] in ("<", ",") and f.text[f.code[i + 1][2] + 1] != "=": continue   # Stream<Item = T>
                path, j = [], i
                while j >= 2 and f.code[j - 1][0] == "sep" and f.code[j - 2][0] == "id": path.insert(0, f.code[j - 2][1]); j -= 2
                tree = self.in_use(f, i)
                if tree == [] and not macro: hit = self.bare(f, old) is definer
                elif tree is not None: hit = self.resolve(f, tree + [old if not macro else word]) is definer or (macro and self.resolve(f, tree + [old]) is definer)
                elif path:
                    if path[-1][0].isupper(): continue
                    hit = self.resolve(f, path + [old]) is definer
                else: hit = seen and not (f.code[i - 1][1] == "." and f.code[i - 2][1] != ".")
                if hit: out[f.path].append(at)
            if seen or out.get(f.path):
                for kind, text, at in f.tokens:
                    if kind not in ("line", "block") or word not in text: continue
                    for tick in re.finditer(r"`[^`\n]*`", text):
                        for m in re.finditer(rf"(?<![A-Za-z0-9_]){re.escape(word)}(?![A-Za-z0-9_])", tick.group(0)):
                            before = tick.group(0)[:m.start()]
                            if re.search(r"[A-Z]\w*::$", before): continue
                            out[f.path].append(at + tick.start() + m.start())
        return out
    def in_use(self, f, i):
        "the path before token i when it stands in a use declaration"
        j, close = i, 0
        while j >= 0 and i - j < 400:
            kind, text, at = f.code[j]
            if text == ";" or (text == "}" and False): return None
            if kind == "id" and text == "use": break
            if text in ("fn", "struct", "enum", "impl", "let", "="): return None
            j -= 1
        else: return None
        stack, path, k, base = [], [], j + 1, []
        cur = []
        while k < i:
            kind, text, at = f.code[k]
            if kind == "id" and text != "as": cur.append(text)
            elif text == "{": stack.append(list(cur))
            elif text == ",": cur = list(stack[-1]) if stack else []
            elif text == "}": 
                if stack: stack.pop()
                cur = []
            elif text == ";": return None
            k += 1
        return cur

def functions(world, old):
    out, defined, hard = collections.defaultdict(list), 0, []
    for f in world.files.values():
        if old not in f.text: continue
        for i, (kind, text, at) in enumerate(f.code):
            if kind == "id" and text == old:
                out[f.path].append(at)
                before, after = f.code[i - 1][1], f.code[i + 1][1] if i + 1 < len(f.code) else ""
                if before == "fn": defined += 1
                elif before in ("let", "mut", "|", "ref") or after == ":" and before in ("{", ",", "(", "|") or before in ("{", ",") and after in (",", "}"): hard.append(f.path)
            if kind in ("str", "raw") and re.search(rf"\{{{old}[:}}]", text): hard.append(f.path)
        for kind, text, at in f.tokens:
            if kind == "line":
                for tick in re.finditer(r"`[^`\n]*`", text):
                    out[f.path] += [at + tick.start() + m.start() for m in re.finditer(rf"(?<!\w){old}(?!\w)", tick.group(0))]
    return out, defined, hard

def load():
    rows, crate = [], None
    for raw in open(os.path.join(HERE, "renames.txt"), encoding="utf8"):
        raw = raw.strip()
        if not raw or raw.startswith("#"): continue
        m = re.match(r"(\S+) -> (.+?)  \((\S+), (.*)\)( hand(?:: .*)?)?$", raw)
        if not m: print("not understood:", raw); continue
        rows.append((m.group(1), m.group(2), m.group(3), m.group(4), (m.group(5) or "").strip()))
    return rows

def judge(world, old, new, where, hand):
    path = "crates/" + where.replace(":", "/src/", 1)
    definer = world.files.get(path)
    if not definer: return None, "no such file"
    is_type = old[0].isupper() or old.endswith("!")
    if is_type:
        if old not in definer.defs: return None, "is not defined there any longer"
        places = world.places(old, definer)
        for f in {p for p in places}:
            other = world.bare(world.files[f], new)
            if new in world.files[f].defs or other not in (None, definer): return places, f"hand: {new} is taken in {f}"
        if len(definer.defs[old]) > 1: return places, "hand: defined twice in the file"
    else:
        places, defined, hard = functions(world, old)
        if defined == 0: return None, "is not defined there any longer"
        if defined > 1: return places, f"hand: {defined} functions have this name"
        if hard: return places, f"hand: also a variable or field in {sorted(set(hard))[0]}"
        taken, n, _ = functions(world, new)
        if n and any(p in places for p in taken): return places, f"hand: {new} exists in {next(p for p in taken if p in places)}"
    if hand: return places, hand
    if not re.fullmatch(r"\w+!?", new): return places, "hand: choose by place"
    return places, "auto"

def main():
    root, mode = sys.argv[1], sys.argv[2]
    world, rows = World(root), load()
    done = []
    for old, new, where, why, hand in rows:
        places, verdict = judge(world, old, new, where, hand)
        total = sum(len(set(v)) for v in (places or {}).values())
        done.append((total, len(places or {}), old, new, where, why, verdict, places))
    if mode == "--show":
        for total, files, old, new, where, why, verdict, places in done:
            if where.split(":")[0] + "." + old in sys.argv[3:] or old in sys.argv[3:]:
                print(old, "->", new, where, verdict, total)
                for p, ats in sorted(places.items()):
                    for at in sorted(set(ats)): print(f"  {p}:{world.files[p].text.count(chr(10), 0, at) + 1}: {world.files[p].text[max(0, at - 40):at + 40].splitlines()[0 if at < 40 else -1]!r}")
    if mode == "--plan":
        done.sort(key=lambda row: (-row[0], row[2]))
        out = [open(os.path.join(HERE, "renames.head.md"), encoding="utf8").read().rstrip(), ""]
        for title, test in (("Carried out by rename.py", lambda v: v == "auto"), ("Need hand work", lambda v: v.startswith("hand")), ("Not found", lambda v: not v.startswith("hand") and v != "auto")):
            chosen = [row for row in done if test(row[6])]
            if not chosen: continue
            out += [f"## {title} ({len(chosen)})", "", "`places/files  old -> new  (crate, file, why)`", ""]
            for total, files, old, new, where, why, verdict, places in chosen:
                crate, file = where.split(":", 1)
                note = "" if verdict == "auto" else f" [{verdict}]"
                out.append(f"- {total}/{files}  `{old}` -> `{new}`  ({crate}, {file}, {why}){note}")
            out.append("")
        open(os.path.join(HERE, "RENAMES.md"), "w", encoding="utf8").write("\n".join(out))
        print(len(done), collections.Counter(row[6].split(":")[0] for row in done))
    if mode == "--apply":
        only = set(sys.argv[3:])
        edits = collections.defaultdict(dict)
        for total, files, old, new, where, why, verdict, places in done:
            if verdict != "auto" or only and old not in only and where.split(":")[0] + "." + old not in only: continue
            for p, ats in places.items():
                for at in ats: edits[p][at] = (old.rstrip("!"), new.rstrip("!"))
        for p, changes in edits.items():
            text = world.files[p].text
            for at in sorted(changes, reverse=True):
                old, new = changes[at]
                assert text[at:at + len(old)] == old, (p, at, old)
                text = text[:at] + new + text[at + len(old):]
            open(os.path.join(root, p), "w", encoding="utf8").write(text)
        print(f"{sum(map(len, edits.values()))} places in {len(edits)} files")

main()
