"""Compiled kernels of the margin loss; self-contained for numba's cache.

Names follow the derivation in `solvers.crammer_singer`: a row has costs B (sum C), scores
s, a dual point q of the simplex of size C, and stores v = B - q. ``gram`` holds the inner
products of the class paths, ``bound`` its largest curvature along directions that sum to
zero. Without a hierarchy ``flat`` is true, ``gram`` is the identity and ``bound`` is 1.

`csr` and `dense` are the sequential sweeps that `Design.sweep` calls.
"""

import numpy as np

from semisvm.compiling import compiled

# Without a hierarchy a block of m variables is solved exactly. With one, an inner step costs
# m^2, and reading the row costs m times its entries.
MAX_INNER_STEPS = 5
INNER_TOLERANCE = 0.1


@compiled
def _project(r, total, skip, q):
    """Fill q with the point of {q >= 0, sum q = total, q_skip = 0} nearest to r.

    The solution is max(r - theta, 0). From a lower bound of theta the set r > theta shrinks
    to the support in a few passes, which for tens of classes is cheaper than a sort.
    """
    m = r.shape[0]
    top = -np.inf
    for y in range(m):
        if y != skip:
            top = max(top, r[y])
    if total <= 0.0 or top == -np.inf:
        q[:] = 0.0
        return
    theta = -total  # for r minus its largest entry, so that no digits are lost
    previous = m + 1
    while True:
        count = 0
        mass = 0.0
        for y in range(m):
            if y != skip and r[y] - top > theta:
                count += 1
                mass += r[y] - top
        # not "==": entries within rounding of theta may re-enter for ever
        if count >= previous:
            break
        previous = count
        theta = (mass - total) / count
    for y in range(m):
        q[y] = 0.0 if y == skip else max(r[y] - top - theta, 0.0)


@compiled
def project_rows(R, totals, Q):
    """Fill the rows of Q with the points of their simplices nearest to those of R."""
    for i in range(R.shape[0]):
        _project(R[i], totals[i], -1, Q[i])


@compiled
def _block(r, B, C, weight, q):
    """Minimise 1/2 ||q - r||^2 + weight max_y (q_y + B_y - C)_+ over the simplex; r is changed.

    At most one class can be above its cap C - B_y, and it is the one that is above in the
    projection of r: lowering it gives the others at most B_y, which fits their caps.
    """
    m = r.shape[0]
    for y in range(m):
        if B[y] == C:
            # a hard label: its cap is 0, so the second projection below is the solution
            r[y] -= weight
            _project(r, C, -1, q)
            return
    _project(r, C, -1, q)
    over = -1
    for y in range(m):
        if q[y] > C - B[y]:
            over = y
            break
    if over < 0:
        return
    r[over] -= weight
    _project(r, C, -1, q)
    if q[over] < C - B[over]:
        _project(r, B[over], over, q)
        q[over] = C - B[over]


@compiled
def _loss(s, B):
    """Return sum_y B_y max_z [(z != y) + s_z - s_y]."""
    top = -np.inf
    second = -np.inf
    best = -1
    for y in range(s.shape[0]):
        if s[y] > top:
            second = top
            top = s[y]
            best = y
        elif s[y] > second:
            second = s[y]
    total = 0.0
    for y in range(s.shape[0]):
        rival = second if y == best else top
        total += B[y] * max(0.0, 1.0 + rival - s[y])
    return total


@compiled
def _dual_value(q, B, C):
    """Return C - max_y (q_y + B_y - C)_+."""
    over = 0.0
    for y in range(q.shape[0]):
        over = max(over, q[y] + B[y] - C)
    return C - over


@compiled
def _class_scores(t, gram, flat, s):
    m = t.shape[0]
    for y in range(m):
        s[y] = t[y]
    if not flat:
        for y in range(m):
            total = 0.0
            for z in range(m):
                total += gram[y, z] * t[z]
            s[y] = total


@compiled
def _visit(B, v, t, square, gram, flat, bound, work):
    """Solve for the duals of one row, given t = x W; return the gap of the row before.

    v is changed; the change, with which W must be updated, is left in work[0].
    """
    step, q, new, r, s = work[0], work[1], work[2], work[3], work[4]
    m = v.shape[0]
    C = 0.0
    for y in range(m):
        C += B[y]
    _class_scores(t, gram, flat, s)
    gap = _loss(s, B)
    for y in range(m):
        q[y] = max(B[y] - v[y], 0.0)
        gap += s[y] * v[y]
    gap -= _dual_value(q, B, C)
    if square == 0.0:
        # scores are zero whatever the duals; these duals attain the loss, which is C
        for y in range(m):
            step[y] = 0.0
            v[y] = B[y] - (C - B[y]) / (m - 1) if m > 1 else 0.0
        return gap
    first = 0.0
    for inner in range(1 if flat else MAX_INNER_STEPS):
        for y in range(m):
            r[y] = q[y] + s[y] / (square * bound)
        _block(r, B, C, 1.0 / (square * bound), new)
        change = 0.0
        for y in range(m):
            change = max(change, abs(new[y] - q[y]))
            t[y] -= square * (new[y] - q[y])
            q[y] = new[y]
        if inner == 0:
            first = change
        elif change <= INNER_TOLERANCE * first:
            break
        if not flat:
            _class_scores(t, gram, flat, s)
    for y in range(m):
        step[y] = B[y] - q[y] - v[y]
        v[y] = B[y] - q[y]
    return gap


