"""A log read back into an algorithm: what was asked and told holds, whatever the algorithm computes today."""

import numpy as np

from bandits_lib.lab import entries
from bandits_lib.lab import log as logs
from bandits_lib.protocol import Sample


def replay(lab, log, path):
    """Take a `Log` into a `Lab` that was told nothing: what to warn of. A ValueError names the line in `path`."""
    story = _Story(lab, log)
    try:
        logs.check_same(log, lab.experiment)
        standing = entries.standing(log.entries)
        for entry in standing:
            story.take(entry)
        if len(standing) < len(log.entries):
            lab._texts = list(map(entries.text, log.entries))
    except ValueError as error:
        raise ValueError(f"{path}, {error}") from None
    return [f"{path}: {message}" for message in story.finish()]


class _Story:
    """One replay: the Lab that relives it, and where it goes otherwise than it went."""

    def __init__(self, lab, log):
        self.lab, self.log = lab, log
        self.differing: list[tuple[int, int, int]] = []  # request, pulls that differ, pulls asked for
        self.outlived: int | None = None  # pulls that the log holds after the algorithm was done here
        self.undone = False  # the algorithm was done there, but not here
        self.asked = 0  # the last request in the log
        lab._head = log.head

    def take(self, entry):
        """One entry: what was told or changed, then what was asked."""
        lab = self.lab
        lab._stock.move(entry.stock)
        lab._by_hand = lab._by_hand or bool(entry.told and not entry.stock)
        if lab.result is not None:
            self._outlive(entry)
        elif entry.told:
            self._tell(entry.told)
        elif entry.changed:
            self._change(entry)
        if entry.asked and lab.result is None:
            self._hold(entry)
        elif entry.asked:
            self.outlived = self.outlived or 0
        self.undone = entry.done is not None and lab.result is None
        if entry != entries.Entry(()):
            lab._texts.append(entries.text(entry))

    def _tell(self, rows):
        self._check_request(rows)
        try:
            self.lab._take(self.lab._check(_sample(rows, len(self.lab._missing))))
        except ValueError as error:
            cause = f" (the log's requests differ from those computed here: {logs.MACHINE})" if self.differing else ""
            raise ValueError(f"line {rows[0].line}: {error}{cause}") from None

    def _change(self, entry):
        """What the open request wants more or less, since arms were dropped or it was closed."""
        self._check_request(entry.changed)
        lab, line = self.lab, entry.changed[0].line
        held = lab._missing + _dense(entry.changed, "asked", lab._K)
        if (held < 0).any():
            raise ValueError(f"line {line}: asks for {held.min()} pulls of arm {int(np.argmin(held))}")
        try:
            if entry.dropped:
                lab._plan_without(entry.dropped)
            if lab.result is None:
                self._compare(held, np.zeros_like(held) if not entry.dropped else lab._missing)
                lab._missing = held
                if not held.any():
                    lab._end()
        except ValueError as error:
            raise ValueError(f"line {line}: {error}") from None

    def _compare(self, held, computed):
        """Note where a request in the log is another than the one computed here."""
        apart = max(np.maximum(held - computed, 0).sum(), np.maximum(computed - held, 0).sum())
        if apart:
            self.differing.append((self.lab._request, int(apart), int(held.sum())))

    def _hold(self, entry):
        """Let the request in the log stand for the one computed."""
        lab, rows = self.lab, entry.asked
        self._check_request(rows)
        computed, asked = lab._missing, _dense(rows, "asked", len(lab._missing))
        self._compare(asked, computed)
        lab._missing, self.asked = asked, lab._request

    def _check_request(self, rows):
        row = next((row for row in rows if row.request != self.lab._request), None)
        if row is not None:
            verb = "answers" if row.count > 0 else "makes"
            at = self.lab._request
            raise ValueError(f"line {row.line}: {verb} request {row.request} where the algorithm is at request {at}")

    def _outlive(self, entry):
        """Keep what was told after the algorithm was done."""
        if entry.told:
            log = self.lab.log
            sample = _sample(entry.told, len(log[0].counts) if log else 1 + max(row.arm for row in entry.told))
            log.append(sample)
            self.lab.requests.append(entry.told[0].request)
            self.outlived = (self.outlived or 0) + int(sample.counts.sum())

    def finish(self):
        """Enter a request that the log does not have; returns the warnings."""
        lab = self.lab
        if lab.result is None and self.asked < lab._request:
            lab._texts.append(entries.text(entries.entry(lab._request - 1, asked=lab._missing)))
        elif lab.result is not None and lab._request and not any(e.done is not None for e in self.log.entries):
            if self.outlived is None:
                lab._texts.append(entries.text(entries.entry(lab._request, done=True)))
        return [message for message in (self._torn(), self._differs(), self._ends()) if message]

    def _torn(self):
        if not self.log.torn:
            return ""
        return (
            f"its end, {self.log.torn!r}, is left out: no empty line follows, so the save that wrote it was cut short. "
            "Tell again what ask() still wants; the next save makes a remark of this"
        )

    def _differs(self):
        if not self.differing:
            return ""
        (request, apart, pulls), *later = self.differing
        more = f" and {len(later)} later ones" if later else ""
        return (
            f"the log holds another request {request}{more} than the algorithm computes here ({apart} of its {pulls} "
            "pulls differ). What was asked and told holds, and the rule fits that. "
            f"Likely causes: {logs.MACHINE}"
        )

    def _ends(self):
        end = f"after request {self.lab._request}"
        if self.outlived is not None:
            return (
                f"here the algorithm is done {end}, though the log goes on: its {self.outlived} further pulls are kept "
                f"and have no part in the result. Likely causes: {logs.MACHINE}"
            )
        if self.undone:
            before = f"after request {self.asked}"
            return f"the algorithm was done {before}, but here it asks for more. Likely causes: {logs.MACHINE}"
        return ""


def _sample(rows, K):
    counts = _dense(rows, "count", K)
    return Sample(counts, _dense(rows, "sum", K), _dense(rows, "squares", K))


def _dense(rows, field, K):
    """One field of rows as an array (K,)."""
    values = np.zeros(K, np.int64 if field in ("asked", "count") else float)
    for row in rows:
        if row.arm >= K:
            raise ValueError(f"line {row.line}: arm {row.arm} is not one of 0..{K - 1}")
        values[row.arm] += getattr(row, field)
    return values
