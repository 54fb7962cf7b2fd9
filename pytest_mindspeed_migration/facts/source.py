"""What one Python file of the target says, read from its AST: the unit that is scanned, cached and exported."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass
class Signature:
    """Parameters of a function as a caller sees them (a bound method keeps its first parameter in `params`)."""

    params: list[str] = field(default_factory=list)  # positional, in order
    posonly: int = 0
    defaults: int = 0  # how many of the last `params` have a default
    kwonly: list[str] = field(default_factory=list)
    kwonly_required: list[str] = field(default_factory=list)
    varargs: str | None = None
    varkw: str | None = None


@dataclass
class WriteFacts:
    """An attribute set on something other than `self`: `obj.a.b = value`, `setattr(obj, "name", value)`.

    `target` has "[]" for an index, a loop variable replaced by what it runs over; `value` is source text, or "?".
    """

    target: str
    value: str
    line: int
    guarded: bool = False


@dataclass
class LookupFacts:
    """`getattr(x, <expression>)`: an attribute looked up by a name that is no constant (`name`: its text, or "?")."""

    name: str
    line: int
    has_default: bool = False


@dataclass
class FunctionFacts:
    """A function or method. `qualname` as Python writes it, without `<locals>`: `Outer.method.inner`."""

    qualname: str
    line: int
    end: int
    signature: Signature
    decorators: list[str] = field(default_factory=list)  # dotted source text
    annotations: dict[str, str] = field(default_factory=dict)  # parameter -> annotation source text
    aliases: dict[str, list[str]] = field(default_factory=dict)  # local name -> names it is assigned from as they are
    keys: list[str] = field(default_factory=list)  # attributes and string keys it reads, `self.x` itself left out
    patches: list[str] = field(default_factory=list)  # attributes of other modules it assigns (`torch.x.y = ...`)
    writes: list[WriteFacts] = field(default_factory=list)
    lookups: list[LookupFacts] = field(default_factory=list)
    item_sets: dict[str, list[str]] = field(default_factory=dict)  # name -> constant keys: `kwargs["x"] = ...`
    compares: dict[str, list[str]] = field(default_factory=dict)  # name -> texts it is compared with (==, in)
    choices: dict[str, list[str]] = field(default_factory=dict)  # key -> texts it handles; it raises for others
    tested: list[str] = field(default_factory=list)  # attribute names in `hasattr(x, "name")`
    exits: dict[str, int] = field(default_factory=dict)  # tests of `if ...: return`, in functions that get a plan
    prefetches: dict[str, int] = field(default_factory=dict)  # modules FSDP2 prefetch hooks name -> line
    dict_keys: list[str] | None = None  # keys of the returned dict, when every return is a literal one
    returned: list[str] = field(default_factory=list)  # of a `forward`: callees of what it returns, "tuple", "?"
    result_reads: dict[str, dict[str, int]] = field(
        default_factory=dict
    )  # callee of a model call -> attributes read on its result, unguarded -> line


@dataclass
class ImportFacts:
    """One imported name. `module` is absolute; `name` is None for `import a.b`, "*" for a star import."""

    line: int
    module: str
    name: str | None
    bound: str  # the local name it binds
    scope: Literal["module", "class", "function", "type_checking"] = "module"
    guarded: bool = False  # inside `try` with a handler that catches ImportError, or under a condition
    function: str | None = None  # qualname of the enclosing function
    tolerated: bool = False  # a handler around it survives ImportError
    dynamic: bool = False  # `import_module("a.b")`: binds no name


@dataclass
class FieldFacts:
    """An annotated class-level name: a schema field, when the class is a schema class."""

    name: str
    line: int
    annotation: str
    has_default: bool
    default: Any = None  # a JSON constant, or the string "<factory>"/"<expr>" when it is not a constant
    default_none: bool = False  # the default is literally None
    init: bool = True  # a parameter of the constructor


@dataclass
class ChildFacts:
    """`self.<name> = <callee>(...)`: a child module, as far as the source text tells it.

    `callee` is dotted source text, "None" for the constant, "?" when the value cannot be read (opaque).
    """

    name: str
    callee: str
    line: int
    container: Literal["", "list", "dict", "sequential"] = ""
    condition: str | None = None  # source text of the tests under which it is assigned, joined by " and "
    method: str = "__init__"


@dataclass
class StepFacts:
    """One step of a schema class's own validation (`model_post_init`, `__post_init__`).

    `set` gives the field `target` the value of `text`; `if` has the test `text` and two bodies; `raise` refuses the
    values; `return` ends. Anything else is a `set` of everything it may change to the unknown value "?".
    """

    kind: Literal["set", "if", "raise", "return"]
    line: int
    target: str = ""
    text: str = ""
    body: list[StepFacts] = field(default_factory=list)
    orelse: list[StepFacts] = field(default_factory=list)


@dataclass
class AutogradFacts:
    """A `torch.autograd.Function`: `forward` takes `inputs` and gives `outputs`, None where the text does not tell."""

    line: int  # of `backward`
    inputs: int | None
    outputs: int | None
    accepted: list[int]  # least and most values that `backward` takes, -1 for any number
    stored: list[str] | None = None  # attributes that `forward` sets on the context, None: unknown
    read: dict[str, int] = field(default_factory=dict)  # attributes of the context that `backward` reads -> line
    gradients: list[list[int]] = field(default_factory=list)  # of a return: line, values up to the last not None, all


@dataclass
class ClassFacts:
    """A class: bases as dotted source text, what it assigns and reads on `self`, and its schema fields."""

    qualname: str
    line: int
    bases: list[str] = field(default_factory=list)
    decorators: list[str] = field(default_factory=list)
    class_attrs: list[str] = field(default_factory=list)
    class_aliases: dict[str, str] = field(default_factory=dict)  # `name = other.Name` in the class body -> "other.Name"
    self_sets: list[str] = field(default_factory=list)  # self.x = / setattr(self, "x", ..) / register_buffer("x", ..)
    self_reads: dict[str, int] = field(default_factory=dict)  # name -> first line; unguarded `self.x` loads only
    children: list[ChildFacts] = field(default_factory=list)
    dynamic: bool = False  # __getattr__, setattr(self, <expr>), self.__dict__ ...: attributes cannot be known
    config_extra: str | None = None  # pydantic `extra` ("allow", "forbid", "ignore"), where the class says so
    fields: list[FieldFacts] = field(default_factory=list)
    validation: list[StepFacts] = field(default_factory=list)
    flags: dict[str, str] = field(
        default_factory=dict
    )  # `self.x` in conditions of children -> source text of its value
    autograd: AutogradFacts | None = None


@dataclass
class CallFacts:
    """The shape of one call whose callee is a dotted expression (`f`, `mod.f`, `self.m`, `super().m`)."""

    line: int
    callee: str
    scope: str  # qualname of the enclosing function, "" at module level
    positional: int = 0
    keywords: list[str] = field(default_factory=list)
    star: bool = False  # *args in the call
    double_star: list[str] = field(default_factory=list)  # source text of each **expr
    names: list[str] = field(default_factory=list)  # positional arguments that are plain names, "" for others
    guarded: bool = False  # under a condition or in a `try`
    condition: str | None = None  # of a call with **expr: the tests it stands under, as source text


@dataclass
class RegistrationFacts:
    """`<register>.register("id")(object)` in any of its forms, or an entry of a collator table.

    `register` is the dotted source text of the register, of the registering function or of the table.
    """

    register: str
    id: str
    object: str  # local dotted name of what is registered
    line: int
    guarded: bool = False


@dataclass
class EffectFacts:
    """Something that happens when the module is imported or, with `function` set, when that function runs."""

    kind: Literal["argv", "file_read", "exit", "device_stream", "npu_import", "patch_call"]
    line: int
    detail: str
    guarded: bool = False
    function: str | None = None


@dataclass
class NameFacts:
    """A name used without a binding. `quoted`: only in an annotation or string that is never evaluated.

    `beside`: names of the same function that it may be short for, or a slip of.
    """

    name: str
    line: int
    quoted: bool = False
    kind: Literal["undefined", "maybe_unbound", "endless"] = "undefined"
    detail: str = ""
    beside: list[str] = field(default_factory=list)


@dataclass
class ModuleFacts:
    """Everything read from one Python file."""

    path: str  # relative to the repo, "/" separated
    name: str  # dotted module name
    is_package: bool = False
    syntax_error: tuple[int, str] | None = None
    names: list[str] = field(default_factory=list)  # bound at module level (definitions, assignments, imports)
    rebound: list[str] = field(default_factory=list)  # of these, the ones bound more than once
    instances: dict[str, str] = field(default_factory=dict)  # module-level `name = Callee(...)`: name -> callee
    dynamic: bool = False  # globals() writes or module __getattr__: names cannot be known
    imports: list[ImportFacts] = field(default_factory=list)
    functions: list[FunctionFacts] = field(default_factory=list)
    classes: list[ClassFacts] = field(default_factory=list)
    calls: list[CallFacts] = field(default_factory=list)
    registrations: list[RegistrationFacts] = field(default_factory=list)
    effects: list[EffectFacts] = field(default_factory=list)
    unbound: list[NameFacts] = field(default_factory=list)
    attrs_set: list[str] = field(default_factory=list)  # `receiver.name` set on anything but `self` of the own class
    named_modules: list[str] = field(default_factory=list)  # modules of the same package named in string constants
    keys_read: dict[str, int] = field(default_factory=dict)  # attribute or string key read anywhere -> first line
    keys_passed: dict[str, int] = field(default_factory=dict)  # keyword of a call or parameter name -> first line
