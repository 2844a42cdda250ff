/**
 * The outbox's directory: a file for each capture, written beside its place and renamed, so that it is there whole or
 * not at all. The names hold what bounds and order need:
 *
 *     waiting/<order>-<bytes>-<attempts>-<target>.json     {flow_id, run}
 *     refused/<the same>                                   {flow_id, run, code, message, at}
 *     new-flows/<digest of flow_id>-<target>               nothing: the flow has no memory base yet
 *     lost                                                 a byte for each lost capture
 *
 * Order is the time of the capture; target is a digest of address and key. Several processes may use it at once: each
 * step is one system call that either process may win.
 */
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { appendFile, readFile, readdir, rename, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { NewFlows, Run } from "../client.js";

const MAX_REFUSED = 1_000;
const MAX_NUMBER = 999_999; // of captures at one millisecond
const LOOK_MILLISECONDS = 1_000; // how old the count of other processes' captures may be
const NEAR = 0.9; // of a bound: count again at each capture
const ABANDONED_MILLISECONDS = 3_600_000; // a file that was being written when its process died

const NAME = /^(\d{15}-\d{6}-[0-9a-f]{8})-(\d+)-(\d+)-([0-9a-f]{16})\.json$/;

/** A capture on disk, as its file's name says. */
export interface Waiting {
  name: string;
  bytes: number;
  attempts: number;
  target: string;
}

export interface Content {
  flow_id: string;
  run: Run;
}

export interface RefusedContent extends Content {
  code: string;
  message: string;
  at: string;
}

export interface Bounds {
  maxCaptures: number;
  maxBytes: number;
}

/** The captures of all processes that share a directory. */
export class Store {
  readonly #waiting: string;
  readonly #refused: string;
  readonly #newFlows: string;
  readonly #lost: string;
  readonly #bounds: Bounds;
  #counted = { captures: 0, bytes: 0, at: Number.NEGATIVE_INFINITY };
  #lastTime = 0;
  #lastNumber = 0;

  /** Throws if the directory cannot be used. */
  constructor(directory: string, bounds: Bounds) {
    this.#waiting = join(directory, "waiting");
    this.#refused = join(directory, "refused");
    this.#newFlows = join(directory, "new-flows");
    this.#lost = join(directory, "lost");
    this.#bounds = bounds;
    for (const each of [directory, this.#waiting, this.#refused, this.#newFlows]) {
      mkdirSync(each, { recursive: true, mode: 0o700 });
    }
    this.#tidy();
    // After a step of the clock backwards, new captures still come after those that wait.
    const newest = sorted(readdirSync(this.#waiting)).at(-1);
    this.#lastTime = newest ? Number.parseInt(newest.name, 10) : 0;
  }

  /** A place after all earlier ones of this process. */
  nextOrder(): string {
    if (Date.now() > this.#lastTime || this.#lastNumber === MAX_NUMBER) {
      this.#lastTime = Math.max(Date.now(), this.#lastTime + 1);
      this.#lastNumber = 0;
    } else {
      this.#lastNumber += 1;
    }
    const now = this.#lastTime;
    const [time, number] = [String(now).padStart(15, "0"), String(this.#lastNumber).padStart(6, "0")];
    return `${time}-${number}-${randomBytes(4).toString("hex")}`;
  }

  /** Store a capture; returns how many were lost to keep the bounds. */
  async put(order: string, target: string, content: Content): Promise<number> {
    const text = JSON.stringify(content);
    const bytes = Buffer.byteLength(text);
    if (bytes > this.#bounds.maxBytes) {
      await this.addLost(1);
      return 1;
    }
    await this.#write(this.#waiting, `${order}-${bytes}-0-${target}.json`, text);
    this.#counted.captures += 1;
    this.#counted.bytes += bytes;
    return this.#makeRoom();
  }

  async #write(folder: string, name: string, text: string): Promise<void> {
    const written = join(folder, `.${name}`);
    try {
      await writeFile(written, text, { mode: 0o600 });
      await rename(written, join(folder, name));
    } catch (error) {
      await unlink(written).catch(() => undefined); // what a full disk has of it
      throw error;
    }
  }

  /** Delete the oldest beyond the bounds. */
  async #makeRoom(): Promise<number> {
    const { maxCaptures, maxBytes } = this.#bounds;
    const { captures, bytes, at } = this.#counted;
    const isNear = captures > maxCaptures * NEAR || bytes > maxBytes * NEAR;
    if (!isNear && performance.now() - at < LOOK_MILLISECONDS) {
      return 0;
    }
    const found = await this.#list();
    let size = found.reduce((sum, each) => sum + each.bytes, 0);
    let count = found.length;
    let lost = 0;
    for (const oldest of found) {
      if (count <= maxCaptures && size <= maxBytes) {
        break;
      }
      lost += (await removed(join(this.#waiting, oldest.name))) ? 1 : 0; // else another process did
      count -= 1;
      size -= oldest.bytes;
    }
    this.#counted = { captures: count, bytes: size, at: performance.now() };
    await this.addLost(lost);
    return lost;
  }

  async #list(): Promise<Waiting[]> {
    return sorted(await readdir(this.#waiting));
  }

  /** What waits for this target, oldest first. */
  async of(target: string): Promise<Waiting[]> {
    return (await this.#list()).filter((each) => each.target === target);
  }

  /** How many captures wait for this target, and how many for others. */
  count(target: string): { ours: number; others: number } {
    const found = sorted(readdirSync(this.#waiting));
    const ours = found.filter((each) => each.target === target).length;
    return { ours, others: found.length - ours };
  }

  /** A capture's content; undefined if it is gone, or was lost: a power cut may leave an empty file. */
  async read(capture: Waiting): Promise<Content | undefined> {
    const text = await ifThere(readFile(join(this.#waiting, capture.name), "utf8"));
    if (text === undefined) {
      return undefined;
    }
    try {
      return JSON.parse(text) as Content;
    } catch {
      await this.addLost((await this.remove(capture)) ? 1 : 0);
      return undefined;
    }
  }

  /** The server has it. False if another process removed it. */
  remove(capture: Waiting): Promise<boolean> {
    return removed(join(this.#waiting, capture.name));
  }

  async attempted(capture: Waiting): Promise<void> {
    await this.#rename(capture, { ...capture, attempts: capture.attempts + 1 });
  }

  /** Send everything to this target. */
  async adopt(target: string): Promise<void> {
    for (const capture of await this.#list()) {
      await this.#rename(capture, { ...capture, target });
    }
    for (const refused of sorted(await readdir(this.#refused))) {
      await ifThere(rename(join(this.#refused, refused.name), join(this.#refused, nameOf({ ...refused, target }))));
    }
    for (const name of await readdir(this.#newFlows)) {
      const [flow] = name.split("-");
      await ifThere(rename(join(this.#newFlows, name), join(this.#newFlows, `${flow}-${target}`)));
    }
  }

  /** The new flows of this target, also for the next process. */
  newFlows(target: string): NewFlows {
    const pathOf = (flowId: string): string => {
      return join(this.#newFlows, `${createHash("sha256").update(flowId).digest("hex")}-${target}`);
    };
    return {
      has: async (flowId) => (await ifThere(stat(pathOf(flowId)))) !== undefined,
      add: (flowId) => writeFile(pathOf(flowId), "", { mode: 0o600 }),
      delete: (flowId) => removed(pathOf(flowId)),
    };
  }

  async #rename(capture: Waiting, changed: Waiting): Promise<void> {
    await ifThere(rename(join(this.#waiting, capture.name), join(this.#waiting, nameOf(changed))));
  }

  /** Keep it aside with the server's reason, beside the latest others. */
  async refuse(capture: Waiting, content: RefusedContent): Promise<void> {
    await this.#write(this.#refused, capture.name, JSON.stringify(content));
    await this.remove(capture);
    const kept = sorted(await readdir(this.#refused));
    for (const oldest of kept.slice(0, Math.max(kept.length - MAX_REFUSED, 0))) {
      await removed(join(this.#refused, oldest.name));
    }
  }

  /** What was refused for this target, oldest first. */
  async refused(target: string): Promise<RefusedContent[]> {
    return (await this.#refusedOf(target)).map(([, content]) => content);
  }

  /** Let what was refused wait again, after what waits; returns how many. */
  async retryRefused(target: string): Promise<number> {
    const found = await this.#refusedOf(target);
    for (const [name, { flow_id, run }] of found) {
      await this.put(this.nextOrder(), target, { flow_id, run });
      await removed(join(this.#refused, name));
    }
    return found.length;
  }

  async #refusedOf(target: string): Promise<[string, RefusedContent][]> {
    const found: [string, RefusedContent][] = [];
    for (const each of sorted(await readdir(this.#refused)).filter((one) => one.target === target)) {
      const text = await ifThere(readFile(join(this.#refused, each.name), "utf8"));
      if (text) {
        found.push([each.name, JSON.parse(text) as RefusedContent]);
      }
    }
    return found;
  }

  /** A byte for each: appending is atomic, and the file's size is the count. */
  async addLost(count: number): Promise<void> {
    if (count > 0) {
      await appendFile(this.#lost, ".".repeat(count), { mode: 0o600 });
    }
  }

  lost(): number {
    return statSync(this.#lost, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Delete what processes that died had not finished writing: it was never captured. */
  #tidy(): void {
    for (const folder of [this.#waiting, this.#refused]) {
      for (const name of readdirSync(folder).filter((each) => each.startsWith("."))) {
        const found = statSync(join(folder, name), { throwIfNoEntry: false });
        if (found && Date.now() - found.mtimeMs > ABANDONED_MILLISECONDS) {
          rmSync(join(folder, name), { force: true });
        }
      }
    }
  }
}

/** Names as captures, oldest first; other files are none of ours. */
function sorted(names: string[]): Waiting[] {
  return names.sort().flatMap((name) => {
    const [, , bytes, attempts, target] = NAME.exec(name) ?? [];
    return target ? [{ name, bytes: Number(bytes), attempts: Number(attempts), target }] : [];
  });
}

function nameOf({ name, bytes, attempts, target }: Waiting): string {
  const [, order] = NAME.exec(name) ?? [];
  return `${order}-${bytes}-${attempts}-${target}.json`;
}

/** Whether the file was there to be deleted. */
async function removed(path: string): Promise<boolean> {
  return (await ifThere(unlink(path).then(() => true))) ?? false;
}

/** The result; undefined if the file does not exist. */
async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      return undefined;
    }
    throw error;
  }
}
