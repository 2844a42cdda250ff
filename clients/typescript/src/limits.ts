/** Time limits and pauses, which the caller's signal ends. */

/** A signal that aborts after some seconds, or when the caller's does. */
export class TimeLimit {
  readonly #controller = new AbortController();
  readonly #seconds: number;
  readonly #caller: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(seconds: number, caller?: AbortSignal) {
    this.#seconds = seconds;
    this.#caller = caller;
    if (caller?.aborted) {
      this.#controller.abort(caller.reason);
      return;
    }
    caller?.addEventListener("abort", this.#forward, { once: true });
    this.restart();
  }

  readonly #forward = (): void => this.#controller.abort(this.#caller?.reason);

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Give it all its time again. */
  restart(): void {
    clearTimeout(this.#timer);
    const error = new DOMException(`nothing arrived for ${this.#seconds} s`, "TimeoutError");
    this.#timer = setTimeout(() => this.#controller.abort(error), this.#seconds * 1000);
    // The connection keeps a process alive if it should be; a limit is no reason to.
    unref(this.#timer);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener("abort", this.#forward);
  }
}

/** Let the process end although this timer waits. Browsers' timers are numbers. */
export function unref(timer: unknown): void {
  (timer as { unref?: () => void } | undefined)?.unref?.();
}

/** Throws the signal's reason if it aborts meanwhile. */
export function sleep(seconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, seconds * 1000);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
