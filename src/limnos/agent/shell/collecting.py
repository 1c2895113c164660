"""Walks the tree of a command and collects what the gate must know of it."""

import re
from typing import NamedTuple

from limnos.agent.shell import hard
from limnos.agent.shell.grammar import Assignment, Compound, Item, Node, Pipeline, Redirect, Tree, Simple, read, read_tokens
from limnos.agent.shell.hidden import hidden_lines
from limnos.agent.shell.lexer import TOO_DEEP, Piece, Token
from limnos.agent.shell.network import brings_text, needs_network
from limnos.agent.shell.options import Call, read_options
from limnos.agent.shell.place import UNKNOWN, Place, is_inside, meanings, protected_name
from limnos.agent.shell.policies import FAMILIES, part_reason
from limnos.agent.shell.policies.builtins import leaves_folder
from limnos.agent.shell.policies.unsafe import is_interpreter, is_shell
from limnos.agent.shell.rebuild import is_free
from limnos.agent.shell.words import guesses, start, text_of
from limnos.agent.shell.wrappers import Inner, unwrap
from limnos.kernel.findings import Part
from limnos.kernel.messages import ToolError

MAX_DEPTH = 12  # texts and wrappers inside each other
MAX_NODES = 45  # constructs inside each other, whatever they are
MAX_REASONS = 50
MAX_FOLDERS = 8
_KINDS = {
    "(": "( … ) runs commands in a shell of their own",
    "{": "{ … } groups commands",
    "if": "if decides what runs",
    "while": "while repeats commands",
    "until": "until repeats commands",
    "for": "for repeats commands with words that change",
    "select": "select asks for words",
    "case": "case decides what runs",
    "[[": "[[ … ]] can compute, which can run commands",
    "((": "(( … )) computes, which can run commands",
    "function": "a function changes what a word means",
    "coproc": "coproc starts a process beside the others",
}


class Argument(NamedTuple):
    """A word: as `shown`, as it probably is (`guess`), and whether another machine wrote it (`foreign`)."""

    shown: str
    guess: str
    foreign: bool = False


class Input(NamedTuple):
    """What a command reads: from a pipe, from another machine, or `words` that are known."""

    piped: bool = False
    foreign: bool = False
    words: tuple[str, ...] = ()


class Scope(NamedTuple):
    """Around a command: its input, how many texts stand around it, what is added to its words."""

    input: Input = Input()
    depth: int = 0
    unseen: str = ""
    silent: bool = False  # only hard denials count


