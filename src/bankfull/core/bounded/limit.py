"""What of the budget may be used now: an operator's share of it, and what a recall asked for needs.

Some of a budget in bytes goes to what is not a stored tuple; buffers divide the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bankfull.core.bounded.named import named, refilled, total_bytes
from bankfull.core.bounded.share import Share, Shares, least_part, share_period
from bankfull.core.bounded.slots import SPARE, Slots, new_items
from bankfull.core.kept import Arrays
from bankfull.core.ledger import IMPORTANCE
from bankfull.core.plan import NEVER, Plan
from bankfull.core.recall import sample as recall
from bankfull.kernels.bounded.budget import PERIOD, Rules, fit_budget, follow_rates, share_out
from bankfull.kernels.recall.sample import Watch


class Limit:
    """The budget in use, and the parts of it that buffers have; what no longer fits is evicted."""

    def __init__(self, plan: Plan, slots: Slots, policy: Any) -> None:
        assert plan.shed is not None
        self.plan, self.shed, self.slots = plan, plan.shed, slots
        streams, budget = len(plan.streams), self.shed.budget
        self._divide(budget, policy)
        self.rules = Rules(
            self.shed.seed,
            self.shed.combine,
            budget,
            self._for_tuples(budget, policy),
            self.shed.proportional,
            self.shed.unbiased,
            1.0,
            1.0,
            np.full(streams, self.shed.sample),
            np.zeros(streams + 1),
            np.zeros(streams + 1, np.int64),
            np.zeros((streams, 2, len(IMPORTANCE)), np.int64),
        )
        #: The most that the budget may be; at the last look at it: number and time of the tuple,
        #: tuples dropped.
        self.steered = np.array([budget, 0, -NEVER, 0], np.int64)
        #: The most that this operator may use now of its query's budget.
        self.granted = budget
        #: Which part of the budget holds, and until when; where operators share it.
        self.shares: Shares | None = None
        self.share_until = np.array([-NEVER], np.int64)
        if plan.operators > 1:
            self.shares = Shares(share_period(plan), plan.operators, least_part(self.shed.unbiased))
            self._resize(self.shares.at(-NEVER), policy)

    # -------------------------------------------------------------------- as time and input have it

    def begin(self, time: int) -> None:
        """Note the time of the first tuple."""
        if self.steered[2] == -NEVER:
            self.steered[2] = time

    def follow_share(self, time: int, policy: Any) -> bool:
        """Use the part of the budget that holds at a time; tells whether it is another one."""
        if self.shares is None or time < self.share_until[0]:
            return False
        self._resize(self.shares.at(time), policy)
        self.share_until[0] = self.shares.next_change(time)
        return True

    def follow_rates(self, policy: Any) -> None:
        """Look at the streams' rates, at fixed places of the input, where that is asked for."""
        memory = self.slots.memory
        if (self.rules.proportional or self.rules.unbiased) and not memory.now.seq_next % PERIOD:
            follow_rates(policy, memory, self.rules, int(memory.now.time_now))

    def steer(self, watch: Watch | None, policy: Any) -> None:
        """Look for the memory that gives the recall asked for, at fixed places of the input."""
        if self.shed.recall is None or watch is None:
            return
        memory = self.slots.memory
        seq, time = int(memory.now.seq_next), int(memory.now.time_now)
        if seq % recall.PERIOD or not recall.is_due(self.plan, seq, time, self.steered[1:]):
            return
        dropped, budget = self.slots.dropped(), self.rules.budget
        if dropped == self.steered[3]:  # all that came fits: no more is needed than is used
            budget = max(1, min(budget, int(memory.buffers.used.sum())))
        wanted = recall.next_budget(watch, self.shed.recall, budget)
        if dropped == self.steered[3]:
            wanted = min(wanted, budget)
        self.steered[1:] = seq, time, dropped
        self._set_budget(min(wanted, int(self.steered[0])), policy)

    # -------------------------------------------------------------------------------- what is kept

    def arrays(self) -> Arrays:
        """Return everything that decides, by name."""
        found: Arrays = {"budget": np.array([self.rules.budget]), "steered": self.steered}
        if self.shares is not None:
            found |= {"share_until": self.share_until, **self.shares.arrays()}
        return found | named("rules", self.rules)

    def load(self, arrays: Arrays, policy: Any) -> None:
        """Take over what :meth:`arrays` gave."""
        budget = int(arrays["budget"][0])
        rules: Rules = refilled("rules", self.rules, arrays)
        self.rules = rules._replace(budget=budget, room=self._for_tuples(budget, policy))
        self.steered = arrays["steered"]
        if self.shares is not None:
            self.share_until = arrays["share_until"]
            self.shares.load(arrays)
            self._use_share(self.shares.now())

    # --------------------------------------------------------------------------------- the numbers

    def _divide(self, budget: int, policy: Any) -> None:
        """Give every buffer its part of the budget; the parts add up to what it has for tuples."""
        buffers, room = self.slots.memory.buffers, self._for_tuples(budget, policy)
        assert room >= len(buffers), "every buffer holds at least one tuple"
        weights = np.ones(len(buffers))
        if self.shed.shares is not None:
            weights = np.array(self.shed.shares)
            if weights.sum() < 1.0 - 1e-9:  # who gives less than all of it away uses less
                room = max(len(buffers), int(room * weights.sum() + 1e-9))
        elif self.shed.proportional and buffers.capacity.all():
            weights = buffers.capacity.astype(np.float64)  # as the streams' rates have them
        share_out(room, weights, 1, buffers)

    def _for_tuples(self, budget: int, policy: Any) -> int:
        """Return what a budget in bytes leaves for stored tuples and their keys.

        Keys that nobody holds, counts of those forgotten, the policy, the sample for recall and
        the postings and notes of newcomers take some of it. At least a quarter is left.
        """
        if not self.shed.in_bytes:
            return budget
        own, bagger = total_bytes(policy), self.slots.bagger
        newcomers = new_items(budget) * bagger.post_bytes if bagger else 0
        newcomers += self.slots.piece(budget) * len(self.plan.joins) * self.slots.note_bytes
        slack = budget // 24  # of arrays that grow by more than they need
        own += self.slots.sketch_bytes(budget) + recall.nbytes(self.plan, budget)
        return max(
            len(self.slots.memory.buffers),
            budget // 4,
            budget - 2 * budget // SPARE - slack - own - newcomers,
        )

    def _use_share(self, share: Share) -> None:
        self.rules = self.rules._replace(
            equal_part=share.equal_part, sample_share=share.sample_share
        )

    def _resize(self, share: Share, policy: Any) -> None:
        """Use this part of the query's budget."""
        self._use_share(share)
        budget = self.granted = max(1, int(self.shed.budget * share.memory))
        if self.shed.recall is not None:
            self.steered[0] = budget
            budget = min(budget, self.rules.budget)
        self._set_budget(budget, policy)

    def _set_budget(self, budget: int, policy: Any) -> None:
        memory = self.slots.memory
        budget = max(budget, len(memory.buffers))  # at least one tuple a buffer
        if budget == self.rules.budget:
            return
        self._divide(budget, policy)
        self.rules = self.rules._replace(budget=budget, room=self._for_tuples(budget, policy))
        fit_budget(memory, policy, self.rules)
