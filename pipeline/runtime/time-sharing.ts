/**
 * Time sharing: one member works at a time and yields at its pauses to the member that has had the least time. So beside a long
 * computation, a short one takes about twice as long as alone, not as long as the long one. A member that does not pause, because it
 * waits for a server, does not block the others: after a while the next one runs beside it.
 */
export interface Share {
  /** Call it between small pieces of work. */
  pause(): Promise<void>;
  end(): void;
}

export interface TimeSharingOptions {
  overdueMs?: number;
  now?(): number;
}

interface Member {
  usedMs: number;
  since: number;
  resume?: (() => void) | undefined;
}

export type TimeSharing = ReturnType<typeof createTimeSharing>;

const leastUsed = (members: Iterable<Member>): Member | undefined => {
  let least: Member | undefined;
  for (const member of members) if (!least || member.usedMs < least.usedMs) least = member;
  return least;
};

export function createTimeSharing({
  overdueMs = 1_000,
  now = () => performance.now(),
}: TimeSharingOptions = {}) {
  const members = new Set<Member>();
  /** In arrival order. */
  const waiting = new Set<Member>();
  let holder: Member | undefined;
  let overdue: NodeJS.Timeout | undefined;

  function give(member: Member): void {
    clearTimeout(overdue);
    holder = member;
    member.since = now();
    overdue = setTimeout(handOver, overdueMs);
    overdue.unref();
    waiting.delete(member);
    member.resume?.();
  }

  function handOver(): void {
    clearTimeout(overdue);
    holder = undefined;
    const next = leastUsed(waiting);
    if (next) give(next);
  }

  function wait(member: Member): Promise<void> {
    const resumed = new Promise<void>((resolve) => {
      member.resume = resolve;
    });
    waiting.add(member);
    if (!holder) handOver();
    return resumed;
  }

  async function pause(member: Member): Promise<void> {
    member.usedMs += now() - member.since;
    member.since = now();
    const rival = leastUsed(waiting);
    if (holder === member && !(rival && rival.usedMs < member.usedMs)) return give(member);
    if (holder === member) holder = undefined;
    await wait(member);
  }

  return {
    /** Resolves at the new member's first turn. It starts level with the least used member. */
    async join(): Promise<Share> {
      const member: Member = { usedMs: leastUsed(members)?.usedMs ?? 0, since: now() };
      members.add(member);
      await wait(member);
      return {
        pause: () => pause(member),
        end() {
          members.delete(member);
          if (holder === member) handOver();
        },
      };
    },
  };
}
