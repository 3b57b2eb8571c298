"""Data sets, samplers that choose the order in which to read them, and loaders that make batches of them."""

from .batcher import Batcher
from .collate import default_collate, default_convert
from .datasets import ConcatDataset, Dataset, IterableDataset, Subset, TensorDataset, random_split
from .digits import Digits, digits
from .images import ImageFolder, draw_images
from .loader import DataLoader
from .practice import Chores
from .samplers import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from .text import Text, text
from .worker import get_worker_info

__all__ = [
    "BatchSampler",
    "Batcher",
    "Chores",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "Digits",
    "ImageFolder",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "Text",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "digits",
    "draw_images",
    "get_worker_info",
    "random_split",
    "text",
]
