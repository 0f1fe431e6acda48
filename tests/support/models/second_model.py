"""A second, real embedding model: the packaged weights, cut to the first dimensions."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from mnemesh_actors.models.embedding_model import MODEL_FILE, ModelConfig
from mnemesh_actors.models.model_directory import TOKENIZER_FILES, locate


def cut_model(folder: Path, width: int) -> Path:
    """A folder with a model that gives the first `width` numbers of each vector, normalised again."""
    folder.mkdir(parents=True)
    found = locate(ModelConfig(download=False))
    model = onnx.load(str(found.directory / found.model_file))
    graph = model.graph
    for name, value in (("from", 0), ("to", width), ("axis", 1)):
        graph.initializer.append(numpy_helper.from_array(np.array([value], np.int64), name))
    graph.node.append(helper.make_node("Slice", [graph.output[0].name, "from", "to", "axis"], ["cut"]))
    graph.node.append(helper.make_node("LpNormalization", ["cut"], ["cut_unit"], axis=1, p=2))
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("cut_unit", onnx.TensorProto.FLOAT, None))
    onnx.save_model(model, str(folder / MODEL_FILE))
    for name in TOKENIZER_FILES:
        shutil.copyfile(found.directory / name, folder / name)
    return folder
