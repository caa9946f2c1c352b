"""``itemledger verify`` and ``itemledger explain``: what an evidence file proves, and one key's story in it."""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from itemledger.apis.attribute_json import json_loads_exact
from itemledger.apis.attribute_values import AttributeValueError, number_of
from itemledger.cli import options as o
from itemledger.cli.ledger_files import report_sentence
from itemledger.cli.problems import OTHER, USAGE, CommandError
from itemledger.cli.summary import count
from itemledger.cli.token_key import VARIABLE, key_file, known_tokeniser
from itemledger.cli.voice import Voice, write_line
from itemledger.core.keys import Key, KeySchema, KeyType
from itemledger.core.tokens import PLAIN, Tokeniser
from itemledger.errors import EvidenceError, ManifestError
from itemledger.evidence import Verified
from itemledger.evidence import explain as story
from itemledger.evidence import verify as verify_lines
from itemledger.ledger import Report, verify_report

MAX_HEADER_BYTES = 1024 * 1024

MachineLines = Annotated[
    bool, typer.Option("--json", metavar="", rich_help_panel=o.OTHER, help="One JSON object per file, on stdout.")
]


def verify(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Evidence files, completion reports.")],
    machine: MachineLines = False,
    debug: o.Debug = False,
) -> None:
    """Recount evidence files and completion reports offline: every sum, the hash chain. Exits with 1 if one fails."""
    voice = Voice()
    worst = 0
    with voice.reporting(debug=debug):
        for path in files:
            worst = max(worst, _verify_one(path, machine, voice), key=(0, USAGE, OTHER).index)
    raise typer.Exit(worst)


def explain(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Evidence file.")],
    key: Annotated[
        str,
        typer.Option(
            "--key", "-k", metavar="KEY", help='The key as it is: A, or for two attributes pk=A,sk=1 or ["A", 1].'
        ),
    ],
    debug: o.Debug = False,
) -> None:
    """Tell what happened to one key, call by call, in sentences."""
    with Voice().reporting(debug=debug):
        try:
            with file.open("rb") as lines:
                header = _header(lines.readline())
            token = _tokeniser(file, header).token(_key(key, header))
            with file.open("rb") as lines:
                sentences = story(lines, token, name=key)
        except OSError as error:
            raise CommandError(f"cannot read {file}: {error.strerror or error}") from None
        except EvidenceError as error:
            raise EvidenceError(f"{file}: {error}", line=error.line) from None
        for sentence in sentences:
            write_line(1, sentence)
        tables = header.get("tables")
        if isinstance(tables, int) and tables > 1:
            write_line(
                1,
                f"The run shares its calls with {count(tables - 1, 'other table')}, so gaps in the call numbers are "
                "theirs.",
            )


def _verify_one(path: Path, machine: bool, voice: Voice) -> int:
    try:
        with path.open("rb") as lines:
            verified = verify_report(lines) if _is_report(lines) else verify_lines(lines)
    except OSError as error:
        return _failed(path, f"cannot be read: {error.strerror or error}", USAGE, machine, voice)
    except EvidenceError as error:
        return _failed(path, str(error), OTHER, machine, voice)
    if machine:
        write_line(1, json.dumps({"file": str(path), "verified": True, **_told(verified)}))
    elif isinstance(verified, Report):
        write_line(1, f"{path}: verified. {report_sentence(verified)}")
    else:
        write_line(1, _sentence(path, verified))
    return 0


def _is_report(lines: BinaryIO) -> bool:
    """Whether the file begins as a completion report does; anything else is taken for an evidence file."""
    try:
        first = json.loads(lines.readline(MAX_HEADER_BYTES))
    except (ValueError, RecursionError):
        first = None
    lines.seek(0)
    return isinstance(first, dict) and str(first.get("schema")).startswith("itemledger/report/")


