"""Compiled parts of the exact label step; self-contained for numba's cache.

For each ordered pair of classes (y, z) a heap holds rows of y by the cost of moving them
to z, cheapest first. The heaps are skew heaps: binary trees of nodes in one growing pool,
joined by a merge, so m*m of them need no separate memory.

Rows with masses may be divided: then the heaps hold pieces of rows, the parts in one class.
"""

import numpy as np

from semisvm.compiling import compiled

NONE = -1
# Masses below this part of all mass are rounding errors.
ROUNDING = 1e-12
# Many more paths than are ever needed; where costs differ by more than sixteen orders of magnitude,
# rounding might move rows in circles.
PATHS_PER_PIECE = 100


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
    """Drop rows that have left class y from the heap and return its root."""
    while heap != NONE and labels[row[heap]] != y:
        heap = _merge(left[heap], right[heap], key, left, right)
    return heap


@compiled
def _grow(row, key, left, right):
    size = row.shape[0]
    more_row = np.empty(2 * size, np.int64)
    more_key = np.empty(2 * size, np.float64)
    more_left = np.empty(2 * size, np.int64)
    more_right = np.empty(2 * size, np.int64)
    more_row[:size] = row
    more_key[:size] = key
    more_left[:size] = left
    more_right[:size] = right
    return more_row, more_key, more_left, more_right


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
def _filled(costs, prices, labels, mass, reach, limit):
    """Make the heaps of the rows within reach, and the cheapest move of every edge.

    With the rows that are left out, the limit is an upper bound on the cost of an edge. Rows
    without mass cannot be moved; a single mass holds for all rows.
    """
    n, m = costs.shape
    row = np.empty(1024, np.int64)
    key = np.empty(1024, np.float64)
    left = np.empty(1024, np.int64)
    right = np.empty(1024, np.int64)
    used = 0
    heaps = np.full((m, m), NONE)
    equal = mass.shape[0] == 1
    for i in range(n):
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
        for z in range(m):
            if z == y:
                continue
            move = costs[i, z] - costs[i, y]
            if costs[i, z] - prices[z] - own <= reach:
                if used == row.shape[0]:
                    row, key, left, right = _grow(row, key, left, right)
                heaps[y, z] = _push(heaps[y, z], used, i, move, row, key, left, right)
                used += 1
            elif move < limit[y, z]:
                limit[y, z] = move
    edge = limit.copy()
    for y in range(m):
        for z in range(m):
            if heaps[y, z] != NONE:
                edge[y, z] = min(edge[y, z], key[heaps[y, z]])
    return heaps, used, row, key, left, right, edge


@compiled
def _renew(heaps, edge, limit, target, before, row, left, right, key, labels):
    """Find the cheapest moves from the classes on a path again: only these have changed."""
    z = target
    while z != NONE:
        for x in range(heaps.shape[0]):
            if x != z:
                heap = _top(heaps[z, x], z, row, left, right, key, labels)
                heaps[z, x] = heap
                edge[z, x] = limit[z, x]
                if heap != NONE:
                    edge[z, x] = min(edge[z, x], key[heap])
        z = before[z]


