"""Walks the tree of a command, into every text inside it, and records what the gate must know."""

from limnos.agent.shell.feeding import fed, foreign_code, is_network_file
from limnos.agent.shell.functions import Functions, fork_bomb, starts_itself_twice, starts_without_end
from limnos.agent.shell.grammar import (
    Assignment,
    Compound,
    Item,
    Node,
    Pipeline,
    Redirect,
    Simple,
    Tree,
    read,
    read_tokens,
)
from limnos.agent.shell.hard import TEXT_ONLY, call_denial, entered_folders, file_denial
from limnos.agent.shell.hidden import hidden_lines
from limnos.agent.shell.lexer import TOO_DEEP
from limnos.agent.shell.machine import stops_surely
from limnos.agent.shell.network import brings_text, needs_network
from limnos.agent.shell.options import Call
from limnos.agent.shell.parts import KINDS, command_part, file_part
from limnos.agent.shell.pieces import Piece, Token, takes_output
from limnos.agent.shell.place import MAX_FOLDERS, UNKNOWN, Place, join, meanings
from limnos.agent.shell.policies.builtins import leaves_folder
from limnos.agent.shell.policies.judging import is_listed
from limnos.agent.shell.policies.unsafe import is_interpreter, is_shell
from limnos.agent.shell.rebuild import is_free
from limnos.agent.shell.record import NO_INPUT, OUTSIDE, Argument, Input, Record, Scope
from limnos.agent.shell.values import (
    LEARNS,
    READERS,
    SETTERS,
    learned,
    positional,
    printed_by,
    text_of_document,
)
from limnos.agent.shell.words import guesses, start, text_of
from limnos.agent.shell.wrappers import Inner, Unwrapped, reason_of, unwrap
from limnos.kernel.findings import Part

MAX_DEPTH = 12  # texts and wrappers inside each other
MAX_NODES = 45  # constructs inside each other, whatever they are
MAX_CALLS = 16  # of functions whose bodies are looked at again
_PRINTS = frozenset({"echo", "printf"})
_WITH_HEAD = frozenset({"for", "select", "case", "[[", "((", "coproc"})
_WRITES = frozenset({">", ">>", ">|", "&>", "&>>", ">&"})
_HERE_DOCUMENTS = frozenset({"<<", "<<-"})


