"""Texts to unit vectors. Imports neither fastembed nor onnxruntime: `EmbeddingWorker.load` does.

One vector space a generation; there is never a made-up vector. docs/decisions/embedding.md says why it is so.
"""

from mnemesh_actors.models.embedding_model import ModelConfig
from mnemesh_actors.models.worker import EmbeddingWorker

__all__ = ["EmbeddingWorker", "ModelConfig"]
