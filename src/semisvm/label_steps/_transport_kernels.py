"""Compiled parts of the exact label step; self-contained for numba's cache.

For each ordered pair of classes (y, z) a heap holds rows of y by the cost of moving them
to z, cheapest first. The heaps are skew heaps: binary trees of nodes in one growing pool,
joined by a merge, so m*m of them need no separate memory.

Rows with masses may be divided: then the heaps hold pieces of rows, the parts in one class.

The number of paths has no useful bound. So a call of `balance` or `balance_masses` does a part of
the work: between calls Python handles signals, and makes room for more nodes. What a call leaves to
the next is in arrays that it is given. It returns none: numba makes arrays by code of Python, in
which an interrupt would become another error.
"""

import numpy as np

from semisvm.compiling import compiled

NONE = -1
# Masses below this part of all mass are rounding errors.
ROUNDING = 1e-12
# Many more paths than are ever needed; where costs differ by more than sixteen orders of magnitude,
# rounding might move rows in circles.
PATHS_PER_PIECE = 100

# What a call of `balance` and `balance_masses` returns.
DONE = 0
BEYOND_REACH = 1
UNFINISHED = 2
NO_ROOM = 3


@compiled
def assign(costs, prices, labels, counts):
    """Assign each row its cheapest class at the prices, and count the rows per class."""
    n, m = costs.shape
    counts[:] = 0
    for i in range(n):
        best = 0
        low = costs[i, 0] - prices[0]
        for y in range(1, m):
            value = costs[i, y] - prices[y]
            if value < low:
                low = value
                best = y
        labels[i] = best
        counts[best] += 1


@compiled(fastmath={"reassoc"})
def chosen_cost(costs, labels, mass):
    """Sum the costs of the labels, times the masses of the rows; a single mass holds for all."""
    equal = mass.shape[0] == 1
    total = 0.0
    for i in range(labels.shape[0]):
        total += (mass[0] if equal else mass[i]) * costs[i, labels[i]]
    return total


@compiled
def gaps(costs, prices, labels, out):
    """Fill out with the costs of moving each row to each of the other classes, at the prices."""
    n, m = costs.shape
    k = 0
    for i in range(n):
        y = labels[i]
        own = costs[i, y] - prices[y]
        for z in range(m):
            if z != y:
                out[k] = costs[i, z] - prices[z] - own
                k += 1


@compiled
def _merge(a, b, key, left, right):
    """Merge two heaps and return the root; iterative, along the right spines."""
    if a == NONE:
        return b
    if b == NONE:
        return a
    if key[b] < key[a]:
        a, b = b, a
    root = a
    while True:
        # a is the smaller root: its right child meets b, and its children swap sides
        child = right[a]
        right[a] = left[a]
        if child == NONE:
            left[a] = b
            return root
        if key[b] < key[child]:
            child, b = b, child
        left[a] = child
        a = child


@compiled
def _top(heap, y, row, left, right, key, labels):
    """Drop rows that have left class y from the heap and return its root.

    A row is in the heaps of all moves from its class. When it moves, its nodes stay there until
    they come to the top: to find them would take longer.
    """
    while heap != NONE and labels[row[heap]] != y:
        heap = _merge(left[heap], right[heap], key, left, right)
    return heap


@compiled
def _push(heap, used, i, cost, row, key, left, right):
    """Add row i to a heap as node ``used`` and return the root."""
    row[used] = i
    key[used] = cost
    left[used] = NONE
    right[used] = NONE
    return _merge(heap, used, key, left, right)


@compiled
def _shortest_path(edge, prices, excess, distance, before):
    """Dijkstra from all classes in excess, on reduced costs; return the class reached.

    NONE if no class with too few rows can be reached, because costs are not numbers.
    """
    m = excess.shape[0]
    final = np.zeros(m, np.bool_)
    for y in range(m):
        before[y] = NONE
        distance[y] = 0.0 if excess[y] > 0 else np.inf
    while True:
        y = NONE
        for z in range(m):
            if not final[z] and (y == NONE or distance[z] < distance[y]):
                y = z
        if y == NONE or not distance[y] < np.inf:
            return NONE
        final[y] = True
        if excess[y] < 0:
            return y
        for z in range(m):
            if not final[z]:
                # rounding can make a reduced cost slightly negative
                through = distance[y] + max(edge[y, z] - prices[z] + prices[y], 0.0)
                if through < distance[z]:
                    distance[z] = through
                    before[z] = y


