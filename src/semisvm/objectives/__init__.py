"""What methods minimise: two classes, many classes, outputs that are smooth on a graph."""
