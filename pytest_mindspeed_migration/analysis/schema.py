"""The framework's own schema classes, read from its code, and which YAML node each of them describes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from keyword import iskeyword
from typing import Any

from ..facts.source import FieldFacts
from .index import Index, Ref

_PYDANTIC = {"pydantic.BaseModel", "pydantic.main.BaseModel", "pydantic_settings.BaseSettings"}
_LISTS = {"List", "list", "Sequence", "Tuple", "tuple", "Set", "set", "Iterable"}
_DICTS = {"Dict", "dict", "Mapping", "OrderedDict"}


@dataclass(frozen=True)
class TypeExpr:
    """A field's type. `kind`: any, none, bool, int, float, str, list, dict, literal, union, schema, other."""

    kind: str
    args: tuple[TypeExpr, ...] = ()
    literals: tuple[Any, ...] = ()
    ref: Ref | None = None
    text: str = ""

    @property
    def nullable(self) -> bool:
        """Whether null is a value of the type."""
        return self.kind in ("any", "none", "other") or any(arg.nullable for arg in self.args if self.kind == "union")

    @property
    def schema(self) -> Ref | None:
        """The schema class of the type, through Optional and Union; None when there is none."""
        if self.kind == "schema":
            return self.ref
        found = [arg.schema for arg in self.args if arg.schema is not None] if self.kind == "union" else []
        return found[0] if found else None

    @property
    def item_schema(self) -> Ref | None:
        """The schema class of the items of a list type."""
        if self.kind == "list" and self.args:
            return self.args[0].schema
        found = [arg.item_schema for arg in self.args if arg.item_schema is not None] if self.kind == "union" else []
        return found[0] if found else None


@dataclass(frozen=True)
class SchemaField:
    """A declared key of a schema class."""

    name: str
    type: TypeExpr
    required: bool
    default: Any
    path: str
    line: int


@dataclass
class SchemaClass:
    """A schema class with its inherited fields.

    `extra`: what happens to an undeclared key ("allow" keeps it, "forbid" raises, "ignore" drops it silently).
    `validates`: whether values are checked against the types (pydantic) or taken as they are (dataclass).
    """

    ref: Ref
    path: str
    line: int
    extra: str
    validates: bool
    fields: dict[str, SchemaField] = field(default_factory=dict)


