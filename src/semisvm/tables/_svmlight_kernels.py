"""Parsing svmlight text, byte by byte, in compiled code.

Numbers are read to the nearest float64, as Python reads them. Most need one exact
division; the few that do not are handed back as positions in the text.
"""

import numpy as np

from semisvm.compiling import compiled

FINE, NOT_A_LABEL, MIXED, NOT_AN_INDEX, LARGE_INDEX, NO_VALUE, NOT_A_NUMBER, DUPLICATE = range(8)
UNKNOWN, LABELED, UNLABELED = range(3)
BAD, FAST, SLOW = range(3)
LARGEST_INDEX = 2**31 - 2

_POWERS = np.array([10.0**k for k in range(23)])
_SPLIT = 134217729.0
_COLON, _HASH, _NEWLINE, _ZERO, _NINE = 58, 35, 10, 48, 57
_PLUS, _MINUS, _POINT = 43, 45, 46


@compiled
def _is_blank(c):
    return c == 32 or c == 9 or c == 13 or c == 11 or c == 12


@compiled
def _token_end(text, p):
    while p < len(text):
        c = text[p]
        if _is_blank(c) or c in (_NEWLINE, _HASH):
            break
        p += 1
    return p


@compiled
def _skip_blank(text, p):
    while p < len(text) and _is_blank(text[p]):
        p += 1
    return p


@compiled
def _line_end(text, p):
    while p < len(text) and text[p] != _NEWLINE:
        p += 1
    return p


@compiled
def _has_colon(text, p, stop):
    while p < stop and text[p] != _COLON:
        p += 1
    return p < stop


@compiled
def _parse_index(text, p, stop):
    """Read ``index:`` and give what is wrong, the index and the place of the value."""
    start, index = p, np.int64(0)
    while p < stop and text[p] >= _ZERO and text[p] <= _NINE:
        index = index * 10 + np.int64(text[p] - _ZERO)
        p += 1
        if index > LARGEST_INDEX:
            return LARGE_INDEX, index, start
    if p == start or p >= stop or text[p] != _COLON:
        return NOT_AN_INDEX, index, start
    p += 1
    return (NO_VALUE if p == stop else FINE), index, p


@compiled
def _is_query(text, p, stop):
    """Return whether a token is ``qid:`` and a whole number."""
    if stop - p < 5 or text[p] != 113 or text[p + 1] != 105 or text[p + 2] != 100:
        return False
    if text[p + 3] != _COLON:
        return False
    p += 4
    while p < stop and text[p] >= _ZERO and text[p] <= _NINE:
        p += 1
    return p == stop


@compiled
def _note_slow(slow, n, entry, start, stop):
    slow[n, 0], slow[n, 1], slow[n, 2] = entry, start, stop
    return n + 1


@compiled
def _quotient(m, power):
    """Divide a whole number < 2**64 by an exact power of ten, rounding once.

    The quotient is computed to twice the precision; where it is too close to the middle
    of two floats the answer is not sure.
    """
    high = np.float64(m)
    back = np.uint64(high)
    low = -np.float64(back - m) if back > m else np.float64(m - back)
    first = high / power
    a = first * _SPLIT
    a = a - (a - first)
    b = first - a
    c = power * _SPLIT
    c = c - (c - power)
    d = power - c
    product = first * power
    error = ((a * c - product) + a * d + b * c) + b * d
    second = (((high - product) - error) + low) / power
    value = first + second
    rest = second - (value - first)
    return value + rest * 1.000001 == value, value


