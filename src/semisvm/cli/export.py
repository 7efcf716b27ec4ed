"""``semisvm export``: a model for other programs."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import options as shared
from semisvm.cli.messages import UserError, as_usage_error
from semisvm.cli.outputs import Output, binary_output
from semisvm.cli.predict import as_model
from semisvm.cli.printing import print_line, print_notes
from semisvm.text import series

if TYPE_CHECKING:
    from semisvm.model import Model

ONNX = ".onnx"
SUFFIXES = (ONNX, ".joblib", ".pkl")


def export(
    model: shared.ModelFile,
    output: Annotated[
        Output,
        typer.Argument(
            metavar="FILE",
            help="File to write: .onnx, or .joblib or .pkl for an object of scikit-learn.",
            show_default=False,
            parser=binary_output,
        ),
    ],
    columns: Annotated[
        bool,
        typer.Option(
            "--columns", help="Let an ONNX file take texts, categories, numbers and vectors."
        ),
    ] = False,
) -> None:
    """Write a model for programs without semisvm.

    ONNX files are read in many languages. They hold linear models, kernels and committees of them,
    and take the numbers of a matrix or, with --columns,
    the columns of a table. The object of scikit-learn
    holds a linear model, and is pickled; if all columns of the model are text, it takes the texts.
    """
    from semisvm.persistence.model_files import load

    suffix = output.path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(f"models are exported to {series(SUFFIXES, 'or')}, not {suffix or output}.")
    bundle = as_model(load(model))
    with as_usage_error():
        _write(bundle, output, suffix, columns)
    print_line(f"{model} is exported to {output}.")
    print_notes("note", [_about_input(bundle, suffix, columns), *_about_pickles(suffix)])


def _write(bundle: "Model", output: Output, suffix: str, columns: bool) -> None:
    from semisvm.persistence.onnx_export import to_onnx
    from semisvm.persistence.sklearn_export import takes_columns, to_sklearn

    if suffix == ONNX:
        try:
            to_onnx(bundle, output.target, columns=columns)
        except ImportError as error:
            raise UserError(str(error)) from error
        return
    _pickle(to_sklearn(bundle, columns=columns or takes_columns(bundle.features)), output)


def _pickle(classifier: Any, output: Output) -> None:
    import joblib

    from semisvm.tables.writing import write_bytes

    with write_bytes(output.target) as stream:
        joblib.dump(classifier, stream)


def _about_input(bundle: "Model", suffix: str, columns: bool) -> str:
    from semisvm.persistence.sklearn_export import takes_columns

    if suffix == ONNX and columns:
        return "its inputs are the columns of the model; texts need onnxruntime."
    if suffix != ONNX and takes_columns(bundle.features):
        names = ", ".join(map(repr, bundle.features.columns_))  # type: ignore[union-attr]
        return f"its input is a data frame with the columns {names}, in which no text is missing."
    width = f"{int(bundle.estimator.n_features_in_):,}"
    if bundle.features is None:
        return f"its input is a matrix of {width} columns, as in the files of the fit."
    return (
        f"its input is a matrix of {width} features, which semisvm.load(MODEL).features.transform "
        "makes of the columns. With --columns, an ONNX file takes the columns themselves."
    )


def _about_pickles(suffix: str) -> list[str]:
    if suffix == ONNX:
        return []
    return ["a pickle runs code when it is loaded: load your own only."]
