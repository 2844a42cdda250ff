/**
 * Held by the one process that sends what waits, so that it goes in order.
 *
 * The lock is the file `sender-<epoch>.lock` with the highest epoch. Its holder touches it every second. Whoever finds
 * it abandoned creates the next epoch, which only one process can; an earlier holder that wakes up sees it and stops.
 * Two that send for a moment do no harm: runs have ids.
 */
import { readFile, readdir, stat, unlink, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

import { unref } from "../limits.js";

export const HEARTBEAT_SECONDS = 1;
export const ABANDONED_SECONDS = 10; // without a heartbeat

const NAME = /^sender-(\d+)\.lock$/;

export class SenderLock {
  readonly #directory: string;
  #epoch: number | undefined;
  #heartbeat: ReturnType<typeof setInterval> | undefined;
  #watched: { epoch: number; touched: number; since: number } | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Whether this process may send now. */
  async take(): Promise<boolean> {
    const highest = await this.#highest();
    if (highest > 0 && !(await this.#isAbandoned(highest))) {
      return false;
    }
    const epoch = highest + 1;
    try {
      const holder = JSON.stringify({ pid: process.pid, host: hostname() });
      await writeFile(this.#path(epoch), holder, { flag: "wx", mode: 0o600 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") {
        return false;
      }
      throw error;
    }
    this.#epoch = epoch;
    this.#heartbeat = setInterval(() => void this.#touch(epoch), HEARTBEAT_SECONDS * 1000);
    unref(this.#heartbeat);
    if (highest > 0) {
      await unlink(this.#path(highest)).catch(() => undefined);
    }
    return this.isHeld();
  }

  /** Whether no other process has taken over. */
  async isHeld(): Promise<boolean> {
    if (this.#epoch !== undefined && (await this.#highest()) !== this.#epoch) {
      await this.release();
    }
    return this.#epoch !== undefined;
  }

  async release(): Promise<void> {
    const epoch = this.#epoch;
    clearInterval(this.#heartbeat);
    this.#epoch = undefined;
    if (epoch !== undefined) {
      await unlink(this.#path(epoch)).catch(() => undefined);
    }
  }

  #path(epoch: number): string {
    return join(this.#directory, `sender-${epoch}.lock`);
  }

  /** 0 if nobody holds the lock. */
  async #highest(): Promise<number> {
    const epochs = (await readdir(this.#directory)).map((name) => Number(NAME.exec(name)?.[1] ?? 0));
    return Math.max(0, ...epochs);
  }

  async #touch(epoch: number): Promise<void> {
    const now = new Date();
    await utimes(this.#path(epoch), now, now).catch(() => undefined);
  }

  /** Whether its holder is gone, or has not touched it for as long as we have watched. */
  async #isAbandoned(epoch: number): Promise<boolean> {
    try {
      const touched = (await stat(this.#path(epoch))).mtimeMs;
      const now = performance.now();
      if (this.#watched?.epoch !== epoch || this.#watched.touched !== touched) {
        this.#watched = { epoch, touched, since: now };
      }
      const isSilent = now - this.#watched.since > ABANDONED_SECONDS * 1000;
      return isSilent || isGone(await readFile(this.#path(epoch), "utf8"));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") {
        return false; // released just now: the next attempt takes it
      }
      throw error;
    }
  }
}

/** Whether a process of this machine held the lock and has ended. */
function isGone(holder: string): boolean {
  try {
    const { pid, host } = JSON.parse(holder) as { pid: number; host: string };
    if (host !== hostname()) {
      return false;
    }
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}