@compiled
def balance(costs, prices, labels, excess, reach, limit):
    """Move rows along shortest paths of the class graph until no class has an excess.

    Parameters
    ----------
    costs : array of shape (n, m)
    prices : array of shape (m,)
        Prices at which the labels are cheapest; changed so that they remain so.
    labels : int array of shape (n,), changed
    excess : int array of shape (m,), changed
        Number of rows of each class above its count.
    reach : float
        Rows enter the heaps only if moving them costs at most this at the prices.
    limit : array of shape (m, m), changed
        The cheapest move from y to z among rows that are not here, or infinity.

    Returns
    -------
    done : bool
        False if a row beyond ``reach`` may be needed: call again, with more reach.
    """
    m = costs.shape[1]
    heaps, used, row, key, left, right, edge = _filled(
        costs, prices, labels, np.ones(1), reach, limit
    )
    distance = np.empty(m)
    before = np.empty(m, np.int64)
    while excess.max() > 0:
        target = _shortest_path(edge, prices, excess, distance, before)
        if target == NONE:
            return False
        z = target
        while before[z] != NONE:
            heap = heaps[before[z], z]
            if heap == NONE or key[heap] > edge[before[z], z]:
                return False
            z = before[z]
        for y in range(m):
            prices[y] += min(distance[y], distance[target])
        # move the cheapest row of every edge on the path
        excess[target] += 1
        z = target
        while before[z] != NONE:
            y = before[z]
            i = row[heaps[y, z]]
            labels[i] = z
            for x in range(m):
                if x != z:
                    if used == row.shape[0]:
                        row, key, left, right = _grow(row, key, left, right)
                    move = costs[i, x] - costs[i, z]
                    heaps[z, x] = _push(heaps[z, x], used, i, move, row, key, left, right)
                    used += 1
            z = y
        excess[z] -= 1
        _renew(heaps, edge, limit, target, before, row, left, right, key, labels)
    return True


@compiled
def balance_masses(costs, prices, labels, mass, excess, reach, limit):
    """Do the same for rows with masses, of which paths move as much as all their edges allow.

    The part of row i that is in class y is piece i m + y; parts that meet again are one. So every
    path uses up a piece, an excess or a lack, and their number stays small. At most m - 1 rows
    need to be divided between classes in the end; they are labelled with the class that has the
    largest part. Unlike in `balance`, nothing has changed if the result is False. The excess is a
    mass, and is zero in the end up to rounding.
    """
    n, m = costs.shape
    heaps, used, row, key, left, right, edge = _filled(costs, prices, labels, mass, reach, limit)
    for node in range(used):
        row[node] = row[node] * m + labels[row[node]]
    amount = np.zeros(n * m)
    # the class of a piece, or NONE if there is nothing of it
    place = np.full(n * m, NONE)
    for i in range(n):
        amount[i * m + labels[i]] = mass[i]
        place[i * m + labels[i]] = labels[i]
    over = excess.copy()
    nu = prices.copy()
    negligible = ROUNDING * mass.sum()
    distance = np.empty(m)
    before = np.empty(m, np.int64)
    for _ in range(PATHS_PER_PIECE * n * m):
        if over.max() <= negligible or over.min() >= -negligible:
            break
        for y in range(m):
            if abs(over[y]) <= negligible:
                over[y] = 0.0
        target = _shortest_path(edge, nu, over, distance, before)
        if target == NONE:
            return False
        z = target
        much = -over[target]
        while before[z] != NONE:
            heap = heaps[before[z], z]
            if heap == NONE or key[heap] > edge[before[z], z]:
                return False
            much = min(much, amount[row[heap]])
            z = before[z]
        much = min(much, over[z])
        for y in range(m):
            nu[y] += min(distance[y], distance[target])
        over[target] += much
        over[z] -= much
        z = target
        while before[z] != NONE:
            y = before[z]
            piece = row[heaps[y, z]]
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
                        if used == row.shape[0]:
                            row, key, left, right = _grow(row, key, left, right)
                        move = costs[i, x] - costs[i, z]
                        heaps[z, x] = _push(heaps[z, x], used, piece, move, row, key, left, right)
                        used += 1
            z = y
        _renew(heaps, edge, limit, target, before, row, left, right, key, place)
    for i in range(n):
        labels[i] = np.argmax(amount[i * m : (i + 1) * m])
    prices[:] = nu
    excess[:] = 0.0
    return True


@compiled
def near(costs, prices, labels, reach, limit):
    """List the rows that a move within reach may concern; the others only bound the edges."""
    n, m = costs.shape
    found = np.empty(n, np.int64)
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
    return found[:k]
