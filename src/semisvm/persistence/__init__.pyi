from semisvm.persistence.checkpoints import Checkpoint as Checkpoint
from semisvm.persistence.checkpoints import CheckpointError as CheckpointError
from semisvm.persistence.conversion import convert as convert
from semisvm.persistence.model_files import load as load
from semisvm.persistence.model_files import save as save
from semisvm.persistence.onnx_export import to_onnx as to_onnx
from semisvm.persistence.sklearn_export import to_sklearn as to_sklearn
from semisvm.tables.errors import ModelFileError as ModelFileError