class Collector:
    """Looks at one command; `place` says where it would run, `record` has what was found."""

    def __init__(self, place: Place) -> None:
        self.record = Record()
        self._place = place
        self._known = start(place)
        self._functions = Functions()
        self._nodes = 0
        self._foreign = 0  # commands so far that print what another machine sent
        self._foreign_names: set[str] = set()
        self._connected = False  # a descriptor is a connection to another machine
        self._called: list[str] = []  # functions whose bodies were looked at for their calls

    def visit(self, tree: Tree, scope: Scope = OUTSIDE) -> None:
        """Look at everything in `tree`."""
        if TOO_DEEP in tree.faults:
            self.record.deny_depth()
        for fault in tree.faults:
            self.record.ask(f"this cannot be read: {fault}", scope)
        self._items(tree.items, scope)

    def visit_words(self, words: tuple[str, ...]) -> None:
        """Look at a command whose words are known, whoever found it."""
        self._command([Argument(word, word, word) for word in words], words, OUTSIDE)

    def _items(self, items: tuple[Item, ...], scope: Scope) -> None:
        """Behind `&&` a `cd` has worked; elsewhere it may have failed, then both folders count."""
        if starts_itself_twice(items):
            self.record.deny(fork_bomb())
        folders = self._known.folders
        seen = list(folders)
        for item in items:
            if item.background:
                self.record.ask("& runs a command beside the others", scope)
            if item.after != "&&" and len(seen) > 1:
                folders[:] = seen
            self._pipeline(item.pipeline, scope)
            join(seen, folders)

    def _pipeline(self, pipeline: Pipeline, scope: Scope) -> None:
        if "!" in pipeline.prefix:
            self.record.ask("! turns a result round", scope)
        if "time" in pipeline.prefix:
            first = pipeline.stages[0]
            words = [self._text(one, scope) for one in first.words] if isinstance(first, Simple) else []
            self.record.part(Part((*pipeline.prefix, *words)), scope)
        before = self._foreign
        current = scope
        for number, stage in enumerate(pipeline.stages):
            if number:
                foreign = scope.input.foreign or self._foreign > before
                words = printed_by(pipeline.stages[number - 1], self._known)
                current = scope._replace(input=Input(True, foreign, words))
            folders = list(self._known.folders)
            self._node(stage, current)
            if len(pipeline.stages) > 1:
                join(self._known.folders, folders)

    def _node(self, node: Node, scope: Scope) -> None:
        if self._nodes >= MAX_NODES:
            self.record.deny_depth()
            return
        self._nodes += 1
        if isinstance(node, Simple):
            self._simple(node, scope)
        else:
            self._compound(node, scope)
        self._nodes -= 1

    def _compound(self, node: Compound, scope: Scope) -> None:
        self.record.ask(KINDS[node.kind], scope)
        if starts_without_end(node):
            self.record.deny(fork_bomb())
        scope = self._with_input(node.redirects, scope)
        for token in node.head:
            self._substitutions(token.pieces, scope)
        head = [self._text(token, scope) for token in node.head]
        if node.kind in _WITH_HEAD:
            self.record.part(Part((node.kind, *(head[1:] if node.kind in ("[[", "((") else head))), scope)
        if node.kind in ("for", "select") and node.name.isidentifier():
            values = [field for token in node.head[2:] for field in guesses(token.pieces, self._known)]
            self._known.values[node.name] = values or [UNKNOWN]
        if node.kind == "function":
            self.record.deny(self._functions.define(node.name, node.body))
        folders = list(self._known.folders)
        before = self._foreign
        self._items(node.body, scope)
        if node.kind == "(":
            self._known.folders[:] = folders
        elif node.kind != "{":
            join(self._known.folders, folders)
        self._redirects(node.redirects, scope, self._foreign > before)

    def _text(self, token: Token, scope: Scope) -> str:
        found = text_of(token.pieces, self._place)
        for sentence in found.reasons:
            self.record.ask(sentence, scope)
        return found.shown if token.kind == "word" else token.text

    def _substitutions(self, pieces: tuple[Piece, ...], scope: Scope) -> bool:
        """Look at commands inside a word; whether it holds what another machine sent."""
        before = self._foreign
        foreign = False
        for piece in pieces:
            foreign = foreign or piece.name in self._foreign_names
            if piece.tokens and not takes_output(piece):
                foreign = foreign or (scope.input.foreign and piece.kind == "command")
                self._inside(piece, scope._replace(input=Input(False, scope.input.foreign), unseen=""))
            if piece.inner:
                foreign = self._substitutions(piece.inner, scope) or foreign
        return foreign or self._foreign > before

    def _outputs(self, pieces: tuple[Piece, ...], scope: Scope, foreign: bool) -> None:
        """`>(…)` in a word: a command that reads what this one writes."""
        for piece in pieces:
            if piece.tokens and takes_output(piece):
                self._inside(piece, scope._replace(input=Input(True, foreign), unseen=""))

    def _inside(self, piece: Piece, scope: Scope) -> None:
        folders = list(self._known.folders)
        self.visit(read_tokens(piece.tokens), scope)
        self._known.folders[:] = folders

    def _assignment(self, assignment: Assignment, scope: Scope, alone: bool) -> None:
        if self._substitutions(assignment.value, scope):
            self._foreign_names.add(assignment.name)
        whom = "what later commands do" if alone else "what the program does"
        self.record.ask(f"{assignment.name}=… is set, which can change {whom}", scope)
        value = " ".join(guesses(assignment.value, self._known))
        self._known.values[assignment.name] = [*self._known.values.get(assignment.name, [])[-3:], value]
        if " " in value:
            self._line(value, scope._replace(silent=True, hints=not scope.silent))

    def _simple(self, node: Simple, scope: Scope) -> None:
        for assignment in node.assignments:
            self._assignment(assignment, scope, alone=not node.words)
        arguments: list[Argument] = []
        shown: list[str] = []
        for token in node.words:
            foreign = self._substitutions(token.pieces, scope)
            text = text_of(token.pieces, self._place)
            shown.append(text.shown)
            for sentence in text.reasons:
                self.record.ask(sentence, scope)
            found = [text.shown] if text.exact else guesses(token.pieces, self._known)
            written = "".join(piece.text for piece in token.pieces)
            if len(found) == 1:
                arguments.append(Argument(text.shown, found[0], written, foreign))
            else:
                arguments += [Argument(one, one, one, foreign) for one in found]
        scope = self._with_input(node.redirects, scope)
        before = self._foreign
        if arguments:
            self._command(arguments, tuple(shown), scope)
        foreign = self._foreign > before or scope.input.foreign
        for token in node.words:
            self._outputs(token.pieces, scope, foreign)
        if node.redirects:
            name = arguments[0].guess.rpartition("/")[2] if arguments else ""
            self._redirects(node.redirects, scope._replace(program=name), foreign)
            self._here_documents(node, arguments, scope)

    def _with_input(self, redirects: tuple[Redirect, ...], scope: Scope) -> Scope:
        """The scope with the input that redirections give."""
        for redirect in redirects:
            if redirect.operator in _HERE_DOCUMENTS:
                foreign = self._substitutions(redirect.body, scope)
                scope = scope._replace(input=Input(True, foreign, (text_of_document(redirect.body),)))
            elif redirect.operator in ("<", "<<<", "<&", "<>") and redirect.target is not None:
                pieces = redirect.target.pieces
                foreign = self._substitutions(pieces, scope) or self._is_connected(redirect)
                words = tuple(guesses(pieces, self._known)) if redirect.operator == "<<<" else ()
                scope = scope._replace(input=Input(True, foreign, words))
                self._foreign += foreign and redirect.operator != "<<<"
        return scope

    def _is_connected(self, redirect: Redirect) -> bool:
        """Whether a redirection reads from another machine; from now on descriptors may as well."""
        text = redirect.target.text if redirect.target is not None else ""
        if is_network_file(text.strip("'\"")):
            self._connected = True
        return self._connected and (redirect.operator == "<&" or is_network_file(text.strip("'\"")))

    def _here_documents(self, node: Simple, arguments: list[Argument], scope: Scope) -> None:
        """For a shell the text is a script, for an interpreter a program."""
        texts = [one.body for one in node.redirects if one.operator in _HERE_DOCUMENTS]
        names = [one.guess.rpartition("/")[2] for one in arguments[:6]]
        for body in texts:
            self.record.ask("a here-document feeds text to a program", scope)
            text = text_of_document(body)
            if any(map(is_shell, names)):
                self._line(text, scope)
            elif interpreter := next(filter(is_interpreter, names), ""):
                self._code(interpreter, text, scope)

    def _code(self, interpreter: str, text: str, scope: Scope) -> None:
        """A program that an interpreter is fed."""
        call = self._call(interpreter, ("-c", text), scope)
        self.record.deny(call_denial(call))
        self._hidden(call, scope)

    def _redirects(self, redirects: tuple[Redirect, ...], scope: Scope, foreign: bool) -> None:
        for redirect in redirects:
            if redirect.target is not None and redirect.operator not in _HERE_DOCUMENTS:
                self._redirect(redirect, redirect.target, scope, foreign)

    def _redirect(self, redirect: Redirect, target: Token, scope: Scope, foreign: bool) -> None:
        if redirect.operator in _WRITES:
            self._substitutions(target.pieces, scope)
            self._outputs(target.pieces, scope, foreign)
        shown = self._text(target, scope)
        if redirect.operator == "<<<":
            self.record.ask("a here-string feeds text to a program", scope)
            return
        if redirect.descriptor.startswith("{"):
            self.record.ask(f"{redirect.descriptor} opens a file under a name", scope)
        if is_free(redirect.operator, shown):
            return
        if is_network_file(shown) and is_shell(scope.program):
            self.record.deny(foreign_code(scope.program))
        for path in guesses(target.pieces, self._known):
            self.record.deny(file_denial(path, self._place, tuple(self._known.folders)))
        self.record.part(file_part(redirect.operator, shown, self._place, self._known.folders), scope)

    def _call(self, name: str, args: tuple[str, ...], scope: Scope) -> Call:
        return Call(name, args, self._place, tuple(self._known.folders), scope.unseen)

    def _command(self, arguments: list[Argument], shown: tuple[str, ...], scope: Scope) -> None:
        name = arguments[0].guess.rpartition("/")[2]
        args = tuple(one.guess for one in arguments[1:])
        if scope.unseen == "words":
            args = (*args, *" ".join(scope.input.words).split())
        call = self._call(name, args, scope)
        entered = entered_folders(call)
        wide = call._replace(folders=(*call.folders, *entered)) if entered else call
        self.record.deny(call_denial(wide))
        self._fed(call, arguments, scope)
        self._foreign += brings_text(call)
        self._foreign += name in _PRINTS and any(one.foreign for one in arguments)
        unwrapped = unwrap(call)
        reason = reason_of(call, unwrapped)
        if name in LEARNS:
            self._learn(call, arguments, scope)
        if name in ("cd", "pushd"):
            reason = self._enters(call) or reason
        if (found := needs_network(call)) and not scope.silent:
            self.record.network[found] = None
        self.record.part(command_part(shown, arguments, call, reason), scope)
        self._hidden(call, scope)
        if unwrapped is not None:
            self._wrapped(unwrapped, arguments, entered, scope)
        elif args and (reason.startswith("the flag") or not (name in TEXT_ONLY or is_listed(name))):
            self._suffixes(arguments, scope)
        if body := self._functions.body(name):
            self._function_body(body, call, scope)

    def _wrapped(
        self, unwrapped: Unwrapped, arguments: list[Argument], entered: tuple[str, ...], scope: Scope
    ) -> None:
        """The commands inside a command, in the folders that it `entered` as well."""
        before = list(self._known.folders)
        join(self._known.folders, entered)
        for inner in unwrapped.inner:
            self._inner(inner, arguments, scope)
        if entered:
            self._known.folders[:] = before

    def _learn(self, call: Call, arguments: list[Argument], scope: Scope) -> None:
        """Variables that from now on hold something else."""
        self._known.values.update(learned(call, scope.input.words))
        if call.name in READERS and scope.input.foreign:
            self._foreign_names.update(learned(call, ()))
        if call.name in SETTERS:
            words = (one.written.partition("=")[0] for one in arguments if one.foreign)
            self._foreign_names.update(word for word in words if word.isidentifier())

    def _function_body(self, body: tuple[Item, ...], call: Call, scope: Scope) -> None:
        """What a function does with the words of this call."""
        if call.name in self._called or len(self._called) >= MAX_CALLS:
            return
        self._called.append(call.name)
        before = dict(self._known.values)
        self._known.values.update(positional(call.args, call.name))
        self._items(body, scope._replace(silent=True))
        self._known.values.clear()
        self._known.values.update(before)

    def _enters(self, call: Call) -> str:
        """Follow a `cd`; why the commands behind it run where nobody looked."""
        operands = [word for word in call.args if not word.startswith("-")]
        fault = leaves_folder(call) if call.name == "cd" else ""
        paths = meanings(operands[0] if operands else self._place.home, self._place, self._known.folders)
        found = list(paths.absolute) if paths.known and "-" not in call.args else [UNKNOWN]
        self._known.folders[:] = found[:MAX_FOLDERS]
        return f"{call.name} {fault}" if fault else ""

    def _fed(self, call: Call, arguments: list[Argument], scope: Scope) -> None:
        """What comes from another machine, or from anywhere unseen, must not become a program."""
        found = fed(call, arguments, scope)
        self.record.deny(found.denied)
        if found.asks:
            self.record.ask(found.asks, scope)
        if found.line:
            self._line(found.line, scope._replace(input=NO_INPUT))
        if found.code:
            self._code(call.name, found.code, scope)

    def _hidden(self, call: Call, scope: Scope) -> None:
        for hidden in hidden_lines(call):
            silent = scope.silent or not hidden.certain
            hints = hidden.likely and (scope.hints or not scope.silent)
            self._line(hidden.line, scope._replace(silent=silent, hints=hints, input=NO_INPUT))

    def _inner(self, inner: Inner, arguments: list[Argument], scope: Scope) -> None:
        if inner.line is not None:
            if inner.operands:
                self._known.values.update(positional(inner.operands[1:], inner.operands[0]))
            self._line(inner.line, scope._replace(unseen=""))
            return
        words = arguments[1:][inner.first : inner.last]
        if scope.depth >= MAX_DEPTH:
            self.record.deny_depth()
        elif words:
            unseen = inner.unseen or scope.unseen
            shown = tuple(one.shown for one in words)
            self._command(words, shown, scope._replace(depth=scope.depth + 1, unseen=unseen))

    def _line(self, line: str, scope: Scope) -> None:
        """A text that a shell reads."""
        if scope.depth >= MAX_DEPTH:
            self.record.deny_depth()
            return
        folders = list(self._known.folders)
        self.visit(read(line, scope.depth + 1), scope._replace(depth=scope.depth + 1))
        self._known.folders[:] = folders

    def _suffixes(self, arguments: list[Argument], scope: Scope) -> None:
        """A program that is not known may be a wrapper: what follows may be a command."""
        for place in range(1, min(len(arguments), 8)):
            name = arguments[place].guess.rpartition("/")[2]
            args = tuple(one.guess for one in arguments[place + 1 : place + 100])
            call = self._call(name, args, scope)
            self.record.deny(call_denial(call) if args and stops_surely(call) else None)
            self.record.hint((name, *args), scope=scope)
