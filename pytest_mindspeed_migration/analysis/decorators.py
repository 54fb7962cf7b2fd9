"""Decorators that leave alone how a function or a class is called."""

KEEPS_SIGNATURE = frozenset(
    {
        "staticmethod",
        "classmethod",
        "abstractmethod",
        "abc.abstractmethod",
        "override",
        "typing.override",
        "lru_cache",
        "functools.lru_cache",
        "cache",
        "functools.cache",
        "wraps",
        "functools.wraps",
        "contextmanager",
        "contextlib.contextmanager",
        "no_grad",
        "torch.no_grad",
        "torch.inference_mode",
        "torch.compile",
        "torch.jit.ignore",
        "torch.compiler.disable",
        "torch._dynamo.disable",
        "torch.autocast",
        "torch.cuda.amp.autocast",
        "torch.amp.custom_fwd",
        "torch.amp.custom_bwd",
        "custom_fwd",
        "custom_bwd",
        "once_differentiable",
        "auto_docstring",
        "can_return_tuple",
        "add_start_docstrings",
        "add_start_docstrings_to_model_forward",
        "dynamic_rope_update",
        "replace_return_docstrings",
        "check_model_inputs",
        "merge_with_config_defaults",
        "use_kernel_func_from_hub",
        "final",
    }
)
"""Decorators after which a call binds to the parameters as they are written."""

CLASS_KEEPS = frozenset(
    {
        "dataclass",
        "dataclasses.dataclass",
        "auto_docstring",
        "add_start_docstrings",
        "use_kernel_forward_from_hub",
        "final",
        "total_ordering",
        "functools.total_ordering",
        "add_end_docstrings",
    }
)
"""Decorators after which a class is built by the parameters of its constructor as they are written."""