class Schema:
    """Schema classes by reference and the tree of nodes below the root class."""

    def __init__(self, index: Index, root: Ref | None) -> None:
        self._index = index
        self.root = root
        self._classes: dict[Ref, SchemaClass | None] = {}
        self._types: dict[tuple[str, str], TypeExpr] = {}

    def cls(self, ref: Ref | None) -> SchemaClass | None:
        """The class as a schema class; None when it is none (no dataclass, no pydantic model)."""
        if ref is None or ref.kind != "class":
            return None
        if ref not in self._classes:
            self._classes[ref] = None
            self._classes[ref] = self._build(ref)
        return self._classes[ref]

    @cached_property
    def nodes(self) -> dict[str, SchemaClass]:
        """YAML path -> schema class, for every node below the root that has one; `x[]` is any item of a list."""
        found: dict[str, SchemaClass] = {}
        for path, item in self._walk("", self.cls(self.root), ()):
            found[path] = item
        return found

    def node(self, path: str) -> SchemaClass | None:
        """The schema class of a YAML node."""
        return self.nodes.get(path)

    def declared(self, path: str) -> SchemaField | None:
        """The declaration of a key, by its YAML path."""
        parent, _, key = path.rpartition(".")
        owner = self.nodes.get(parent)
        return owner.fields.get(key) if owner else None

    def places_of(self, key: str) -> list[str]:
        """Every YAML path whose last part is `key` and that a schema class declares."""
        return [f"{path}.{key}" if path else key for path, owner in self.nodes.items() if key in owner.fields]

    def paths_of(self, ref: Ref) -> list[str]:
        """YAML nodes that the class describes."""
        return [path for path, owner in self.nodes.items() if owner.ref == ref]

    def _walk(self, path: str, item: SchemaClass | None, above: tuple[Ref, ...]) -> Iterator[tuple[str, SchemaClass]]:
        if item is None or item.ref in above:
            return
        yield path, item
        for name, entry in item.fields.items():
            child = f"{path}.{name}" if path else name
            nested = self.cls(entry.type.schema)
            if nested is not None and item.validates and not nested.validates:
                nested = replace(nested, extra="ignore", validates=True)  # pydantic builds a dataclass without extras
            yield from self._walk(child, nested, (*above, item.ref))
            yield from self._walk(f"{child}[]", self.cls(entry.type.item_schema), (*above, item.ref))

    def _build(self, ref: Ref) -> SchemaClass | None:
        chain, foreign = self._index.linear(ref)
        if not chain:
            return None
        module, own = chain[0]
        pydantic = any(name in _PYDANTIC or name.endswith("pydantic.BaseModel") for name in foreign)
        decorators = [text.rsplit(".", 1)[-1] for text in own.decorators]
        if not pydantic and "dataclass" not in decorators:
            return None
        if pydantic:
            extra = next((facts.config_extra for _, facts in chain if facts.config_extra), "ignore")
        else:
            extra = "allow" if any("extra" in text for text in decorators) else "forbid"
        result = SchemaClass(ref, self._index.modules[module].path, own.line, extra or "ignore", pydantic)
        for owner_module, facts in reversed(chain):
            path = self._index.modules[owner_module].path
            for entry in facts.fields:
                result.fields[entry.name] = self._field(entry, owner_module, path)
        return result

    def _field(self, entry: FieldFacts, module: str, path: str) -> SchemaField:
        default = entry.default if entry.has_default else None
        return SchemaField(
            entry.name, self.type_of(entry.annotation, module), not entry.has_default, default, path, entry.line
        )

    def type_of(self, text: str, module: str) -> TypeExpr:
        """Parse an annotation as written in a module."""
        key = (module, text)
        if key not in self._types:
            if text.isidentifier() and not iskeyword(text):
                self._types[key] = self._named(text, module)
                return self._types[key]
            try:
                self._types[key] = self._type(ast.parse(text, mode="eval").body, module)
            except (SyntaxError, RecursionError, ValueError):
                self._types[key] = TypeExpr("other", text=text)
        return self._types[key]

    def _type(self, node: ast.expr, module: str) -> TypeExpr:
        text = ast.unparse(node)
        if isinstance(node, ast.Constant):  # null, or a forward reference
            if node.value is None:
                return TypeExpr("none", text=text)
            return self.type_of(node.value, module) if isinstance(node.value, str) else TypeExpr("other", text=text)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return TypeExpr("union", (self._type(node.left, module), self._type(node.right, module)), text=text)
        if isinstance(node, ast.Subscript):
            return self._generic(node, module, text)
        return self._named(text, module)

    def _named(self, text: str, module: str) -> TypeExpr:
        """A type that is written as a name."""
        name = text.rsplit(".", 1)[-1]
        if name in ("bool", "int", "float", "str"):
            return TypeExpr(name, text=text)
        if name in ("Any", "object"):
            return TypeExpr("any", text=text)
        if name in _LISTS:
            return TypeExpr("list", text=text)
        if name in _DICTS:
            return TypeExpr("dict", text=text)
        ref = self._index.resolve(module, text)
        if self.cls(ref) is not None:
            return TypeExpr("schema", ref=ref, text=text)
        return TypeExpr("other", ref=ref, text=text)

    def _generic(self, node: ast.Subscript, module: str, text: str) -> TypeExpr:
        name = ast.unparse(node.value).rsplit(".", 1)[-1]
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if name == "Literal":
            values = tuple(item.value for item in items if isinstance(item, ast.Constant))
            return TypeExpr("literal", literals=values, text=text)
        inner = tuple(self._type(item, module) for item in items)
        if name == "Optional":
            return TypeExpr("union", (*inner, TypeExpr("none", text="None")), text=text)
        if name == "Union":
            return TypeExpr("union", inner, text=text)
        if name in _LISTS:
            return TypeExpr("list", inner[:1], text=text)
        if name in _DICTS:
            return TypeExpr("dict", inner, text=text)
        if name == "Annotated":
            return inner[0]
        return TypeExpr("other", text=text)


def root_of(index: Index, entry_modules: list[str], package: str = "mindspeed_mm") -> Ref | None:
    """The root schema class: the one named `Arguments` that an entry module knows, else the framework's usual one."""
    for module in [*entry_modules, f"{package}.fsdp.params.argument"]:
        if module in index.modules:
            found = index.lookup(module, "Arguments")
            if found is not None and found.kind == "class":
                return found
    return None
