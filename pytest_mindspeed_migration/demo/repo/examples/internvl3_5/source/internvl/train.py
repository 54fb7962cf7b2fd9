"""python -m internvl.train MODEL ANNOTATION IMAGE_ROOT"""

import sys

import torch
from transformers import AutoProcessor

from internvl.dataset import ConversationDataset
from internvl.modeling import load_model


def main(model_path: str, annotation: str, image_root: str, steps: int = 100) -> None:
    """Fine-tune with batches of one."""
    model = load_model(model_path)
    dataset = ConversationDataset(annotation, image_root, AutoProcessor.from_pretrained(model_path))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for step in range(steps):
        sample = dataset[step % len(dataset)]
        loss = model(**sample, labels=sample["input_ids"]).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main(*sys.argv[1:4])
