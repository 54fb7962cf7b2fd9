"""The error dictionary that ships, what its loader refuses, and dictionaries of users."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from rank_logs import failing, raised

from pytest_mindspeed_migration.catalogue import OWNERS as STAGE_OWNERS
from pytest_mindspeed_migration.catalogue import load_catalogue
from pytest_mindspeed_migration.remedies import OWNERS, STAGES
from pytest_mindspeed_migration.triage import load_dictionary, read_text
from pytest_mindspeed_migration.triage.dictionary import (
    UNOWNED_STAGE,
    DictionaryError,
    Entry,
    read_entries,
)
from pytest_mindspeed_migration.triage.scan import Scan, Scanner

DICTIONARY = load_dictionary()
SCANNER = Scanner(DICTIONARY)
VALID: dict[str, Any] = {
    "pattern": "ToyError: no (?P<what>\\w+)",
    "owner": "model",
    "text": {"en": "toy", "zh": "玩具"},
    "cause": {"en": "a toy", "zh": "玩具"},
    "fix": "play",
}


@pytest.mark.parametrize("entry", DICTIONARY.entries, ids=lambda entry: entry.id)
def test_texts_are_in_both_languages_and_examples_match(entry: Entry) -> None:
    for lang, stop in (("en", "."), ("zh", "。")):
        assert entry.cause[lang].endswith(stop)
        assert all(action.endswith(stop) for action in entry.fix[lang])
        assert not entry.text[lang].endswith(stop)
    assert any("\u4e00" <= char <= "\u9fff" for char in entry.cause["zh"])
    assert len(entry.fix["en"]) == len(entry.fix["zh"])
    assert entry.examples
    for example in entry.examples:
        assert any(entry.pattern.search(line) for line in example.split("\n"))


@pytest.mark.parametrize(
    ("entry", "example"),
    [(entry, example) for entry in DICTIONARY.entries for example in entry.examples if entry.role == "cause"],
    ids=lambda value: value.id if isinstance(value, Entry) else "",
)
def test_an_example_is_found_in_a_log_of_several_ranks(entry: Entry, example: str) -> None:
    diagnosis = read_text(failing(example), DICTIONARY)
    assert diagnosis is not None
    assert (diagnosis.entry, diagnosis.owner, diagnosis.status) == (entry.id, entry.owner, "cause")
    assert diagnosis.place.rank == 2
    assert {folded.entry for folded in diagnosis.consequences} >= {"elastic_child_failed", "peer_lost"}


@pytest.mark.parametrize("entry", DICTIONARY.entries, ids=lambda entry: entry.id)
def test_an_example_amid_a_long_log_passes_a_gate(entry: Entry) -> None:
    block = ("\n".join(raised(entry.examples[0])) + "\n").encode()
    scan = Scan()
    SCANNER._scan_block(block, scan, SCANNER._lines_of_gates(block))
    hits = [hit for slot in scan.slots.values() for hit in slot.hits]
    assert scan.tracebacks or any(entry in hit.entries for hit in hits)


def test_a_consequence_or_wrapper_alone_is_never_called_a_cause() -> None:
    for entry in DICTIONARY.entries:
        if entry.role != "cause":
            diagnosis = read_text(entry.examples[0] + "\n", DICTIONARY)
            assert diagnosis is not None
            assert (diagnosis.entry, diagnosis.status, diagnosis.confidence) == (entry.id, "consequence", "low")


def test_every_owner_goes_to_a_migration_stage() -> None:
    assert set(STAGES) == set(OWNERS)
    assert {*STAGES.values(), UNOWNED_STAGE} <= set(STAGE_OWNERS)


def test_every_symptom_of_a_contract_can_be_caught_by_it() -> None:
    for contract in load_catalogue().contracts:
        for symptom in contract.symptoms:
            assert symptom in DICTIONARY.by_id, contract.id


def test_few_gates_because_each_costs_time_on_every_byte() -> None:
    assert len(SCANNER.gates) <= 20


def write(folder: Path, **entries: Any) -> Path:
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump(entries, allow_unicode=True), encoding="utf-8")
    return path


def test_an_entry_of_the_user_comes_first(tmp_path: Path) -> None:
    own = DICTIONARY.extended(write(tmp_path, mine={**VALID, "pattern": "NPU out of memory"}))
    diagnosis = read_text(failing("RuntimeError: NPU out of memory. Tried to allocate 1.00 GiB"), own)
    assert diagnosis is not None
    assert (diagnosis.entry, diagnosis.owner, diagnosis.fix["zh"]) == ("mine", "model", ("play",))


def test_an_entry_of_the_user_replaces_one_of_the_same_id(tmp_path: Path) -> None:
    own = DICTIONARY.extended(write(tmp_path, npu_out_of_memory=VALID))
    assert len(own.entries) == len(DICTIONARY.entries)
    assert own.by_id["npu_out_of_memory"].owner == "model"


def test_a_printed_line_of_the_user_is_found_in_a_long_log(tmp_path: Path) -> None:
    own = DICTIONARY.extended(write(tmp_path, mine={**VALID, "pattern": "toy has gone", "source": "printed"}))
    filler = "all is well\n" * 200_000
    diagnosis = read_text(f"{filler}[rank1]: toy has gone\n{filler}", own)
    assert diagnosis is not None
    assert (diagnosis.entry, diagnosis.place.line, diagnosis.place.rank) == ("mine", 200_001, 1)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"pattern": None}, "mine.pattern"),
        ({"pattern": "(unclosed Error"}, "mine.pattern"),
        ({"pattern": "\\d+"}, "mine.pattern"),
        ({"pattern": "some Error|.*"}, "mine.pattern"),
        ({"owner": "nobody"}, "mine.owner"),
        ({"role": "hero"}, "mine.role"),
        ({"source": "rumour"}, "mine.source"),
        ({"silent": "yes"}, "mine.silent"),
        ({"colour": "red"}, "mine.colour"),
        ({"text": {"en": "only"}}, "mine.text"),
        ({"text": {"en": "a", "zh": ""}}, "mine.text.zh"),
        ({"fix": {"en": ["a"]}}, "mine.fix"),
        ({"fix": [1]}, "mine.fix"),
        ({"when": {"colour": 1}}, "mine.when.colour"),
        ({"when": {"numbers": "other > 1"}}, "mine.when.numbers"),
        ({"when": {"numbers": "__import__('os')"}}, "mine.when.numbers"),
        ({"when": {"near": "("}}, "mine.when.near"),
        ({"when": {"misspelt": {"other": ["a"]}}}, "mine.when.misspelt"),
        ({"when": {"seen": "no_such"}}, "mine.when"),
        ({"explains": ["no_such"]}, "mine.explains"),
        ({"ambiguous_with": {"no_such": "x"}}, "mine.ambiguous_with"),
        ({"catchable_at": {"level": "moon"}}, "mine.catchable_at.level"),
        ({"catchable_at": {"contracts": ["no.such"]}}, "mine.catchable_at"),
    ],
)
def test_a_malformed_entry_is_refused_by_file_and_key(tmp_path: Path, change: dict[str, Any], place: str) -> None:
    path = write(tmp_path, mine={**VALID, **change})
    with pytest.raises(DictionaryError) as error:
        DICTIONARY.extended(path)
    assert (error.value.file, error.value.place) == (str(path), place)


@pytest.mark.parametrize("content", ["- a list", "a: [", "mine: text", "a: 1\na: 2"])
def test_a_file_that_is_no_dictionary_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DictionaryError):
        read_entries(path)


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    entry = {key: value for key, value in VALID.items() if key != "cause"}
    with pytest.raises(DictionaryError, match=r"mine\.cause: is missing"):
        read_entries(write(tmp_path, mine=entry))
