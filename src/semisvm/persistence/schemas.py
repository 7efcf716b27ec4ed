"""What each part of a model file must be, declared once and checked when a file is loaded.

Whatever passes can be used: `predict`, ``inspect`` and ``report`` need not look again. Plain
data and arrays of a part are checked together, under one set of sizes. An entry that newer
files have and older ones lack belongs to the optional ones.
"""

from semisvm.maps.kernels import NAMES, PRECOMPUTED, USES
from semisvm.persistence.checks import (
    MOST_COLUMNS,
    Array,
    Check,
    Names,
    anything,
    either,
    flag,
    label,
    listed,
    mapping,
    number,
    one_of,
    optional,
    ordered,
    record,
    scalar,
    shaped,
    text,
    whole,
)
from semisvm.tables.scaling import KINDS
from semisvm.tables.text import MAX_NGRAM, TOKEN_PATTERN

SHARE = number(0.0, 1.0)
SECONDS = number(0.0)
TEXTS = listed(text)

# The document

PARTS = record(
    {
        "format": text,
        "version": whole(1),
        "kind": one_of("model", "estimator", "pipeline"),
        "estimator": mapping(text, anything),
        "features": anything,
        "settings": anything,
        "summary": anything,
        "versions": mapping(text, text),
        "created": optional(text),
        "arrays": anything,
    },
    # the first files have no calibrations
    {
        "calibrator": anything,
        "wrapper": optional(mapping(text, anything)),
        "scaling": optional(mapping(text, anything)),
        "pipeline": mapping(text, anything),
        "conformal": optional(mapping(text, anything)),
        "familiarity": optional(mapping(text, anything)),
    },
)
ESTIMATOR = record(
    {
        "name": text,
        "parameters": mapping(text, anything),
        "values": mapping(text, anything),
    },
    # the first files have no kernels, and not every method has a trace or a hierarchy
    {"trace": anything, "hierarchy": anything, "map": optional(mapping(text, anything))},
)
MACHINE = record({"member": text, "name": text, "parameters": mapping(text, anything)})
ESTIMATORS = listed(MACHINE, least=1)
CALIBRATOR = record(
    {
        "method": one_of("sigmoid", "temperature"),
        "slope": listed(number(0.0), "maps"),
        "offset": listed(number(), "maps"),
    }
)
WRAPPER = record({"method": one_of("sigmoid", "temperature"), "cv": whole(2), "unlabeled": scalar})

# Held-out labels and what the rows of the fit look like; "kept" models are linear

CONFORMAL = record(
    {
        "scores": Array("f", ("held-out labels",)),
        "folds": Array("iu", ("held-out labels",), low=0, high="folds"),
        "n_folds": whole(1),
    },
    {
        "coef": Array("f", ("folds", "scores", "columns")),
        "intercept": Array("f", ("folds", "scores")),
    },
)
LIMIT = record({"usual": number(0.0), "most": number(0.0), "n_rows": whole(1)})
FAMILIARITY = record(
    {"centre": Array("f", ("columns",)), "distance": LIMIT, "unknown": optional(LIMIT)},
    {"seen": Array("b", ("columns",))},
)

LABELED_ROWS = record({}, {"rows": Array("u", ("labelled rows",))})

# Attributes of estimators; "scores" is 1 for two classes, "width" the number of weights

ATTRIBUTES = record(
    {
        "classes_": Array("biufU", ("classes",)),
        "class_prior_": Array("f", ("classes",), low=0.0, high=1.0 + 1e-6),
        "coef_": Array("f", ("scores", "width")),
        "intercept_": Array("f", ("scores",)),
        "n_features_in_": whole(1, MOST_COLUMNS),
        "n_iter_": whole(),
        "objective_": number(finite=False),
    },
    {
        "class_prior_std_": Array("f", ("classes",), low=0.0),
        "feature_names_in_": Names("names"),
        "names_": Names("members"),
        "weights_": Array("f", ("members",), low=0.0),
        "multipliers_": Array("f", ("classes",)),
        "n_nonzero_": Array("iu", ("scores",), low=0),
        "node_coef_": Array("f", ("nodes", "width")),
        "node_intercept_": Array("f", ("nodes",)),
        "optimality_gap_": number(finite=False),
        "queried_": optional(Array("iu", ("queried rows",), low=0)),
        "reg_": number(),
    },
    others=anything,
)
# The same for several labels, each of which has one score
LABEL_ATTRIBUTES = record(
    {
        "classes_": Array("biufU", ("values",)),
        "label_names_": Array("iuU", ("scores",)),
        "class_prior_": Array("f", ("scores",), low=0.0, high=1.0 + 1e-6),
        "class_prior_std_": Array("f", ("scores",), low=0.0),
        "coef_": Array("f", ("scores", "width")),
        "intercept_": Array("f", ("scores",)),
        "n_features_in_": whole(1, MOST_COLUMNS),
        "n_iter_": Array("iu", ("scores",), low=0),
        "objective_": Array("f", ("scores",)),
        "reg_": number(),
    },
    {"feature_names_in_": Names("names")},
)
HIERARCHY = record(
    {
        "names": listed(label, "nodes", least=1, unique=True),
        "ancestors": listed(listed(whole(), least=1), "classes"),
    }
)
LEVELS = number(finite=False)
TRACE = record(
    {
        "columns": either(
            record(
                {
                    "phase": listed(text, "rounds"),
                    "objective": listed(LEVELS, "rounds"),
                    "value": listed(LEVELS, "rounds"),
                },
                others=listed(scalar, "rounds"),
            ),
            one_of({}),
        ),
        "notes": TEXTS,
    }
)