@compiled
def _fill(costs, prices, labels, mass, reach, limit, heaps, max_rows):
    """Add some more rows, those within reach, to the heaps; the others bound the edges.

    With the rows that are left out, the limit is an upper bound on the cost of an edge. Rows
    without mass cannot be moved. A single mass holds for all rows, which are then not divided.
    """
    roots, edge, nodes, key, sizes = heaps
    row, left, right = nodes[0], nodes[1], nodes[2]
    n, m = costs.shape
    used, start = sizes[0], sizes[1]
    stop = min(start + max_rows, n)
    equal = mass.shape[0] == 1
    for i in range(start, stop):
        if used + m > key.shape[0]:
            sizes[0], sizes[1] = used, i
            return NO_ROOM
        y = labels[i]
        own = costs[i, y] - prices[y]
        if not equal and mass[i] == 0.0:
            continue
        # few rows are within reach or below the limit: look for them without branches
        some = False
        for z in range(m):
            within = costs[i, z] - prices[z] - own <= reach
            some |= (z != y) & (within | (costs[i, z] - costs[i, y] < limit[y, z]))
        if not some:
            continue
        what = i if equal else i * m + y
        for z in range(m):
            if z == y:
                continue
            move = costs[i, z] - costs[i, y]
            if costs[i, z] - prices[z] - own <= reach:
                roots[y, z] = _push(roots[y, z], used, what, move, row, key, left, right)
                used += 1
            elif move < limit[y, z]:
                limit[y, z] = move
    sizes[0], sizes[1] = used, stop
    if stop < n:
        return UNFINISHED
    for y in range(m):
        for z in range(m):
            edge[y, z] = limit[y, z]
            if roots[y, z] != NONE:
                edge[y, z] = min(edge[y, z], key[roots[y, z]])
    return DONE


@compiled
def _renew(roots, edge, limit, target, before, row, left, right, key, labels):
    """Find the cheapest moves from the classes on a path again: only these have changed."""
    z = target
    while z != NONE:
        for x in range(roots.shape[0]):
            if x != z:
                heap = _top(roots[z, x], z, row, left, right, key, labels)
                roots[z, x] = heap
                edge[z, x] = limit[z, x]
                if heap != NONE:
                    edge[z, x] = min(edge[z, x], key[heap])
        z = before[z]


@compiled
def _within_reach(roots, edge, key, target, before):
    """Return whether the cheapest moves along a path are of rows in the heaps."""
    z = target
    while before[z] != NONE:
        heap = roots[before[z], z]
        if heap == NONE or key[heap] > edge[before[z], z]:
            return False
        z = before[z]
    return True