@compiled
def _changed(step, classes):
    """List the classes whose duals have changed; return their number."""
    count = 0
    for y in range(step.shape[0]):
        if step[y] != 0.0:
            classes[count] = y
            count += 1
    return count


@compiled
def csr(indptr, indices, data, bias, W, order, costs, duals, reg, gram, flat, bound, gaps):
    """Visit the rows in order: solve for the duals of each row and update W at once."""
    last, m = W.shape[0] - 1, W.shape[1]
    t = np.empty(m)
    work = np.empty((5, m))
    steps = np.empty(m)
    classes = np.empty(m, dtype=np.uint64)
    for i in order:
        square = bias * bias
        for y in range(m):
            t[y] = bias * W[last, y]
        for j in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            x = np.float64(data[j])
            square += x * x
            column = indices[j]
            for y in range(m):
                t[y] += x * W[column, y]
        gaps[i] = _visit(costs[i], duals[i], t, square / reg, gram, flat, bound, work)
        count = _changed(work[0], classes)
        if count == 0:
            continue
        # few classes change: one pass over the row with scattered writes is cheapest
        for k in range(count):
            steps[k] = work[0, classes[k]] / reg
            W[last, classes[k]] += bias * steps[k]
        for j in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            x = np.float64(data[j])
            column = indices[j]
            for k in range(count):
                W[column, classes[k]] += x * steps[k]


@compiled
def dense(X, lengths, bias, W, order, costs, duals, reg, gram, flat, bound, gaps):
    """Visit the rows in order: solve for the duals of each row and update W at once."""
    d, m = X.shape[1], W.shape[1]
    t = np.empty(m)
    work = np.empty((5, m))
    classes = np.empty(m, dtype=np.int64)
    for i in order:
        length = d if lengths is None else lengths[i]
        square = bias * bias
        for y in range(m):
            t[y] = bias * W[d, y]
        for j in range(length):
            x = np.float64(X[i, j])
            square += x * x
            for y in range(m):
                t[y] += x * W[j, y]
        gaps[i] = _visit(costs[i], duals[i], t, square / reg, gram, flat, bound, work)
        if _changed(work[0], classes) == 0:
            continue
        for y in range(m):
            work[0, y] /= reg
            W[d, y] += bias * work[0, y]
        for j in range(length):
            x = np.float64(X[i, j])
            for y in range(m):
                W[j, y] += x * work[0, y]


@compiled
def measure(S, costs, duals, rows, gaps):
    """Fill the gaps of the listed rows; return the sums of their losses and dual values."""
    m = S.shape[1]
    q = np.empty(m)
    loss = 0.0
    value = 0.0
    for i in rows:
        C = 0.0
        shift = 0.0
        for y in range(m):
            C += costs[i, y]
            q[y] = max(costs[i, y] - duals[i, y], 0.0)
            shift += S[i, y] * duals[i, y]
        primal = _loss(S[i], costs[i])
        dual = _dual_value(q, costs[i], C)
        loss += primal
        value += dual
        gaps[i] = primal - dual + shift
    return loss, value


@compiled
def make_feasible(costs, duals, change, moved):
    """Move the duals of each row to the nearest feasible ones; mark the rows that moved."""
    n, m = costs.shape
    r = np.empty(m)
    q = np.empty(m)
    for i in range(n):
        C = 0.0
        mass = 0.0
        low = 0.0
        for y in range(m):
            C += costs[i, y]
            r[y] = costs[i, y] - duals[i, y]
            mass += duals[i, y]
            low = min(low, r[y])
        # duals computed for these costs are feasible up to rounding: leave them alone
        slack = 1e-14 * C
        if low >= -slack and abs(mass) <= slack:
            continue
        _project(r, C, -1, q)
        moved[i] = True
        for y in range(m):
            change[i, y] = costs[i, y] - q[y] - duals[i, y]
            duals[i, y] = costs[i, y] - q[y]
