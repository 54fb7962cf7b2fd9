"""Datasets and dataloaders from the data section of the YAML file."""

from torch.distributed import ProcessGroup
from torch.utils.data import DataLoader, Dataset

from mindspeed_mm.fsdp.data.dataloader.dataloader import prepare_base_dataloader, prepare_sampler_dataloader
from mindspeed_mm.fsdp.utils.register import data_register


def build_mm_dataset(dataset_param) -> Dataset:
    """Return the dataset that `dataset_type` names.

    Args:
        dataset_param: the section `data.dataset_param`, as DataSetArguments or as a mapping.

    Raises:
        KeyError: no plugin registers that type.
    """
    values = dataset_param if isinstance(dataset_param, dict) else dataset_param.to_dict()
    builder = data_register.get(values["dataset_type"])
    return builder(
        basic_param=values["basic_parameters"],
        preprocess_param=values["preprocess_parameters"],
        dataset_param=values,
    )


def build_mm_dataloader(
    dataset: Dataset,
    dataloader_param,
    process_group: ProcessGroup | None = None,
    dataset_param=None,
    model=None,
) -> DataLoader:
    """Return a dataloader: mode "base" reads everything on each rank, mode "sampler" a share of it.

    Raises:
        NotImplementedError: for another `dataloader_mode`.
    """
    options = dict(dataloader_param) if isinstance(dataloader_param, dict) else dataloader_param.to_dict()
    mode = options.pop("dataloader_mode")
    if mode == "base":
        return prepare_base_dataloader(dataset, dataset_param=dataset_param, model=model, **options)
    if mode == "sampler":
        return prepare_sampler_dataloader(
            dataset, process_group=process_group, dataset_param=dataset_param, model=model, **options
        )
    raise NotImplementedError(f"data.dataloader_param.dataloader_mode {mode!r} is not known.")
