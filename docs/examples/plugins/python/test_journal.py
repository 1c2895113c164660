"""Run it with: limnos plugins test docs/examples/plugins/python"""

import unittest
from pathlib import Path

from journal import plugin

from limnos.sdk.harness import Surroundings, in_process, over_wire
from limnos.sdk.plugin import PASS

NAMED = Surroundings(settings={"signature": "Yours, limnos"})


class JournalTest(unittest.TestCase):
    def test_a_note_is_found_again(self) -> None:
        with in_process(plugin) as journal:
            journal.call("journal_add", {"text": "Water the plants"})

            self.assertEqual(journal.call("journal_find", {"word": "water"}).text, "Water the plants")
            self.assertEqual(journal.call("journal_find", {"word": "sun"}).error.reason, "not_found")

    def test_an_answer_is_signed_when_there_is_a_signature(self) -> None:
        with in_process(plugin, NAMED) as journal:
            signed = journal.stage("sign", {"text": "Done."})
            journal.change_settings({"signature": ""})

            self.assertEqual(signed.payload["text"], "Done.\n\nYours, limnos")
            self.assertEqual(journal.stage("sign", {"text": "Done."}), PASS)

    def test_a_long_count_tells_how_far_it_is_and_can_be_stopped(self) -> None:
        with over_wire(Path(__file__).parent) as journal:
            counting = journal.begin("journal_count", {"text": "word " * 1_000_000})
            journal.peer.until(lambda: bool(journal.progress))
            journal.cancel(counting)

            self.assertEqual(journal.result(counting).error.detail, "the call was stopped")

    def test_a_text_is_written_onto_a_page(self) -> None:
        with in_process(plugin) as journal:
            journal.send("page", "monday", "Rain.")

            self.assertEqual(journal.call("journal_find", {"word": "rain"}).text, "[monday] Rain.")
            self.assertEqual(journal.logs, ["wrote onto the page monday"])


if __name__ == "__main__":
    unittest.main()
