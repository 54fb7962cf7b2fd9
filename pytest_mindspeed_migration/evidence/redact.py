"""Takes secrets out of text before it is written anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

MASK = "***"

# A credential in a URL: scheme://user:password@host, scheme://token@host.
_URL = re.compile(r"\b([a-z][a-z0-9+.-]*://)[^/\s:@'\"]*(?::[^/\s@'\"]*)?@", re.IGNORECASE)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9+/=._~-]{8,}", re.IGNORECASE)
# Tokens that say what they are: Hugging Face, GitHub, GitLab, OpenAI, AWS, Slack, JSON web tokens.
_KNOWN = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{20,}"
    r"|AKIA[0-9A-Z]{12,}|xox[abprs]-[\w-]{10,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
)
_VALUE = r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,;&"']+)"""
# password=..., api_key: ..., MY_SECRET=...; also as a quoted JSON or YAML key.
_NAMED = re.compile(
    r"(?i)(\b[\w.-]*(?:password|passwd|pwd|secret|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)[\w.-]*"
    r"[\"']?\s*(?:=|:(?!//))\s*)" + _VALUE
)
# Names ending in "token" are usual here (image_token, pad_token): only values that look random are secrets.
_TOKEN = re.compile(r"(?i)(\b[\w.-]*(?:token|auth)[\"']?\s*(?:=|:(?!//))\s*)" + _VALUE)
_ENV_KEY = re.compile(r"(\b(?:[A-Z0-9]+_)*KEY=)" + _VALUE)
_OPTION = re.compile(r"(?i)(--?[\w-]*(?:password|passwd|secret|api-key|auth-token)[ =])" + _VALUE)


# Something that every pattern above needs, in lower case: most texts have none of it and are not looked at closely.
_HINT = re.compile(
    r"://[^/\s]*@|bearer|basic|hf_|gh[pousr]_|github_pat|glpat-|sk-|akia|xox|eyj|passw|pwd|secret|credential"
    r"|(?:key|token|auth)[\w.-]*[\"']?\s*[=:]|-(?:api-key|auth-token)"
)
# One of these is in everything that the hint matches; looking for them is ten times as fast.
_WORDS = (
    "://", "bearer", "basic", "hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat", "glpat-", "sk-", "akia",
    "xox", "eyj", "passw", "pwd", "secret", "credential", "key", "token", "auth",
)  # fmt: skip


@lru_cache(maxsize=4096)  # the same few texts come by hundreds of times in a run over all targets
def redact(text: str) -> str:
    """Return `text` with passwords, tokens, keys and URL credentials replaced by `***`."""
    if not _suspicious(text):
        return text
    folded = _folded(text)
    for words, pattern, mask in _RULES:
        if any(word in folded for word in words):
            text = pattern.sub(mask, text)
    return text


def redact_all(value: Any) -> Any:
    """Return a plain JSON value with every text in it redacted; the value itself when there is no secret in it."""
    return _redacted(value) if _suspicious("\n".join(_texts(value))) else value


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _redacted(item) for key, item in value.items()}
    return [_redacted(item) for item in value] if isinstance(value, list) else value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _suspicious(text: str) -> bool:
    """Whether a text, or one of several that were joined, may hold a secret."""
    folded = _folded(text)
    if not any(word in folded for word in _WORDS):
        return False
    # Letters that fold into several characters may end a word for the hint, so that other alphabets skip it.
    return not folded.isascii() or _HINT.search(folded) is not None


def _folded(text: str) -> str:
    return text.casefold().replace("ı", "i")  # as the patterns ignore case


def _mask_random(found: re.Match[str]) -> str:
    value = found.group(2).strip("\"'")
    mixed = any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
    upper_env = found.group(1)[:-1].isupper() and found.group(1).endswith("=") and value != MASK
    if (upper_env and not value.isdigit() and not value.startswith("<")) or (len(value) >= 16 and mixed):
        return found.group(1) + MASK
    return found.group(0)


# What has to be in a text in lower case, the pattern, and what takes the place of a match.
_RULES: tuple[tuple[tuple[str, ...], re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (("://",), _URL, rf"\g<1>{MASK}@"),
    (("bearer", "basic"), _BEARER, rf"\g<1> {MASK}"),
    (("hf_", "gh", "github_pat", "glpat-", "sk-", "akia", "xox", "eyj"), _KNOWN, MASK),
    (("passw", "pwd", "secret", "key", "credential"), _NAMED, rf"\g<1>{MASK}"),
    (("key=",), _ENV_KEY, rf"\g<1>{MASK}"),
    (("passw", "secret", "api-key", "auth-token"), _OPTION, rf"\g<1>{MASK}"),
    (("token", "auth"), _TOKEN, _mask_random),
)