@compiled
def balance(costs, prices, labels, mass, excess, reach, limit, heaps, cells):
    """Move rows along shortest paths of the class graph, until no class has an excess.

    Parameters
    ----------
    costs : array of shape (n, m)
    prices : array of shape (m,)
        Prices at which the labels are cheapest; changed so that they remain so.
    labels : int array of shape (n,), changed
    mass : array of shape (1,)
    excess : int array of shape (m,), changed
        Number of rows of each class above its count.
    reach : float
        Rows enter the heaps only if moving them costs at most this at the prices.
    limit : array of shape (m, m), changed
        The cheapest move from y to z among rows that are not in the heaps, or infinity.
    heaps : tuple of arrays, changed
        The roots of the heaps and the costs of the edges, both of shape (m, m); the row, left and
        right child of each node, and its key; the numbers of nodes and of rows so far.
    cells : int
        How much to do in this call: cells of the costs to read, or about as much work.

    Returns
    -------
    state : int
        `DONE`, `BEYOND_REACH` if a row that is not in the heaps may be needed, `NO_ROOM` if there
        must be more nodes, or `UNFINISHED`.
    """
    n, m = costs.shape
    roots, edge, nodes, key, sizes = heaps
    if sizes[1] < n or n == 0:
        state = _fill(costs, prices, labels, mass, reach, limit, heaps, max(1, cells // m))
        if state != DONE:
            return state
    row, left, right = nodes[0], nodes[1], nodes[2]
    distance = np.empty(m)
    before = np.empty(m, np.int64)
    for _ in range(max(1, cells // (m * m))):
        if excess.max() <= 0:
            return DONE
        if sizes[0] + m * m > key.shape[0]:
            return NO_ROOM
        target = _shortest_path(edge, prices, excess, distance, before)
        if target == NONE or not _within_reach(roots, edge, key, target, before):
            return BEYOND_REACH
        # Prices that follow the distances leave no reduced cost negative, so that Dijkstra's method
        # is right for the next path too. Classes beyond the target have no final distance; for
        # them that of the target is enough.
        for y in range(m):
            prices[y] += min(distance[y], distance[target])
        # move the cheapest row of every edge on the path
        excess[target] += 1
        z = target
        while before[z] != NONE:
            y = before[z]
            i = row[roots[y, z]]
            labels[i] = z
            for x in range(m):
                if x != z:
                    move = costs[i, x] - costs[i, z]
                    roots[z, x] = _push(roots[z, x], sizes[0], i, move, row, key, left, right)
                    sizes[0] += 1
            z = y
        excess[z] -= 1
        _renew(roots, edge, limit, target, before, row, left, right, key, labels)
    return UNFINISHED


@compiled
def balance_masses(costs, prices, labels, mass, excess, reach, limit, heaps, amount, place, cells):
    """Do the same for rows with masses, of which paths move as much as all their edges allow.

    The part of row i that is in class y is piece i m + y; parts that meet again are one. So every
    path uses up a piece, an excess or a lack, and their number stays small. At most m - 1 rows
    are divided between classes in the end. The excess is a mass, and is zero in the end up to
    rounding.

    ``amount[piece]`` is the mass of a piece, and ``place[piece]`` its class, or NONE if there is
    nothing of it. Both are changed.
    """
    n, m = costs.shape
    roots, edge, nodes, key, sizes = heaps
    if sizes[1] < n or n == 0:
        state = _fill(costs, prices, labels, mass, reach, limit, heaps, max(1, cells // m))
        if state != DONE:
            return state
    row, left, right = nodes[0], nodes[1], nodes[2]
    negligible = ROUNDING * mass.sum()
    distance = np.empty(m)
    before = np.empty(m, np.int64)
    for _ in range(max(1, cells // (m * m))):
        if excess.max() <= negligible or excess.min() >= -negligible:
            return DONE
        for y in range(m):
            if abs(excess[y]) <= negligible:
                excess[y] = 0.0
        if sizes[0] + m * m > key.shape[0]:
            return NO_ROOM
        target = _shortest_path(edge, prices, excess, distance, before)
        if target == NONE or not _within_reach(roots, edge, key, target, before):
            return BEYOND_REACH
        z = target
        much = -excess[target]
        while before[z] != NONE:
            much = min(much, amount[row[roots[before[z], z]]])
            z = before[z]
        much = min(much, excess[z])
        for y in range(m):
            prices[y] += min(distance[y], distance[target])
        excess[target] += much
        excess[z] -= much
        z = target
        while before[z] != NONE:
            y = before[z]
            piece = row[roots[y, z]]
            i = piece // m
            moved = much
            if amount[piece] - much <= negligible:
                moved = amount[piece]
                place[piece] = NONE
            amount[piece] -= moved
            piece = i * m + z
            amount[piece] += moved
            if place[piece] == NONE:
                place[piece] = z
                for x in range(m):
                    if x != z:
                        move = costs[i, x] - costs[i, z]
                        roots[z, x] = _push(
                            roots[z, x], sizes[0], piece, move, row, key, left, right
                        )
                        sizes[0] += 1
            z = y
        _renew(roots, edge, limit, target, before, row, left, right, key, place)
    return UNFINISHED


@compiled
def near(costs, prices, labels, reach, limit, found):
    """List the rows that a move within reach may concern; the others only bound the edges.

    Returns their number.
    """
    n, m = costs.shape
    k = 0
    for i in range(n):
        y = labels[i]
        own = costs[i, y] - prices[y]
        close = False
        for z in range(m):
            close |= (z != y) & (costs[i, z] - prices[z] - own <= reach)
        if close:
            found[k] = i
            k += 1
        else:
            for z in range(m):
                if z != y:
                    limit[y, z] = min(limit[y, z], costs[i, z] - costs[i, y])
    return k