# Feature maps of kernels; "columns" are those of the rows, "rank" the number of features


def rows_of(first: str) -> tuple[dict[str, Check], dict[str, Check]]:
    """Declare rows that a map keeps, dense or CSR: their shape, and their arrays."""
    stored: dict[str, Check] = {
        "rows": Array("f", (first, "columns")),
        "data": Array("f", ("entries",)),
        "indices": Array("i", ("entries",), low=0, high="columns"),
        "indptr": Array("i", ("ends",), low=0),
    }
    return {"shape": shaped(first, "columns")}, stored


PIVOT_ROWS, STORED_PIVOTS = rows_of("rank")
ALL_ROWS, STORED_ROWS = rows_of("rows")
PARAMETERS: dict[str, Check] = {
    "gamma": number(above=0.0),
    "degree": number(1.0),
    "coef0": number(),
}
KERNEL_PARAMETERS = {
    metric: record({name: PARAMETERS[name] for name in USES.get(metric, ())})
    for metric in (*NAMES, PRECOMPUTED)
}
EXPANSION: dict[str, Check] = {
    "kind": text,
    "metric": one_of(*NAMES, PRECOMPUTED),
    "parameters": mapping(text, anything),
    "pivots": Array("iu", ("rank",), low=0),
}
KERNEL: dict[str, Check] = {
    **EXPANSION,
    "residual": number(),
    "corner": Array("f", ("rank", "rank")),
}
CLUSTERS: dict[str, Check] = {
    "centres": Array("f", ("runs", "clusters", "columns")),
    "codes": Array("iu", ("rank", "runs"), low=0, high="clusters"),
}
NEIGHBORS: dict[str, Check] = {"kind": text, "n_neighbors": whole(1)}
LOCAL_GRAPH: dict[str, Check] = {
    "distances": Array("f", ("rows", "near"), low=0.0),
    "nearest": Array("iu", ("rows", "near"), low=0, high="rows"),
    "labeled": Array("iu", ("labeled",), low=0, high="rows"),
}
PATHS: dict[str, Check] = {
    "unit": number(above=0.0),
    "rho": number(above=0.0),
    "lengths": Array("f", ("rows", "rows"), low=0.0),
    "centre": Array("f", ("rows",)),
    "vectors": Array("f", ("rows", "rank")),
}
MAPS = {
    "expansion": record(EXPANSION, {**PIVOT_ROWS, **STORED_PIVOTS}),
    "kernel": record(KERNEL, {**PIVOT_ROWS, **STORED_PIVOTS}),
    "clusters": record({**KERNEL, **PIVOT_ROWS, **CLUSTERS}, STORED_PIVOTS),
    "paths": record({**NEIGHBORS, **ALL_ROWS, **PATHS}, STORED_ROWS),
    "local": record({**NEIGHBORS, **ALL_ROWS}, {**STORED_ROWS, **LOCAL_GRAPH}),
    "votes": record(
        {"kind": text, "members": listed(mapping(text, anything), "rank", least=1)}, others=anything
    ),
    "members": record(
        {"kind": text, "members": listed(mapping(text, anything), least=1)}, others=anything
    ),
}

# Changes of the rows of a matrix

SCALING = record(
    {"kind": one_of(*KINDS), "scale": Array("f", ("columns",))},
    {"centre": Array("f", ("columns",))},
)

# Features of columns