def _told(verified: Verified | Report) -> dict[str, Any]:
    if isinstance(verified, Report):
        operation = verified.operation
        told = asdict(verified)
        return {**told, "operation": operation.operation_id, "api": operation.api, "target": operation.target}
    return {**asdict(verified), "decision": verified.decision.label}


def _failed(path: Path, problem: str, exit_code: int, machine: bool, voice: Voice) -> int:
    if machine:
        write_line(1, json.dumps({"file": str(path), "verified": False, "error": problem, "exit_code": exit_code}))
    else:
        voice.say(f"{path}: NOT VERIFIED: {problem}", style="red")
    return exit_code


def _sentence(path: Path, v: Verified) -> str:
    chain = f", number {v.observation_number} of the chain of {v.first_id}" if v.observation_number > 1 else ""
    shared = f", shared with {count(v.tables - 1, 'other table')}" if v.tables > 1 else ""
    return (
        f"{path}: verified. {count(v.keys, 'key')} of {v.table}: {v.returned:,} returned, {v.processed_not_returned:,} "
        f"processed_not_returned, {v.unresolved:,} unresolved; {count(v.calls, 'call')}{shared}, "
        f"label {v.label or 'none'}; decision {v.decision}; observation {v.observation_id}{chain}; sha256 {v.sha256}"
    )


def _header(line: bytes) -> dict[str, Any]:
    try:
        header = json.loads(line)
        if header["kind"] == "header" and isinstance(header["tokens"]["key_id"], str):
            return dict(header)
    except (ValueError, TypeError, LookupError, RecursionError):
        pass
    raise EvidenceError("its first line is no header of an evidence file", line=1)


def _tokeniser(file: Path, header: dict[str, Any]) -> Tokeniser:
    key_id = header["tokens"]["key_id"]
    if key_id == PLAIN:
        return Tokeniser(None)
    tokeniser = known_tokeniser(file)
    if tokeniser is None:
        raise CommandError(
            f"the keys in {file} are tokens, and their token key is neither in {VARIABLE} nor in {key_file(file)}"
        )
    if tokeniser.key_id != key_id:
        raise CommandError(f"the token key at hand is {tokeniser.key_id}, but {file} was written with {key_id}")
    return tokeniser


def _key(text: str, header: dict[str, Any]) -> Key:
    """The key that a person wrote: partition keys as they are, two attributes by name or as a JSON array."""
    try:
        names, types = zip(*((part["name"], KeyType(part["type"])) for part in header["key"]), strict=True)
    except (ValueError, TypeError, LookupError):
        raise EvidenceError("its header does not say what the table's key is", line=1) from None
    schema = KeySchema(names, types)
    try:
        if len(names) == 1:
            return schema.canonical(_part(text, types[0]), 0)
        named = re.fullmatch(f"{re.escape(names[0])}=(.*),{re.escape(names[1])}=(.*)", text, re.DOTALL)
        if named is not None:
            return schema.canonical([_part(part, kind) for part, kind in zip(named.groups(), types, strict=True)], 0)
        parts = json_loads_exact(text)
        if not isinstance(parts, list) or len(parts) != 2:
            raise ValueError
        return schema.canonical(
            [_part(p, kind) if isinstance(p, str) else p for p, kind in zip(parts, types, strict=True)], 0
        )
    except (ManifestError, AttributeValueError, ValueError, ArithmeticError, binascii.Error):
        spelled = " and ".join(f"{name} ({kind})" for name, kind in zip(names, types, strict=True))
        form = "write it as it is" if len(names) == 1 else f'write {names[0]}=…,{names[1]}=… or a JSON array ["…", …]'
        raise CommandError(f"--key does not fit the table's key, {spelled}; {form}, binary as base64") from None


def _part(text: str, key_type: KeyType) -> object:
    match key_type:
        case KeyType.S:
            return text
        case KeyType.N:
            return number_of(text.strip())
        case KeyType.B:
            return b64decode(text, validate=True)
