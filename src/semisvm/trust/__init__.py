"""When to believe a prediction: decisions, sets of classes, reasons, rows unlike the training rows.

Nothing here knows estimators or files: probabilities, scores, weights and rows come as arrays.
"""