@compiled
def parse_number(text, p, stop):
    """Read text[p:stop] as a number: how sure the value is, and the value."""
    negative = False
    if p < stop and (text[p] == _PLUS or text[p] == _MINUS):
        negative = text[p] == _MINUS
        p += 1
    m, seen, kept, shift, point = np.uint64(0), 0, 0, np.int64(0), False
    while p < stop:
        c = text[p]
        if c >= _ZERO and c <= _NINE:
            seen += 1
            if kept > 0 or c > _ZERO:
                kept += 1
            if kept <= 19:
                m = m * np.uint64(10) + np.uint64(c - _ZERO)
                if point:
                    shift -= 1
        elif c == _POINT and not point:
            point = True
        else:
            break
        p += 1
    if seen == 0:
        return BAD, 0.0
    if p < stop:
        if text[p] != 101 and text[p] != 69:
            return BAD, 0.0
        p += 1
        down = False
        if p < stop and (text[p] == _PLUS or text[p] == _MINUS):
            down = text[p] == _MINUS
            p += 1
        if p == stop:
            return BAD, 0.0
        exponent = np.int64(0)
        while p < stop:
            if text[p] < _ZERO or text[p] > _NINE:
                return BAD, 0.0
            if exponent < 100000:
                exponent = exponent * 10 + np.int64(text[p] - _ZERO)
            p += 1
        shift += -exponent if down else exponent
    if kept > 19 or shift < -22 or shift > 22:
        return SLOW, 0.0
    sure, value = True, np.float64(m)
    if m <= np.uint64(9007199254740992):
        value = value / _POWERS[-shift] if shift < 0 else value * _POWERS[shift]
    elif shift < 0:
        sure, value = _quotient(m, _POWERS[-shift])
    elif shift > 0:
        sure = False
    return (FAST if sure else SLOW), (-value if negative else value)


@compiled
def parse_rows(text, blank_rows, labeled, labels, lines, indptr, indices, values, slow):
    """Read whole lines.

    Parameters
    ----------
    text : uint8 array
    blank_rows : bool
        Whether a blank line is a row of zeros.
    labeled : int
        What earlier rows showed: UNKNOWN, LABELED or UNLABELED.
    labels, lines, indptr, indices, values : arrays, filled
    slow : int64 array of shape (numbers, 3), filled
        Numbers that are left to Python: entry (or -1 - row for a label), start, stop.

    Returns
    -------
    status, position, line, labeled, n_rows, n_values, n_slow, unsorted
    found : tuple
        Smallest and largest index, and position and line of the first index 0.
    """
    p, row, k, n_slow, line, status = 0, 0, 0, 0, 1, FINE
    unsorted, smallest, largest, zero_at, zero_line = False, LARGEST_INDEX + 1, -1, -1, 0
    indptr[0] = 0
    while p < len(text):
        p = _skip_blank(text, p)
        if p >= len(text):
            break
        empty = text[p] == _NEWLINE
        if (empty and not blank_rows) or text[p] == _HASH:
            p, line = _line_end(text, p) + 1, line + 1
            continue
        labels[row] = np.nan
        if not empty:
            stop = _token_end(text, p)
            kind = UNLABELED if _has_colon(text, p, stop) else LABELED
            if labeled == UNKNOWN:
                labeled = kind
            if kind != labeled:
                status = MIXED
                break
            if kind == LABELED:
                how, labels[row] = parse_number(text, p, stop)
                if how == BAD:
                    status = NOT_A_LABEL
                    break
                if how == SLOW:
                    n_slow = _note_slow(slow, n_slow, -1 - row, p, stop)
                p = stop
        previous = -1
        while True:
            p = _skip_blank(text, p)
            if p >= len(text) or text[p] == _NEWLINE or text[p] == _HASH:
                break
            start, stop = p, _token_end(text, p)
            if _is_query(text, p, stop):
                p = stop
                continue
            status, index, p = _parse_index(text, p, stop)
            if status != FINE:
                break
            how, values[k] = parse_number(text, p, stop)
            if how == BAD:
                status = NOT_A_NUMBER
                break
            if how == SLOW:
                n_slow = _note_slow(slow, n_slow, k, p, stop)
            if index == previous:
                status, p = DUPLICATE, start
                break
            if index == 0 and zero_at < 0:
                zero_at, zero_line = start, line
            unsorted = unsorted or index < previous
            smallest, largest = min(smallest, index), max(largest, index)
            indices[k], previous, k, p = index, index, k + 1, stop
        if status != FINE:
            break
        lines[row], row = line, row + 1
        indptr[row] = k
        p, line = _line_end(text, p) + 1, line + 1
    found = (smallest, largest, zero_at, zero_line)
    return status, p, line, labeled, row, k, n_slow, unsorted, found
