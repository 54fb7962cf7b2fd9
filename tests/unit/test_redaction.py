"""What counts as a secret, and what only looks like one in this domain."""

from __future__ import annotations

import pytest

from pytest_mindspeed_migration.evidence.redact import redact, redact_all


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("git clone https://user:s3cr3t@host/x.git", "s3cr3t"),
        ("https://ghp_abcdefghijklmnopqrstuvwx@github.com/x", "ghp_abc"),
        ("HF_TOKEN=abcdefgh python train.py", "abcdefgh"),
        ("export HF_TOKEN='hf_abcdefghijklmnopqrst'", "hf_abc"),
        ("password: hunter2", "hunter2"),
        ("pa\u017f\u017fword: hunter2", "hunter2"),
        ("github_pat_abcdefghijklmnopqrstuvwx", "abcdefghijk"),
        ("gho_abcdefghijklmnopqrstuvwx", "gho_abc"),
        ('{"password": "hun ter2"}', "hun ter2"),
        ("--api-key abc123", "abc123"),
        ("AWS_SECRET_ACCESS_KEY=abc/def", "abc/def"),
        ("KEY=opensesame", "opensesame"),
        ("Authorization: Bearer abcdefghijk.lmnop", "abcdefghijk"),
        ("token: 0123456789abcdef0123", "0123456789abcdef0123"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abc", "eyJhbGci"),
    ],
)
def test_secrets_are_masked(text: str, secret: str) -> None:
    assert secret not in redact(text)
    assert "***" in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "image_token_id: 151655",
        "image_token: <IMG_CONTEXT>",
        "pad_token=<|endoftext|>",
        "num_tokens: 4096",
        "examples/a/b.yaml:12 model.model_id: missing key",
        "KeyError: 'model_id'",
        "see https://gitee.com/ascend/MindSpeed-MM",
        "author: somebody",
        "tokenizer: /models/qwen",
    ],
)
def test_ordinary_text_of_this_domain_stays(text: str) -> None:
    assert redact(text) == text


def test_nested_values_are_redacted_and_keep_their_types() -> None:
    value = {"a": ["password=x1", 1, None, True], "b": {"c": "PWD=secret"}}
    assert redact_all(value) == {"a": ["password=***", 1, None, True], "b": {"c": "PWD=***"}}


def test_texts_of_one_value_are_looked_at_each_for_itself() -> None:
    value = ["password:", "hunter2", {"token": "0123456789abcdef0123"}]
    assert redact_all(value) == value
