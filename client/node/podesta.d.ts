/** The right to act, under one epoch, until it is over. */
export interface Lead {
  /** Pass it to every resource that you change. It is a safe integer. */
  readonly epoch: number;
  /**
   * Aborted when the lead is over; its reason is an {@link Over}. An event loop that stands still
   * learns of it late: call check() right before each effect.
   */
  readonly signal: AbortSignal;
  /** Throws {@link Over} unless this process leads at this moment. It reads the clock each time. */
  readonly check: () => void;
}

export interface Options {
  /** Ends the lead when it is aborted. run resolves when the work has ended. */
  signal?: AbortSignal;
  /** Called with each failure after which run goes on, for a log. No agent answers, above all. */
  report?: (failure: Error) => void;
}

/** The lead is over: this process may act no more, or cannot know that it may. */
export class Over extends Error {}

/** Nobody can lead here, and waiting does not help. The message says why. */
export class Unsuitable extends Error {}

/**
 * Calls work each time that this process leads its group, which must be Guarded. It makes this
 * process a candidate, by way of the agent in the same pod (ELECTOR_PATH).
 *
 * If work ends before its lead is over, run gives the lead up at once, and settles as work did. If
 * the lead is over, work must end soon: it returns, or it throws Over or an AbortError. Then run
 * waits for the next lead. It gives back the rest of the permission when work has ended, and not
 * before. Work that goes on 50 ms after the permission has ended loses the session: this process is
 * no candidate until it has ended.
 *
 * One lead may follow another under the same epoch, if this program was late and the agent has the
 * lease still.
 *
 * Resolves to undefined if options.signal has ended it. Rejects with Unsuitable in a Classic group,
 * and on other systems than Linux, where agents run.
 */
export function run<T>(
  work: (lead: Lead) => T | PromiseLike<T>,
  options?: Options,
): Promise<T | undefined>;
