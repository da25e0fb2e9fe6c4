"""A copy of the workspace into which many mutants (small changes of the core) are compiled; see `mutants.py`."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

ROOT = Path(__file__).resolve().parents[1]
CORE = Path("rust") / "core" / "src"
MARKER = re.compile(r"/\*(?:m(\d+)<|>m(\d+))\*/")
CONSTANT = {"const_item", "static_item", "token_tree", "array_type", "const_block", "enum_variant"}
"""Syntax whose expressions are evaluated by the compiler, or not parsed as expressions."""

SELECTOR = """//! Selects the mutant of this process.

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

const RECORD: u32 = u32::MAX - 1;
const UNKNOWN: u32 = u32::MAX;
static ACTIVE: AtomicU32 = AtomicU32::new(UNKNOWN);
static REACHED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];

#[inline(always)]
pub fn is(id: u32) -> bool {
    let active = ACTIVE.load(Relaxed);
    active == id || (active >= RECORD && look_up(id))
}

#[cold]
#[inline(never)]
fn look_up(id: u32) -> bool {
    let value = std::env::var("BUCKETRANK_MUTANT").unwrap_or_default();
    let record = value.starts_with('/');
    let active = if record { RECORD } else { value.parse().unwrap_or(COUNT as u32) };
    ACTIVE.store(active, Relaxed);
    if record && !REACHED[id as usize].swap(true, Relaxed) {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(value).unwrap();
        file.write_all(format!("{id}\\n").as_bytes()).unwrap();
    }
    active == id
}
"""
"""Source of the copy's module `mutant`: BUCKETRANK_MUTANT is the number of the active mutant, or a file that records
the mutants that are reached."""


@dataclass
class Mutant:
    """A mutant as `cargo mutants` describes it, and the outcome of its tests."""

    number: int
    name: str
    file: Path
    genre: str
    replacement: str
    start: int
    end: int
    outcome: str = "not built"
    tests: list[str] = field(default_factory=list)


def ancestors(node: Node | None) -> Iterator[Node]:
    while node is not None:
        yield node
        node = node.parent


@dataclass
class Edit:
    """A mutant as a replacement of the bytes from `start` to `end`, which may contain other edits."""

    start: int
    end: int
    number: int
    parts: list[str | tuple[int, int]]
    """Text, and ranges of the source that are copied with their own edits."""


def edit_of(mutant: Mutant, root: Node) -> Edit | None:
    """Return the edit that compiles a mutant in, or None if its syntax is not supported."""
    node = root.descendant_for_byte_range(mutant.start, mutant.end)
    if node is None:
        return None
    for parent in ancestors(node):
        if parent.type in CONSTANT:
            return None
        if parent.type == "function_item":
            modifiers = [child for child in parent.children if child.type == "function_modifiers"]
            if any(b"const" in (child.text or b"") for child in modifiers):
                return None
            break
    make = {
        "FnValue": function_edit,
        "BinaryOperator": binary_edit,
        "UnaryOperator": unary_edit,
        "MatchArm": arm_edit,
        "MatchArmGuard": guard_edit,
    }.get(mutant.genre)
    return make(mutant, node) if make else None


def start_mark(number: int, text: str = "") -> str:
    return f"/*m{number}<*/{text}"


def end_mark(number: int) -> str:
    return f"/*>m{number}*/"


def function_edit(mutant: Mutant, node: Node) -> Edit | None:
    function = next((p for p in ancestors(node) if p.type == "function_item"), None)
    body = function.child_by_field_name("body") if function else None
    returned = function.child_by_field_name("return_type") if function else None
    # An early return of another type does not compile when the signature hides the type.
    hides_type = returned is not None and b"impl " in (returned.text or b"")
    if body is None or hides_type:
        return None
    at = body.start_byte + 1
    value = mutant.replacement
    text = f"if crate::mutant::is({mutant.number}) {{ return {value}; }}"
    return Edit(at, at, mutant.number, [start_mark(mutant.number, text), end_mark(mutant.number)])


def choice(mutant: Mutant, node: Node, mutated: list[str | tuple[int, int]]) -> Edit:
    """Return the edit of an expression that selects the mutated or the original form."""
    n = mutant.number
    whole = (node.start_byte, node.end_byte)
    return Edit(
        *whole,
        n,
        [
            start_mark(n, f"(if crate::mutant::is({n}) {{ "),
            *mutated,
            " } else { ",
            whole,
            " })" + end_mark(n),
        ],
    )


def binary_edit(mutant: Mutant, node: Node) -> Edit | None:
    kinds = {"binary_expression", "compound_assignment_expr"}
    parent = next((p for p in ancestors(node) if p.type in kinds), None)
    if parent is None:
        return None
    operator = parent.child_by_field_name("operator")
    if operator is None or operator.start_byte != mutant.start:
        return None
    left, right = (parent.child_by_field_name(side) for side in ("left", "right"))
    if left is None or right is None:
        return None
    first, second = ((side.start_byte, side.end_byte) for side in (left, right))
    assigns = parent.type == "compound_assignment_expr"
    opening, closing = ("", "") if assigns else ("(", ")")
    return choice(
        mutant,
        parent,
        [opening, first, closing, f" {mutant.replacement} ", opening, second, closing],
    )


def unary_edit(mutant: Mutant, node: Node) -> Edit | None:
    parent = next((p for p in ancestors(node) if p.type == "unary_expression"), None)
    if parent is None or parent.start_byte != mutant.start:
        return None
    return choice(mutant, parent, [(mutant.end, parent.end_byte)])


def arm_edit(mutant: Mutant, node: Node) -> Edit | None:
    arm = next((p for p in ancestors(node) if p.type == "match_arm"), None)
    pattern = arm.child_by_field_name("pattern") if arm else None
    if pattern is None:
        return None
    n = mutant.number
    condition = pattern.child_by_field_name("condition")
    if condition is None:
        at = pattern.end_byte
        return Edit(at, at, n, [start_mark(n, f" if !crate::mutant::is({n})"), end_mark(n)])
    return guard(n, condition, f"!crate::mutant::is({n}) && ")


def guard_edit(mutant: Mutant, node: Node) -> Edit | None:
    pattern = next((p for p in ancestors(node) if p.type == "match_pattern"), None)
    condition = pattern.child_by_field_name("condition") if pattern else None
    if condition is None or condition.type.startswith("let_"):
        return None
    n = mutant.number
    value = mutant.replacement.strip()
    prefix = f"crate::mutant::is({n}) || " if value == "true" else f"!crate::mutant::is({n}) && "
    return guard(n, condition, prefix)


def guard(number: int, condition: Node, prefix: str) -> Edit:
    whole = (condition.start_byte, condition.end_byte)
    return Edit(*whole, number, [start_mark(number, prefix + "("), whole, ")" + end_mark(number)])


def rewrite(source: bytes, edits: list[Edit]) -> str:
    """Return the source with all edits; an edit inside another is applied in every copy."""
    edits = sorted(edits, key=lambda edit: (edit.start, -edit.end, edit.number))

    def render(start: int, end: int, inner: list[Edit]) -> str:
        out = []
        at = start
        index = 0
        while index < len(inner):
            edit = inner[index]
            rest = index + 1
            while rest < len(inner) and inner[rest].start < edit.end:
                rest += 1
            nested = inner[index + 1 : rest]
            out.append(source[at : edit.start].decode())
            for part in edit.parts:
                if isinstance(part, str):
                    out.append(part)
                else:
                    inside = [e for e in nested if part[0] <= e.start and e.end <= part[1]]
                    out.append(render(*part, inside))
            at = edit.end
            index = rest
        out.append(source[at:end].decode())
        return "".join(out)

    return render(0, len(source), edits)


def write_copy(copy: Path, mutants: list[Mutant]) -> None:
    """Write the sources with all mutants that are not left out."""
    parser = Parser(Language(tree_sitter_rust.language()))
    by_file: dict[Path, list[Mutant]] = {}
    for mutant in mutants:
        by_file.setdefault(mutant.file, []).append(mutant)
    for path, group in by_file.items():
        source = (ROOT / path).read_bytes()
        root = parser.parse(source).root_node
        edits = []
        for mutant in group:
            if mutant.outcome not in {"not built", "viable"}:
                continue
            edit = edit_of(mutant, root)
            mutant.outcome = "viable" if edit else "not supported"
            if edit:
                edits.append(edit)
        replace_text(copy / path, rewrite(source, edits))
    library = (ROOT / CORE / "lib.rs").read_text()
    replace_text(copy / CORE / "lib.rs", library + "\n#[doc(hidden)]\npub mod mutant;\n")
    replace_text(copy / CORE / "mutant.rs", SELECTOR.replace("COUNT", str(len(mutants))))


def replace_text(path: Path, text: str) -> None:
    """Write a file unless it is the same already, so that it is not compiled again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def copy_workspace(copy: Path) -> None:
    """Bring the copy up to date; its folder of compiled files stays."""
    copy.mkdir(parents=True, exist_ok=True)
    for name in ("Cargo.lock", "pyproject.toml", "README.md"):
        replace_text(copy / name, (ROOT / name).read_text())
    manifest = (ROOT / "Cargo.toml").read_text()
    replace_text(copy / "Cargo.toml", manifest.replace("opt-level = 2", "opt-level = 1"))
    for name in ("rust", "benches", "python", "tests"):
        for path in (ROOT / name).rglob("*"):
            if not path.is_file() or path.suffix in {".so", ".pyc"} or "target" in path.parts:
                continue
            to = copy / path.relative_to(ROOT)
            to.parent.mkdir(parents=True, exist_ok=True)
            if not to.exists() or to.read_bytes() != path.read_bytes():
                shutil.copyfile(path, to)


