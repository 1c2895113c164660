"""Makes commands of every kind from a seed: plain ones that are rebuilt, and constructs around them."""

from random import Random

PROGRAMS = (
    "alpha",
    "beta",
    "git",
    "ls",
    "nope",
    "gamma-2",
    "x_y",
    "make",
    "é",
    "a.b",
    "grep",
    "if1",
    "time2",
    "beep",
)
_PLAIN = (
    "a",
    "-l",
    "--flag=x",
    "x.y",
    "a=b",
    "-",
    "--",
    "k:v",
    "@a",
    "%p",
    "+x",
    "^a",
    "{}",
    "{a}",
    "a{b",
    "HEAD@{1}",
    "1",
    "22",
    "=",
    "a#b",
    "!",
    "!x",
    "é",
    "日本",
    "a]b",
    "in",
    "do",
    "fi",
    "then",
    "if",
    "for",
    "time",
    "}",
    "{",
    "]",
)
_INSIDE = " \t|&;<>()#*?[]{}~!=a-b\n\\x日"
_SPACES = (" ", "  ", "\t", " \\\n ", " \t ")


def word(random: Random) -> str:
    """One argument in some spelling that bash passes on unchanged but for its quotes."""
    return "".join(_piece(random) for _ in range(random.choice((1, 1, 1, 2, 3))))


def _piece(random: Random) -> str:
    kind = random.randrange(9)
    text = "".join(random.choice(_INSIDE) for _ in range(random.randrange(6)))
    if kind < 4:
        return random.choice(_PLAIN)
    if kind == 4:
        return "'" + text + random.choice(("", '"', "$x", "`", "$(a)")) + "'"
    if kind == 5:
        escaped = text.replace("\\", "\\\\").replace("!", "")
        return '"' + escaped + random.choice(("", "'", "\\$x", "\\`", '\\"', "\\a", "\\\n", "$", "$ ")) + '"'
    if kind == 6:
        return "\\" + random.choice(" |&;<>()$`\"'*?#~a\\!{")
    if kind == 7:
        return random.choice(("''", '""', "a\\\nb"))
    return "$'" + random.choice(("a b", "\\n", "\\t", "it\\'s", "\\\\")) + "'"


def simple(random: Random) -> str:
    """A program with arguments and harmless redirections."""
    name = random.choice(PROGRAMS)
    if random.random() < 0.15:
        name = random.choice(
            (f"'{name}'", f'"{name}"', f"\\{name}", f"{name[:1]}''{name[1:]}", f"{name[:1]}\\\n{name[1:]}")
        )
    words = [name, *(word(random) for _ in range(random.randrange(4)))]
    if random.random() < 0.15:
        place = random.randrange(1, len(words) + 1)
        words.insert(
            place,
            random.choice(
                (
                    ">/dev/null",
                    "2>&1",
                    "2>/dev/null",
                    "> /dev/null",
                    "</dev/null",
                    "&>/dev/null",
                    "1>&2",
                    "> out.txt",
                    "2>>'e r r'",
                    "< /dev/null",
                )
            ),
        )
    return "".join(one + random.choice(_SPACES) for one in words[:-1]) + words[-1]


def plain(random: Random) -> str:
    """A list of pipelines of simple commands."""
    text = simple(random)
    for _ in range(random.choice((0, 0, 0, 1, 1, 2, 4))):
        joint = random.choice(
            (
                " && ",
                "&&",
                " || ",
                "||",
                "; ",
                ";",
                "\n",
                " | ",
                "|",
                " # note; x\n",
                " &&\n",
                " |\n",
                ";\n\n",
                " |& ",
            )
        )
        text += joint + simple(random)
    return text + random.choice(("", "", "", ";", "\n", " # end", "  "))


def anything(random: Random, depth: int = 0) -> str:
    """Commands inside constructs that are never rebuilt."""
    if depth > 3 or random.random() < 0.25:
        return simple(random)
    inner, other = anything(random, depth + 1), anything(random, depth + 1)
    shape = random.choice(_SHAPES).replace("FFF", f"f{random.randrange(10**9)}")  # its own name: no recursion
    return shape.replace("AAA", inner).replace("BBB", other)


_SHAPES = (
    "( AAA )",
    "(AAA)",
    "{ AAA\n}",
    "if AAA\nthen BBB\nfi",
    "if AAA\nthen BBB\nelse alpha\nfi",
    "for v in 1 2\ndo AAA\ndone",
    "for v in 1\ndo AAA\nBBB\ndone",
    "case x in x) AAA\n;; y) BBB\n;; esac",
    "case x in (y) BBB\n;; *) AAA\n;; esac",
    "FFF() { AAA\n}\nFFF",
    "function FFF { AAA\n}\nFFF",
    "! AAA",
    "AAA\nBBB",
    "AAA &\nBBB",
    "X=1 AAA",
    "X=1\nAAA",
    "alpha $(AAA\n)",
    'alpha "$(AAA\n)" b',
    "alpha x$(BBB\n)y | AAA",
    "cat <<EOF\n$(AAA\n)\nEOF\nBBB",
    "cat <<'EOF'\nno $(x) here\nEOF\nAAA",
    "cat <<-EOF\n\ta\n\tEOF\nAAA",
    "alpha <<< x\nAAA",
    "alpha < <(AAA\n)",
    "alpha > >(AAA\n)",
    "alpha ${x:-$(AAA\n)}",
    "[[ a == a ]] && AAA",
    "(( 1 + 1 )) && AAA",
    "alpha $((1 + 2)) \nAAA",
    "until alpha\ndo AAA\ndone",
    "AAA\n\nBBB",
    "a=(x y)\nAAA",
    "alpha {a,b}\nAAA",
    "alpha *.txt\nAAA",
    "alpha ~/x\nAAA",
    "{ AAA\n} > out.txt",
    "(AAA\n) 2>&1 | beta",
    "while nope\ndo BBB\ndone\nAAA",
    "for ((i=0;i<2;i++))\ndo AAA\ndone",
    "alpha `beta x`\nAAA",
    "time AAA",
    "AAA |& beta",
    "select v in a\ndo AAA\ndone",
    'alpha "${x:+$(AAA\n)}"\nBBB',
)