class Collector:
    """Parts, reasons, denials and programs of one command; `place` says where it would run."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.parts: list[Part] = []
        self.reasons: dict[str, None] = {}
        self.denied: ToolError | None = None
        self.network: dict[str, None] = {}
        self._known = start(place)
        self._nodes = 0
        self._foreign = 0
        self._foreign_names: set[str] = set()
        self._calls: dict[str, tuple[set[str], bool]] = {}

    def reason(self, sentence: str, only_alone: bool = False) -> None:
        """Note why this asks, once."""
        if only_alone and self.reasons:
            return
        if len(self.reasons) < MAX_REASONS:
            self.reasons[sentence] = None

    def deny(self, error: ToolError | None) -> None:
        """Note a hard denial; the first one counts."""
        if error is not None and self.denied is None:
            self.denied = error

    def visit(self, script: Tree, scope: Scope = Scope()) -> None:
        """Look at everything in `script`."""
        if TOO_DEEP in script.faults:
            self.deny(_too_deep())
        for fault in script.faults:
            self._ask(f"this cannot be read: {fault}", scope)
        self._items(script.items, scope)

    def visit_words(self, words: tuple[str, ...]) -> None:
        """Look at a command whose words are known, whoever found it."""
        self._command([Argument(word, word) for word in words], tuple(words), Scope())

    def _ask(self, sentence: str, scope: Scope) -> None:
        if not scope.silent:
            self.reason(sentence)

    def _items(self, items: tuple[Item, ...], scope: Scope) -> None:
        folders = self._known.folders
        seen = list(folders)
        for item in items:
            if item.background:
                self._ask("& runs a command beside the others", scope)
            if item.after != "&&" and len(seen) > 1:
                folders[:] = seen
            self._pipeline(item.pipeline, scope)
            _join(seen, folders)

    def _pipeline(self, pipeline: Pipeline, scope: Scope) -> None:
        if "!" in pipeline.prefix:
            self._ask("! turns a result round", scope)
        if "time" in pipeline.prefix:
            self._timed(pipeline, scope)
        stages = [stage for stage in pipeline.stages if isinstance(stage, Simple)]
        own_name = sum(1 for stage in stages if stage.words and re.search(r"\$\{?0\b", stage.words[0].text))
        if own_name > 1:
            self.deny(_fork_bomb())
        before = self._foreign
        current = scope
        for number, stage in enumerate(pipeline.stages):
            if number:
                foreign = scope.input.foreign or self._foreign > before
                words = self._printed(pipeline.stages[number - 1])
                current = scope._replace(input=Input(True, foreign, words))
            folders = list(self._known.folders)
            self._node(stage, current)
            if len(pipeline.stages) > 1:
                _join(self._known.folders, folders)

    def _timed(self, pipeline: Pipeline, scope: Scope) -> None:
        first = pipeline.stages[0]
        words = tuple(text_of(one.pieces, self.place).shown for one in first.words) if isinstance(first, Simple) else ()
        if not scope.silent:
            self.parts.append(Part((*pipeline.prefix, *words)))

    def _printed(self, stage: Node) -> tuple[str, ...]:
        """What an echo or printf in front of a pipe prints, as far as it is known."""
        if not isinstance(stage, Simple) or not stage.words or stage.words[0].text not in ("echo", "printf"):
            return ()
        words = [field for token in stage.words[1:] for field in guesses(token.pieces, self._known)]
        return tuple(word.replace("\\n", "\n") for word in words if word not in ("-n", "-e", "-en", "-ne"))

    def _node(self, node: Node, scope: Scope) -> None:
        if self._nodes >= MAX_NODES:
            self.deny(_too_deep())
            return
        self._nodes += 1
        if isinstance(node, Simple):
            self._simple(node, scope)
        else:
            self._compound(node, scope)
        self._nodes -= 1

    def _compound(self, node: Compound, scope: Scope) -> None:
        self._ask(_KINDS[node.kind], scope)
        head = [self._text(token, scope) for token in node.head]
        if node.kind in ("for", "select", "case", "[[", "((", "coproc") and not scope.silent:
            self.parts.append(Part((node.kind, *(head[1:] if node.kind in ("[[", "((") else head))))
        if node.kind in ("for", "select") and node.name.isidentifier():
            values = [field for token in node.head[2:] for field in guesses(token.pieces, self._known)]
            self._known.values[node.name] = values or [UNKNOWN]
        if node.kind == "function":
            self._function(node)
        folders = list(self._known.folders)
        before = self._foreign
        self._items(node.body, scope)
        if node.kind == "(":
            self._known.folders[:] = folders
        elif node.kind != "{":
            _join(self._known.folders, folders)
        self._redirects(node.redirects, scope, self._foreign > before)

    def _text(self, token: Token, scope: Scope) -> str:
        self._substitutions(token.pieces, scope)
        found = text_of(token.pieces, self.place)
        for sentence in found.reasons:
            self._ask(sentence, scope)
        return found.shown if token.kind == "word" else token.text

    def _function(self, node: Compound) -> None:
        called, multiplies = _names(node.body)
        self._calls[node.name] = (called, multiplies)
        reached: set[str] = set()
        waiting = [node.name]
        grows = False
        while waiting:
            name = waiting.pop()
            if name in self._calls and name not in reached:
                reached.add(name)
                grows = grows or self._calls[name][1]
                waiting += self._calls[name][0]
        for name in reached:
            if grows and name in self._calls and node.name in self._calls[name][0]:
                self.deny(_fork_bomb())

    def _substitutions(self, pieces: tuple[Piece, ...], scope: Scope, outward: bool = False, foreign: bool = False) -> bool:
        """Look at commands inside a word; whether one of them brings text from another machine."""
        before = self._foreign
        named = False
        for piece in pieces:
            named = named or piece.name in self._foreign_names
            if piece.kind == "process" and piece.text.startswith(">") and not outward:
                continue
            if piece.tokens:
                inner = scope._replace(input=Input(outward, foreign), unseen="")
                folders = list(self._known.folders)
                self.visit(read_tokens(piece.tokens), inner)
                self._known.folders[:] = folders
            if piece.inner:
                named = self._substitutions(piece.inner, scope) or named
        return named or self._foreign > before

    def _assignment(self, assignment: Assignment, scope: Scope, alone: bool) -> None:
        if self._substitutions(assignment.value, scope):
            self._foreign_names.add(assignment.name)
        what = "is set, which can change what later commands do" if alone else "is set for a program, which can change what it does"
        self._ask(f"{assignment.name}=… {what}", scope)
        fields = guesses(assignment.value, self._known)
        value = " ".join(fields)
        self._known.values[assignment.name] = [*self._known.values.get(assignment.name, [])[-3:], value]
        if " " in value:
            self._line(value, scope._replace(silent=True))

    def _simple(self, node: Simple, scope: Scope) -> None:
        for assignment in node.assignments:
            self._assignment(assignment, scope, alone=not node.words)
        arguments: list[Argument] = []
        shown: list[str] = []
        for token in node.words:
            foreign = self._substitutions(token.pieces, scope)
            text = text_of(token.pieces, self.place)
            shown.append(text.shown)
            if text.exact and not text.reasons:
                arguments.append(Argument(text.shown, text.shown))
                continue
            for sentence in text.reasons:
                self._ask(sentence, scope)
            found = [text.shown] if text.exact else guesses(token.pieces, self._known)
            single = len(found) == 1
            arguments += [Argument(text.shown if single else one, one, foreign) for one in found]
        scope = self._fed(node.redirects, scope)
        before = self._foreign
        if shown:
            self._command(arguments, tuple(shown), scope)
        foreign = self._foreign > before or scope.input.foreign
        for token in node.words:
            self._substitutions(tuple(one for one in token.pieces if one.kind == "process" and one.text[0] == ">"), scope, True, foreign)
        self._redirects(node.redirects, scope, foreign)
        self._bodies(node, arguments, scope)

    def _fed(self, redirects: tuple[Redirect, ...], scope: Scope) -> Scope:
        """The scope with the input that redirections give."""
        for redirect in redirects:
            if redirect.operator in ("<<", "<<-"):
                foreign = self._substitutions(redirect.body, scope)
                scope = scope._replace(input=Input(True, foreign))
            elif redirect.operator in ("<", "<<<", "<&", "<>") and redirect.target is not None:
                foreign = self._substitutions(redirect.target.pieces, scope)
                words = tuple(guesses(redirect.target.pieces, self._known)) if redirect.operator == "<<<" else ()
                scope = scope._replace(input=Input(True, foreign, words))
        return scope

    def _bodies(self, node: Simple, arguments: list[Argument], scope: Scope) -> None:
        """A here-document for a shell is a script."""
        feeds_shell = any(is_shell(one.guess.rpartition("/")[2]) for one in arguments)
        for redirect in node.redirects:
            if redirect.operator in ("<<", "<<-"):
                self._ask("a here-document feeds text to a program", scope)
                text = "".join(piece.text for piece in redirect.body)
                if feeds_shell:
                    self._line(text, scope)
                elif any(is_interpreter(one.guess.rpartition("/")[2]) for one in arguments[:3]):
                    name = next(one.guess.rpartition("/")[2] for one in arguments if is_interpreter(one.guess.rpartition("/")[2]))
                    self._hidden(self._call(name, ("-c", text), scope), scope)

    def _redirects(self, redirects: tuple[Redirect, ...], scope: Scope, foreign: bool) -> None:
        for redirect in redirects:
            if redirect.target is None or redirect.operator in ("<<", "<<-"):
                continue
            self._redirect(redirect, redirect.target, scope, foreign)

    def _redirect(self, redirect: Redirect, target: Token, scope: Scope, foreign: bool) -> None:
        if redirect.operator in (">", ">>", ">|", "&>", "&>>", ">&"):
            self._substitutions(target.pieces, scope, True, foreign)
        text = text_of(target.pieces, self.place)
        for sentence in text.reasons:
            self._ask(sentence, scope)
        if redirect.operator == "<<<":
            self._ask("a here-string feeds text to a program", scope)
            return
        if redirect.descriptor.startswith("{"):
            self._ask(f"{redirect.descriptor} opens a file under a name", scope)
        if text.exact and is_free(redirect.operator, text.shown):
            return
        reads = redirect.operator in ("<", "<&")
        for path in guesses(target.pieces, self._known):
            if not (reads and path == "/dev/null"):
                self.deny(hard.write_denial(path, self.place, tuple(self._known.folders)))
        if not scope.silent:
            self.parts.append(self._file_part(redirect.operator, text.shown, reads))

    def _file_part(self, operator: str, shown: str, reads: bool) -> Part:
        sign = "<" if reads else ">"
        paths = meanings(shown, self.place, self._known.folders)
        root = self.place.cwd.rstrip("/") + "/"
        normal = paths.absolute[0] if paths.absolute else shown
        words = (sign, normal.removeprefix(root))
        also = tuple(dict.fromkeys(((sign, shown), (operator, shown), *((sign, one) for one in paths.absolute))))
        reason = ""
        if shown.startswith(("/dev/tcp/", "/dev/udp/")):
            reason = f"{shown} is a connection to another machine"
        elif not reads and not is_inside(paths, self.place):
            reason = f"{shown} lies outside the working folder"
        elif not reads and (name := protected_name(paths, self.place)):
            reason = f"{shown} is protected ({name})"
        return Part(words, also, reason=reason)

    def _call(self, name: str, args: tuple[str, ...], scope: Scope) -> Call:
        unseen = "words" if scope.unseen == "words" else "paths" if scope.unseen else ""
        return Call(name, args, self.place, tuple(self._known.folders), unseen)

    def _command(self, arguments: list[Argument], shown: tuple[str, ...], scope: Scope) -> None:
        if not arguments:
            return
        word = arguments[0].guess
        name = word.rpartition("/")[2]
        args = tuple(one.guess for one in arguments[1:])
        if scope.unseen == "words" and scope.input.words:
            args = (*args, *(" ".join(scope.input.words).split()))
        call = self._call(name, args, scope)
        self.deny(hard.call_denial(call))
        self._input(call, arguments, scope)
        if brings_text(call):
            self._foreign += 1
        unwrapped = unwrap(call)
        if unwrapped is None or unwrapped.fault == "policy":
            reason = part_reason(call)
        else:
            reason = f"{name} {unwrapped.fault}" if unwrapped.fault else ""
        if name in ("read", "mapfile", "readarray"):
            self._sets(call, scope)
        if name in ("cd", "pushd"):
            reason = self._folder(call) or reason
        if not scope.silent:
            if found := needs_network(call):
                self.network[found] = None
            self.parts.append(self._part(shown, arguments, call, reason))
        self._hidden(call, scope)
        for inner in unwrapped.inner if unwrapped else ():
            self._inner(inner, arguments, scope)
        if unwrapped is None and reason.startswith("the flag"):
            self._suffixes(arguments, scope)

    def _part(self, shown: tuple[str, ...], arguments: list[Argument], call: Call, reason: str) -> Part:
        word = shown[0]
        if "/" in word:
            reason = reason or f"{word} names a program by its path"
        if not word.isascii() or not word:
            reason = f"{word!r} is an unusual name of a program"
        guess = tuple(one.guess for one in arguments)
        also: dict[tuple[str, ...], None] = {}
        for words in ((call.name, *shown[1:]), guess, (call.name, *guess[1:]), _without_globals(call)):
            if words and words != shown and not any(UNKNOWN in one for one in words):
                also[words] = None
        return Part(shown, tuple(also), self.place.program(word), reason)

    def _sets(self, call: Call, scope: Scope) -> None:
        """Names that hold what was read from now on."""
        for name in ("REPLY", "MAPFILE", *(word for word in call.args if word.isidentifier())):
            self._known.values[name] = [UNKNOWN]
            if scope.input.foreign:
                self._foreign_names.add(name)

    def _folder(self, call: Call) -> str:
        operands = [word for word in call.args if not word.startswith("-")]
        target = operands[0] if operands else self.place.home
        fault = leaves_folder(call) if call.name == "cd" else ""
        paths = meanings(target, self.place, self._known.folders)
        found = list(paths.absolute) if paths.known and "-" not in call.args else [UNKNOWN]
        self._known.folders[:] = found[:MAX_FOLDERS]
        return f"{call.name} {fault}" if fault else ""

    def _input(self, call: Call, arguments: list[Argument], scope: Scope) -> None:
        """What comes from another machine, or from anywhere unseen, must not become a program."""
        if arguments[0].foreign:
            self.deny(_foreign_code(call.name))
        if not (is_shell(call.name) or is_interpreter(call.name) or call.name in ("eval", "source", ".", "trap")):
            return
        takes_all = call.name in ("eval", "source", ".", "trap")
        for one in arguments[1:]:
            if one.foreign:
                self.deny(_foreign_code(call.name))
            if not takes_all and not one.guess.startswith("-"):
                break
        reads = _reads_program(call) or scope.unseen == "words" or (takes_all and UNKNOWN in "".join(call.args))
        if not reads or not scope.input.piped:
            return
        if scope.input.foreign:
            self.deny(_foreign_code(call.name))
        self._ask(f"{call.name} runs what it is fed", scope)
        if scope.input.words and is_shell(call.name):
            self._line(" ".join(scope.input.words), scope._replace(input=Input()))

    def _hidden(self, call: Call, scope: Scope) -> None:
        if call.name in ("python", "python3") or is_interpreter(call.name):
            self.deny(hard.call_denial(call))
        for line in hidden_lines(call):
            self._line(line, scope._replace(silent=True, input=Input()))

    def _inner(self, inner: Inner, arguments: list[Argument], scope: Scope) -> None:
        if inner.line is not None:
            for number, value in enumerate(inner.operands):
                self._known.values[str(number)] = [value]
            self._line(inner.line, scope._replace(unseen=""))
            return
        if scope.depth >= MAX_DEPTH:
            self.deny(_too_deep())
            return
        words = arguments[1:][inner.first : inner.last]
        if words:
            unseen = inner.unseen or scope.unseen
            shown = tuple(one.shown for one in words)
            self._command(list(words), shown, scope._replace(depth=scope.depth + 1, unseen=unseen))

    def _line(self, line: str, scope: Scope) -> None:
        """A text that a shell reads."""
        if scope.depth >= MAX_DEPTH:
            self.deny(_too_deep())
            return
        folders = list(self._known.folders)
        self.visit(read(line, scope.depth + 1), scope._replace(depth=scope.depth + 1))
        self._known.folders[:] = folders

    def _suffixes(self, arguments: list[Argument], scope: Scope) -> None:
        """A program that is not known may be a wrapper: what follows may be a command."""
        for place in range(1, min(len(arguments), 8)):
            name = arguments[place].guess.rpartition("/")[2]
            args = tuple(one.guess for one in arguments[place + 1 :])
            if args or name in ("reboot", "poweroff", "halt"):
                self.deny(hard.call_denial(self._call(name, args, scope)))


def _join(folders: list[str], more: list[str]) -> None:
    """Add folders that a command may be in as well."""
    for folder in more:
        if folder not in folders and len(folders) < MAX_FOLDERS:
            folders.append(folder)


def _reads_program(call: Call) -> bool:
    """Whether the program comes from the input: no file, no text among the words."""
    stdin = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
    if call.name in ("source", "."):
        return call.args[:1] and call.args[0] in stdin or False
    flags = [word for word in call.args if word.startswith("-") and len(word) > 1]
    operands = [word for word in call.args if not word.startswith("-") or word == "-"]
    if is_shell(call.name):
        clusters = "".join(word[1:] for word in flags if not word.startswith("--"))
        if "c" in clusters:
            return False
        return not operands or operands[0] in stdin or "s" in clusters
    if call.name in ("awk", "gawk", "mawk", "nawk", "java", "v", "R"):
        return False
    has_text = any(word[1:2] in ("c", "e", "m", "E", "r", "p", "n") or word in ("--eval", "--print", "--version", "--help") for word in flags)
    return not has_text and (not operands or operands[0] in stdin)


def _without_globals(call: Call) -> tuple[str, ...]:
    family = FAMILIES.get(call.name)
    if family is None:
        return ()
    options = read_options(family.flags, call.args)
    return (call.name, *options.operands) if options.operands else ()


def _names(items: tuple[Item, ...]) -> tuple[set[str], bool]:
    """Programs that are called, and whether two of them run at once."""
    names: set[str] = set()
    multiplies = False
    waiting = list(items)
    while waiting:
        item = waiting.pop()
        multiplies = multiplies or item.background or len(item.pipeline.stages) > 1
        for stage in item.pipeline.stages:
            if isinstance(stage, Compound):
                waiting += stage.body
            elif stage.words:
                names |= {token.text.strip("'\"\\") for token in stage.words[:3]}
    return names, multiplies


def _too_deep() -> ToolError:
    return hard.refuse("commands are nested too deep to be understood", "say it in fewer steps, one inside the other")


def _fork_bomb() -> ToolError:
    return hard.refuse("this starts copies of itself without end", "start a fixed number of processes")


def _foreign_code(name: str) -> ToolError:
    return hard.refuse(
        f"text from another machine would run in {name} without anybody having seen it",
        "download it to a file, read it, then ask to run the file",
    )