COLUMNS = listed(text, "columns", least=1, unique=True)
NGRAMS = ordered(listed(whole(1, MAX_NGRAM), length=2))
FEATURES = record(
    {
        "parameters": record(
            {
                "dtype": one_of("float64", "float32"),
                "ngram_range": NGRAMS,
            },
            {"column_weights": mapping(text, number(0.0)), "raised": number(0.0, 1.0)},
            others=either(scalar, TEXTS),
        ),
        "kinds": listed(listed(text, length=2)),
        "notes": TEXTS,
        "blocks": listed(mapping(text, anything), "blocks", least=1),
        "scales": Array("f", ("blocks",), above=0.0),
    },
    {"informative": mapping(text, number(0.0, 1.0))},
)
WORDS = record(
    {
        "analyzer": one_of("word", "char", "char_wb"),
        "ngram_range": NGRAMS,
        "lowercase": flag,
        "strip_accents": one_of(None, "ascii", "unicode"),
        # an untrusted pattern may take for ever; this one takes linear time
        "token_pattern": one_of(TOKEN_PATTERN),
    },
    {"stop_words": listed(text, least=1, unique=True)},
)
BLOCKS = {
    "text": record(
        {
            "kind": text,
            "column": text,
            "settings": WORDS,
            "words": listed(text, "words", least=1, unique=True),
            "idf": Array("f", ("words",), low=0.0),
        }
    ),
    "hashed": record(
        {
            "kind": text,
            "column": text,
            "n_columns": whole(1, 2**31 - 1),
            "settings": WORDS,
        }
    ),
    "numeric": record(
        {
            "kind": text,
            "columns": COLUMNS,
            "median": Array("f", ("columns",)),
            "mean": Array("f", ("columns",)),
            "scale": Array("f", ("columns",), above=0.0),
            "indicated": Array("b", ("columns",)),
        }
    ),
    "categorical": record(
        {
            "kind": text,
            "columns": COLUMNS,
            "levels": listed(listed(text, unique=True), "columns"),
            "rare": listed(listed(text, unique=True), "columns"),
        }
    ),
    "vector": record(
        {
            "kind": text,
            "column": text,
            "n_columns": whole(1, MOST_COLUMNS),
            "mean": Array("f", ("numbers",)),
        }
    ),
}

# Facts about the training

INTERVAL = listed(number(), length=2)
CHANCE = record(
    {"guess": number(), "mean": number(), "interval": INTERVAL, "better": flag},
    {"n_labels": optional(whole())},
    others=anything,
)
COMPARISON = record(
    {
        "methods": listed(
            record(
                {"name": text, "mean": number(), "interval": INTERVAL, "fit_seconds": SECONDS},
                {
                    "chance": optional(CHANCE),
                    "new_rows": optional(number()),
                    "fit_rows": optional(number()),
                },
                others=anything,
            )
        ),
        "differences": listed(
            record(
                {
                    "name": text,
                    "mean": number(),
                    "interval": INTERVAL,
                    "verdict": one_of("helped", "no evidence", "hurt"),
                },
                others=anything,
            )
        ),
        "baseline": text,
        "scoring": text,
        "confidence": SHARE,
        "n_labeled": whole(),
        "did_it_help": record(
            {
                "word": one_of("helped", "no evidence", "hurt"),
                "recommended": text,
                "sentence": text,
            },
            others=anything,
        ),
    },
    others=anything,
)
HISTOGRAM = record(
    {
        "two": flag,
        "margin": optional(number(above=0.0)),
        "inside": optional(SHARE),
        "counts": listed(whole(), "bins", least=1),
        "edges": ordered(listed(number(), "bins", more=1)),
    }
)
CHOICE = record(
    {"reasons": TEXTS},
    # older files have settings, and no committees
    {
        "methods": optional(COMPARISON),
        "settings": optional(COMPARISON),
        "members": listed(
            record({"name": text, "method": text, "parameters": anything, "weight": number(0.0)})
        ),
        "skipped": mapping(text, text),
        "cost": text,
        "name": text,
        "weight": number(0.0),
    },
    others=anything,
)
COUNTS = mapping(scalar, whole())
SUMMARY = record(
    {},
    {
        "method": text,
        "rows": whole(),
        "labelled": whole(),
        "labels": COUNTS,
        "found": COUNTS,
        "scores": optional(HISTOGRAM),
        "features": whole(),
        "feature_seconds": SECONDS,
        "fit_seconds": SECONDS,
        "notes": TEXTS,
        "choice": optional(CHOICE),
        "comparison": optional(COMPARISON),
    },
    others=anything,
)
SETTINGS = record(
    {},
    {
        "label": optional(text),
        "unlabeled": scalar,
        "zero_based": optional(flag),
        "embeddings": optional(flag),
        "encoder": optional(text),
        "encoded": optional(TEXTS),
    },
    others=anything,
)
