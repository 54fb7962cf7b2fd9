"""How the framework builds and calls what a plugin registers: ModelHub's calls, the trainer's calls."""

from __future__ import annotations

from dataclasses import dataclass

from ..checks.view import TargetView
from ..facts.source import CallFacts, ModuleFacts, RegistrationFacts, Signature
from ..facts.static import StaticFacts
from .index import Index, Ref, index_of
from .memo import per_facts

MODELS = "model_register"
DATASETS = "data_register"


@dataclass(frozen=True)
class Registered:
    """What a register holds under an id."""

    id: str
    ref: Ref | None  # None: the text does not tell
    path: str
    line: int


@dataclass(frozen=True)
class FrameworkCall:
    """A call the framework makes on a registered object or on the model, with the file it stands in."""

    path: str
    call: CallFacts


@per_facts
def registered(facts: StaticFacts, register: str) -> dict[str, list[Registered]]:
    """Everything a register holds, by id."""
    found: dict[str, list[Registered]] = {}
    index = index_of(facts)
    for module in facts.modules.values():
        for item in module.registrations:
            if item.register.rsplit(".", 1)[-1] == register:
                found.setdefault(item.id, []).append(_registered(index, module, item))
    return found


def _registered(index: Index, module: ModuleFacts, item: RegistrationFacts) -> Registered:
    ref = None if item.object == "?" else index.resolve(module.name, item.object)
    return Registered(item.id, ref, module.path, item.line)


def find_registered(view: TargetView, register: str, identifier: str | None) -> Registered | None:
    """The object of that id, one below the target's own plugins first."""
    if identifier is None:
        return None
    found = registered(view.facts, register).get(identifier, [])
    folders = [entry.replace(".", "/").rstrip("/") + "/" for entry in view.plugins if "/" in entry] + [
        entry.replace(".", "/") + "/" for entry in view.plugins if "/" not in entry
    ]
    own = [item for item in found if item.path.startswith(tuple(folders))]
    return next(iter(own or found), None)


def model_of(view: TargetView) -> Registered | None:
    """The registered model of the target."""
    identifier = view.config.string("model.model_id") if view.config else None
    return find_registered(view, MODELS, identifier)


def dataset_of(view: TargetView) -> Registered | None:
    """The registered dataset of the target."""
    return find_registered(
        view, DATASETS, view.config.string("data.dataset_param.dataset_type") if view.config else None
    )


@per_facts
def register_calls(facts: StaticFacts, callee: str) -> list[FrameworkCall]:
    """Calls of the framework on what a register returns: `callee` such as `<model_register>.from_pretrained`."""
    root = f"{facts.repo.package}/fsdp/"
    plugins = (f"{root}models/", f"{root}tasks/")
    found: list[FrameworkCall] = []
    for path, module in facts.modules.items():
        if path == f"{root}models/modelhub.py" or (path.startswith(root) and not path.startswith(plugins)):
            found.extend(FrameworkCall(path, call) for call in module.calls if call.callee == callee)
    return found


@per_facts
def model_calls(facts: StaticFacts) -> list[FrameworkCall]:
    """Calls of the training engine on the model: `self.model(**batch, use_cache=False)`."""
    root = f"{facts.repo.package}/fsdp/train/"
    return [
        FrameworkCall(path, call)
        for path, module in facts.modules.items()
        if path.startswith(root)
        for call in module.calls
        if call.callee in ("self.model", "model") and call.double_star
    ]


def own_trainer(view: TargetView) -> ModuleFacts | None:
    """The target's trainer where it is not the framework's usual one."""
    trainer = view.target.trainer
    if trainer is None or trainer == f"{view.facts.repo.package}/fsdp/train/trainer.py":
        return None
    return view.facts.modules.get(trainer)


def bypasses(view: TargetView, item: Registered) -> bool:
    """Whether the target's own trainer uses the registered object by name, so that the register is never asked."""
    trainer = own_trainer(view)
    if trainer is None or item.ref is None:
        return False
    index = index_of(view.facts)
    name = item.ref.qualname
    return any(entry.name == name and index.imported(entry) == item.ref for entry in trainer.imports)


@per_facts
def used_by_tasks(facts: StaticFacts) -> frozenset[Ref]:
    """Objects that trainers of single tasks import by name: the framework's own calls do not concern them."""
    index, root = index_of(facts), f"{facts.repo.package}/fsdp/tasks/"
    modules = [module for path, module in facts.modules.items() if path.startswith(root)]
    return frozenset(index.imported(entry) for module in modules for entry in module.imports)


def missing_arguments(signature: Signature, call: CallFacts, bound: bool) -> str | None:
    """Why a call does not bind to a signature, as text; None when it binds (or cannot be told).

    `bound`: the first parameter is filled by the receiver.
    """
    params = signature.params[1:] if bound else list(signature.params)
    given = call.positional
    if given > len(params) and signature.varargs is None and not call.star:
        return f"{given} positional arguments, {len(params)} accepted"
    named = [name for name in call.keywords if name in params[: min(given, len(params))]]
    if named:
        return f"several values for {named[0]!r}"
    posonly = set(signature.params[: signature.posonly])
    for keyword in call.keywords:
        known = (keyword in params and keyword not in posonly) or keyword in signature.kwonly
        if not known and signature.varkw is None:
            return f"unexpected keyword {keyword!r}"
    if call.star or call.double_star:
        return None
    required = params[: len(params) - signature.defaults] if signature.defaults else params
    lacking = [name for name in required[given:] if name not in call.keywords]
    lacking += [name for name in signature.kwonly_required if name not in call.keywords]
    return f"missing argument {lacking[0]!r}" if lacking else None


def accepts_keyword(signature: Signature, keyword: str) -> bool:
    """Whether a bound function takes this keyword."""
    named = keyword in signature.params[max(1, signature.posonly) :] or keyword in signature.kwonly
    return named or signature.varkw is not None


def is_transformers_model(index: Index, ref: Ref) -> bool:
    """Whether a class inherits from a class of Transformers or a `PreTrainedModel`, as far as the repo tells."""
    foreign = index.linear(ref)[1]
    return any(name.startswith("transformers.") or name.endswith("PreTrainedModel") for name in foreign)


def unknown_base(index: Index, ref: Ref) -> bool:
    """Whether a class has a base that may bring any method: neither in the repo nor plain torch or Python."""
    plain = ("torch.nn.Module", "nn.Module", "abc.ABC", "ABC", "object", "torch.utils.data.Dataset")
    return any(name not in plain for name in index.linear(ref)[1])