def failing_mutants(messages: str, copy: Path) -> set[int]:
    """Return the mutants in which the compiler found errors: those of the innermost marker around each span."""
    failing: set[int] = set()
    for line in messages.splitlines():
        message = json.loads(line).get("message")
        if not isinstance(message, dict) or message.get("level") != "error":
            continue
        blamed: set[int] = set()
        for primary in (True, False):
            for span in message["spans"]:
                if not blamed and span["is_primary"] == primary:
                    byte_range = span["byte_start"], span["byte_end"]
                    blamed |= mutants_at(copy / span["file_name"], *byte_range)
        if not blamed:
            blamed |= mutants_below(message["spans"], copy)
        failing |= blamed
    return failing


def mutants_below(spans: list[dict[str, Any]], copy: Path) -> set[int]:
    """Return the mutants of the next lines, for errors such as a match that is no longer exhaustive."""
    found: set[int] = set()
    for span in spans:
        path = copy / span["file_name"]
        if span["is_primary"] and path.exists():
            lines = path.read_text().split("\n")[span["line_start"] - 1 :][:15]
            found |= {int(match[1]) for match in MARKER.finditer("\n".join(lines)) if match[1]}
    return found


def mutants_at(path: Path, start: int, end: int) -> set[int]:
    """Return the innermost mutant around a range of bytes, else all that begin in it."""
    if not path.exists() or CORE.name not in path.parts:
        return set()
    text = path.read_bytes().decode("latin-1")
    open_numbers: list[int] = []
    inside = set()
    for match in MARKER.finditer(text):
        if match.start() >= end:
            break
        if match[1]:
            if match.start() >= start:
                inside.add(int(match[1]))
            open_numbers.append(int(match[1]))
        elif match.end() <= start:
            open_numbers.pop()
    around = [number for number in open_numbers if number not in inside]
    return {around[-1]} if around else inside
